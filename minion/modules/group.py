"""The execution module `group`: looks at groups. They are changed by states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.context import Context
from minion.system import accounts


def info(context: Context, name: str) -> dict[str, Any]:
    """The group's entry; empty when there is no such group."""
    found = accounts.group(context.machine, name)
    return found.as_salt() if found else {}


def getent(context: Context) -> list[dict[str, Any]]:
    """All groups."""
    return [one.as_salt() for one in accounts.groups(context.machine)]


FUNCTIONS: Mapping[str, Any] = {"getent": getent, "info": info}
