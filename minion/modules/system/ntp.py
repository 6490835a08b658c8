"""The execution module `ntp`: the servers that the machine takes its time from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.providers import ntp


def get_servers(context: Context) -> list[str] | bool:
    """The servers; false where none is named."""
    return ntp.servers(context.machine, ntp.time_program(context.machine)) or False


def set_servers(context: Context, *servers: str) -> bool:
    """Take the time from these servers, and no others."""
    act(context, "ntp.managed", "servers", servers=list(servers))
    return True


FUNCTIONS: Mapping[str, Any] = {"get_servers": get_servers, "set_servers": set_servers}
