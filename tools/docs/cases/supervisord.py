"""States of supervisord: none has a case."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    "supervisord.dead": "needs supervisord; tried on a real one in a virtualenv",
    "supervisord.running": "needs supervisord; tried on a real one in a virtualenv",
}
"""State functions that no case can run, and why."""
