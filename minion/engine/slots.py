"""`__slot__:salt:fun(args)`: arguments that a function of the machine gives when the state is run.

Called by the engine before a plan. Text, the values of a mapping, and both within a list are looked at, as Salt does;
what is no slot that can be read stays as it is. Arguments in the parentheses are text. Under test=True only functions
that look are called.
Behaviour: topics/slots.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from highstate.types import Value

START = "__slot__:"
_CALL = re.compile(r"__slot__:salt:\s*([\w.]+)\s*\((.*)\)\s*(?:\.([^~()]*))?(?:~(.*))?\Z", re.DOTALL)
_ARGUMENT = re.compile(r"""\s*(?:(\w+)\s*=\s*)?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]*?)\s*(?:,|\Z)""", re.DOTALL)

Call = Callable[[str, list[Value], dict[str, Value]], Value]


def filled(arguments: Mapping[str, Value], call: Call, but: Collection[str] = ()) -> Mapping[str, Value]:
    """The arguments with the values of their slots, `but` for some; the same object where there are none."""
    changed = {}
    for key, value in arguments.items():
        if isinstance(value, str):
            if value.startswith(START) and key not in but:
                changed[key] = _value(value, call)
        elif isinstance(value, list | dict) and key not in but and _has_slot(value):
            changed[key] = _inner(value, call)
    return {**arguments, **changed} if changed else arguments


def _has_slot(value: Value) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    return any(
        one.startswith(START) if isinstance(one, str) else isinstance(one, dict) and _has_slot(one) for one in inner
    )


def _inner(value: Value, call: Call) -> Value:
    if isinstance(value, dict):
        return {key: _value(one, call) if isinstance(one, str) else one for key, one in value.items()}
    if isinstance(value, list):
        return [_inner(one, call) if isinstance(one, dict) else _value(one, call) for one in value]
    return value


def _value(value: Value, call: Call) -> Value:
    found = _CALL.match(value) if isinstance(value, str) else None
    if found is None or "." not in found[1]:
        return value
    fun, given, path, more = found.groups()
    args, kwargs = _arguments(given)
    result = call(fun, args, kwargs)
    if path:
        from highstate.traverse import traverse

        result = traverse(result, path.strip(), delimiter=".")
    if more is not None and isinstance(result, str):
        result += _unquoted(more.strip())
    return result


def _arguments(text: str) -> tuple[list[Value], dict[str, Value]]:
    args, kwargs, at = list[Value](), dict[str, Value](), 0
    while at < len(text):
        found = _ARGUMENT.match(text, at)
        if found is None or found.end() == at:
            break
        at = found.end()
        key, written = found.groups()
        if key:
            kwargs[key] = _unquoted(written)
        else:
            args.append(_unquoted(written))
    return args, kwargs


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text
