"""Cases of the states of rsync, monit, mails and XML documents."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_RSYNC = ("rsync",)
_FILES = {"from/one": "1\n", "from/sub/two": "2\n", "to/old": "0\n", "to/one": "0\n"}
_FROM = "{top}/from/"
_XML_FILES = {
    "f": "<?xml version='1.0'?>\n<!-- kept -->\n<plays xmlns:x='urn:x'>\n  <play id='1'>Old</play><x:y/>\n</plays>\n"
}

CASES: tuple[Case, ...] = (
    Case(fun="rsync.synchronized", name="{top}/to", arguments={"source": _FROM}, files=_FILES, needs=_RSYNC),
    Case(fun="rsync.synchronized", name="{top}/to", arguments={"source": _FROM, "delete": True, "exclude": "sub"},
         files=_FILES, needs=_RSYNC),
    Case(fun="rsync.synchronized", name="{top}/new/folder", arguments={"source": _FROM, "prepare": True}, files=_FILES,
         needs=_RSYNC),
    Case(fun="xml.value_present", arguments={"xpath": ".//play[@id='1']", "value": "A < B"}, files=_XML_FILES),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {
    **{f"monit.{fun}": "tried on a daemon of the tests" for fun in ("monitor", "unmonitor")},
    "smtp.send_msg": "tried on a mail server of the tests",
}  # fmt: skip
