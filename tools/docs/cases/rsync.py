"""Cases of the state of rsync: folders that are made here."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_RSYNC = ("rsync",)
_FILES = {"from/one": "1\n", "from/sub/two": "2\n", "to/old": "0\n", "to/one": "0\n"}
_FROM = "{top}/from/"

CASES: tuple[Case, ...] = (
    Case(fun="rsync.synchronized", name="{top}/to", arguments={"source": _FROM}, files=_FILES, needs=_RSYNC),
    Case(fun="rsync.synchronized", name="{top}/to", arguments={"source": _FROM, "delete": True, "exclude": "sub"},
         files=_FILES, needs=_RSYNC),
    Case(fun="rsync.synchronized", name="{top}/new/folder", arguments={"source": _FROM, "prepare": True}, files=_FILES,
         needs=_RSYNC),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {}
