"""The execution module `logrotate`: its configuration, and single directives of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.providers import logrotate


def show_conf(context: Context, conf_file: str = logrotate.MAIN) -> dict[str, Any]:
    """All directives, and blocks with theirs, with what included files have."""
    return logrotate.configuration(context.machine, conf_file)


def get(context: Context, key: str, value: str | None = None, conf_file: str = logrotate.MAIN) -> Any:
    """What a directive has, or the directive `value` of the block `key`; false where it is not there."""
    return logrotate.current(logrotate.configuration(context.machine, conf_file), key, value)


def set_(
    context: Context, key: str, value: AnyValue, setting: AnyValue = None, conf_file: str = logrotate.MAIN
) -> bool:
    """Set a directive; with `setting`, the directive `value` of the block `key`."""
    act(context, "logrotate.set", key, key=key, value=value, setting=setting, conf_file=conf_file)
    return True


FUNCTIONS: Mapping[str, Any] = {"get": get, "set": set_, "show_conf": show_conf}
