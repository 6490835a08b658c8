"""Cases of the states of the system's own programs: at, keyboards."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_AT = ("at",)
_QUEUED = "echo '### SALT: case\ntrue' | sed 's/\\\\n/\\n/' | at 'now + 9 days'"
_EMPTY = ('for job in $(atq | cut -f1); do atrm "$job"; done',)

CASES: tuple[Case, ...] = (
    Case(fun="at.present", name="true", arguments={"timespec": "now + 9 days"}, after=_EMPTY, needs=_AT,
         acts_always=True),
    Case(fun="at.present", name="true", arguments={"timespec": "now + 9 days", "tag": "case", "unique_tag": True},
         before=(_QUEUED,), after=_EMPTY, needs=_AT),
    Case(fun="at.absent", name="case", arguments={"tag": "case"}, before=(_QUEUED,), after=_EMPTY, needs=_AT),
    Case(fun="at.watch", name="true", arguments={"timespec": "now + 9 days"}, needs=_AT),
    Case(fun="keyboard.system", name="de", restores=("/etc/default/keyboard",), grains={"os_family": "Debian"},
         before=("printf 'XKBMODEL=\"pc105\"\\nXKBLAYOUT=\"us\"\\n' > /etc/default/keyboard",)),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {"keyboard.xorg": "tried on an X server of the tests"}
