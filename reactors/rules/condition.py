"""Expressions over an event, in native rules: `data.load > 2 and minion not in ['db1']`.

A small language with the grammar of Python's expressions, read by Python's parser and evaluated here. It has values of
the event, constants, comparisons, `in`, `and`, `or`, `not`, `X if C else Y`, and a few functions. It has no arithmetic,
no loops and no calls of methods: what an evaluation costs is bounded by the length of the expression and the size of
the event, so that the controller may evaluate it for every event of a tag. What is not there is None, which is equal
to nothing else and smaller than nothing.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from matching.limits import PatternLimits
from matching.linear_regex import PatternRefused, TextRefused, compile_linear

MOST_CHARACTERS = 2000
"""Of an expression."""
MOST_NODES = 300
"""Parts of an expression."""

_PATTERNS = PatternLimits()
_NAMES = {"true": True, "false": False, "none": None, "null": None}
_VARIABLES = frozenset(("tag", "data", "minion"))
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
}
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Compare, ast.Constant, ast.Name,
    ast.Load, ast.Attribute, ast.Subscript, ast.List, ast.Tuple, ast.Call, ast.IfExp, ast.cmpop,
)  # fmt: skip


class BadCondition(ValueError):
    """A text that is no expression of this language: says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class EventValues:
    """What an expression sees."""

    tag: str
    data: Mapping[str, Any]
    minion: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that was read."""

    text: str
    _tree: ast.expr

    def value(self, event: EventValues) -> Any:
        """What it is for an event."""
        return _value(self._tree, event)

    def holds(self, event: EventValues) -> bool:
        """Whether it is true for an event."""
        return bool(_value(self._tree, event))


def read_condition(text: str) -> Condition:
    """An expression. BadCondition with what is wrong."""
    if len(text) > MOST_CHARACTERS:
        raise BadCondition(f"an expression may have {MOST_CHARACTERS} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadCondition(f"{text!r} is no expression: {getattr(error, 'msg', error)}") from None
    for number, node in enumerate(ast.walk(tree)):
        if number >= MOST_NODES:
            raise BadCondition(f"an expression may have {MOST_NODES} parts")
        _check(node, text)
    return Condition(text, tree.body)


def _check(node: ast.AST, text: str) -> None:
    if not isinstance(node, _ALLOWED):
        raise BadCondition(f"{text!r}: {type(node).__name__} is not part of the language of conditions")
    if isinstance(node, ast.Constant) and not isinstance(node.value, str | int | float | bool | None):
        raise BadCondition(f"{text!r}: {node.value!r} is no text, number, true, false or none")
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _FUNCTIONS or node.keywords:
            raise BadCondition(f"{text!r}: there is no such function; there is {', '.join(sorted(_FUNCTIONS))}")
        if len(node.args) != _FUNCTIONS[name][0]:
            raise BadCondition(f"{text!r}: {name} has {_FUNCTIONS[name][0]} arguments")
        if name == "matches":
            _check_pattern(node.args[1], text)
    elif isinstance(node, ast.Name) and node.id not in _VARIABLES | _NAMES.keys() | _FUNCTIONS.keys():
        raise BadCondition(f"{text!r}: there is no {node.id!r}; there is {', '.join(sorted(_VARIABLES))}")


def _check_pattern(node: ast.expr, text: str) -> None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise BadCondition(f"{text!r}: the pattern of matches must be a text")
    try:
        compile_linear(node.value, _PATTERNS)
    except (re.error, PatternRefused) as error:
        raise BadCondition(f"{text!r}: {error}") from None


def _value(node: ast.expr, event: EventValues) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return _NAMES[name] if name in _NAMES else getattr(event, name, None)
        case ast.Attribute(value=inner, attr=name):
            return _item(_value(inner, event), name)
        case ast.Subscript(value=inner, slice=key):
            return _item(_value(inner, event), _value(key, event))
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, event) for part in parts]
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, event) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, event) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, event)
        case ast.UnaryOp(operand=inner):
            found = _value(inner, event)
            return -found if isinstance(found, int | float) else None
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, event) else other, event)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name][1](*(_value(each, event) for each in arguments))
        case ast.Compare():
            return _compared(node, event)
    return None


def _compared(node: ast.Compare, event: EventValues) -> bool:
    left = _value(node.left, event)
    for kind, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, event)
        if isinstance(kind, ast.In | ast.NotIn):
            holds = _contains(right, left) is isinstance(kind, ast.In)
        else:
            try:
                holds = bool(_COMPARISONS[type(kind)](left, right))
            except (TypeError, RecursionError):
                holds = False
        if not holds:
            return False
        left = right
    return True


def _contains(where: Any, what: Any) -> bool:
    if isinstance(where, str):
        return isinstance(what, str) and what in where
    if isinstance(where, Mapping):
        return isinstance(what, str) and what in where
    return isinstance(where, list | tuple) and what in where


def _item(where: Any, key: Any) -> Any:
    if isinstance(where, Mapping):
        return where.get(key) if isinstance(key, str | int | float | bool | None) else None
    if isinstance(where, list | tuple) and isinstance(key, int) and -len(where) <= key < len(where):
        return where[key]
    return None


def _matches(text: Any, pattern: str) -> bool:
    try:
        return isinstance(text, str) and compile_linear(pattern, _PATTERNS).search(text)
    except TextRefused:
        return False


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | Mapping | list | tuple) else 0


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "matches": (2, _matches),
    "number": (1, _number),
    "text": (1, lambda value: "" if value is None else str(value)),
    "lower": (1, lambda value: value.lower() if isinstance(value, str) else value),
    "length": (1, _length),
    "starts": (2, lambda text, head: isinstance(text, str) and isinstance(head, str) and text.startswith(head)),
}
"""Name -> number of arguments, function."""
