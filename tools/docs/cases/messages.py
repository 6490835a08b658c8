"""States that send messages: none has a case, since they need a server."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {"smtp.send_msg": "tried on a mail server of the tests"}
