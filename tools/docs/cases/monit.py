"""States of monit: none has a case, since they need its daemon."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    f"monit.{fun}": "tried on a daemon of the tests" for fun in ("monitor", "unmonitor")
}  # fmt: skip
