"""States of Helm: none has a case, which needs an API server."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_WHY = "needs an API server; tried with a real Helm on one of the tests"

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    f"helm.{fun}": _WHY for fun in ("release_absent", "release_present", "repo_managed", "repo_updated")
}
