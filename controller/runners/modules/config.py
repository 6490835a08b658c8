"""The runner `config`: options of the controller."""

from __future__ import annotations

from typing import Any

from controller.runners.context import RunnerContext
from controller.runners.option_values import option_values
from highstate.traverse import traverse
from minion.arguments.types import AnyValue


async def get(context: RunnerContext, key: str, default: AnyValue = "", delimiter: str = ":") -> Any:
    """An option by its name, and what is in it after a delimiter. Secrets stand as `***`."""
    return traverse(option_values(context.ports.settings), key, default, delimiter=delimiter)


FUNCTIONS = {"get": get}
