"""Arguments of functions as scripts give them to Salt's clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minion.call.arguments import BadArgument, parse


def read_arguments(args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments of a list in which texts `name=value` are named ones, and so are marked mappings.

    Other texts stay as they are; the value of a named one is YAML, as on a command line.

    Source: salt.utils.args.parse_input, salt.minion.load_args_and_kwargs.
    """
    values: list[Any] = []
    named: dict[str, Any] = {}
    for one in args:
        if isinstance(one, Mapping) and one.get("__kwarg__") is True:
            named |= {str(name): value for name, value in one.items() if name != "__kwarg__"}
            continue
        try:
            pairs = parse((one,))[1] if isinstance(one, str) and "=" in one else {}
        except BadArgument:
            pairs = {}
        if pairs:
            named |= pairs
        else:
            values.append(one)
    return values, named
