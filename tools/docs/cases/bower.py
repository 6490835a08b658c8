"""States of bower: none has a case, since no system has it as a package."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    f"bower.{fun}": "tried on a bower that the tests bring" for fun in ("bootstrap", "installed", "pruned", "removed")
}
