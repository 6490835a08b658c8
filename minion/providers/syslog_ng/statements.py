"""Statements of syslog-ng's configuration, of what YAML has of them. Pure.

    source.s_tail:
      syslog_ng.config:
        - config:
          - file: ["/var/log/app.log", {follow_freq: 1}]

Called by the state and the execution module `syslog_ng`. Behaviour, and where which line breaks are: the examples of
doc/topics/tutorials/syslog_ng-state-usage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from minion.machine.failure import StateFailed

_UNNAMED = frozenset(("log", "channel", "junction", "options"))


def statement(name: str, config: Any) -> str:
    """The text of a statement. `name`: `source.s_local`, or `s_local` with a mapping of `source` to its options.

    Raises StateFailed where the configuration has no such form.
    """
    kind, _, label = name.partition(".")
    options = config
    if not label:
        label = name
        kind, options = _one(config, name)
    if kind == "config":
        return f"{options}\n"
    if not isinstance(options, list):
        raise StateFailed(f"{name}: the options of {kind} are no list")
    body = _paths(options, 1) if kind == "log" else _options(options, 1)
    return _block(kind if kind in _UNNAMED else f"{kind} {label}", "".join(body), 0)


def _options(options: list[Any], depth: int) -> Iterator[str]:
    for option in options:
        kind, values = _one(option, "an option")
        yield _option(kind, [_parameter(one, depth + 1) for one in _each(values)], depth)


def _paths(items: list[Any], depth: int) -> Iterator[str]:
    """Of a log path or a channel: names of statements, statements without a name, junctions."""
    for item in items:
        kind, value = _one(item, "a part of log")
        if isinstance(value, str):
            yield _option(kind, [_indented(value, depth + 1)], depth)
        elif not isinstance(value, list):
            raise StateFailed(f"{kind} in log is neither a name nor a list")
        elif kind == "junction":
            channels = [(_one(one, "a part of junction")) for one in value]
            inner = (_block(name, "".join(_paths(_each(parts), depth + 2)), depth + 1) for name, parts in channels)
            yield _block(kind, "".join(inner), depth)
        else:
            yield _block(kind, "".join(_options(value, depth + 1)), depth)


def _parameter(value: Any, depth: int) -> str:
    if not isinstance(value, Mapping):
        return _indented(value, depth)
    kind, values = _one(value, "a parameter")
    if values == "":
        return _call(kind, [], depth, ",\n")
    return _call(kind, [_value(one, depth + 1) for one in _each(values)], depth, ",\n")


def _value(value: Any, depth: int) -> str:
    if not isinstance(value, Mapping):
        return _indented(value, depth)
    kind, values = _one(value, "a value")
    return _call(kind, [_indented(one, depth + 1) for one in _each(values)], depth, "\n")


def _option(kind: str, parameters: list[str], depth: int) -> str:
    return _call(kind, parameters, depth, ",\n") + ";\n"


def _call(kind: str, inner: list[str], depth: int, between: str) -> str:
    body = between.join(inner) + "\n" if inner else ""
    return f"{_indented(f'{kind}(', depth)}\n{body}{_indented(')', depth)}"


def _block(head: str, body: str, depth: int) -> str:
    return f"{_indented(f'{head} {{', depth)}\n{body}{_indented('};', depth)}\n"


def _indented(value: Any, depth: int) -> str:
    if isinstance(value, list | Mapping):
        raise StateFailed(f"{value!r} stands where syslog-ng takes one value")
    return f"{'    ' * depth}{value}"


def _each(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _one(value: Any, what: str) -> tuple[str, Any]:
    if not isinstance(value, Mapping) or len(value) != 1:
        raise StateFailed(f"{what} is no mapping of one key: {value!r}")
    return next((str(key), one) for key, one in value.items())
