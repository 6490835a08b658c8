"""What a template may take: sizes that operators, methods and filters may make, and steps that loops and calls may do.

A few lines of Jinja can ask for more memory or time than there is. Each check looks at what goes in and raises
`TooMuch` before anything is made. Called by the environment of `jinja` and by `filters`; time as such is bounded by the
process around a compile.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jinja2
from jinja2 import filters as own

from highstate.limits import TemplateLimits
from highstate.types import Value

LIMITS = TemplateLimits()

_SEQUENCES = (str, bytes, list, tuple)
_DIGITS = re.compile(r"\d{6,}")


class TooMuch(jinja2.TemplateRuntimeError):
    """A template wants more than a render may take."""


def check_operator(operator: str, left: Any, right: Any) -> None:
    """Raise TooMuch before an operator makes a number, string or list beyond the limit."""
    match operator:
        case "**":
            whole = isinstance(left, int) and isinstance(right, int)
            if whole and left.bit_length() * right > LIMITS.power_bits:
                raise TooMuch(f"{left} ** {right} is too large a number")
        case "+":
            both = isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES)
            if both and len(left) + len(right) > LIMITS.product:
                raise TooMuch(f"adding {len(right)} items to {len(left)} makes too much")
        case "*":
            for sized, times in ((left, right), (right, left)):
                repeats = isinstance(sized, _SEQUENCES) and isinstance(times, int)
                if repeats and len(sized) * times > LIMITS.product:
                    raise TooMuch(f"repeating {len(sized)} items {times} times makes too much")
        case "%":
            if isinstance(left, str | bytes):
                values = right if isinstance(right, tuple) else tuple(right.values()) if _is_map(right) else (right,)
                check_format(str(left), values, "*" in str(left))


def check_format(text: str, values: Iterable[Any], from_values: bool) -> None:
    """Raise TooMuch where a format pads beyond the limit. `from_values`: widths may come from the values themselves."""
    wide = _DIGITS.search(text) is not None
    if from_values:
        wide = wide or any(isinstance(value, int) and abs(value) > LIMITS.width for value in values)
    if wide:
        raise TooMuch(f"the format {text[:60]!r} is too wide: a value may be padded to {LIMITS.width} characters")


def check_call(function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Raise TooMuch before a method of text or a list makes one beyond the limit."""
    # Jinja wraps `str.format` where it is looked up.
    method = getattr(function, "__wrapped__", function) if callable(function) else function
    owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
    if not isinstance(owner, str | bytes | list):
        return
    if isinstance(owner, str | bytes):
        _check_text_method(owner, name, arguments, named)
    elif isinstance(owner, list) and name == "extend" and arguments:
        _check_total(len(owner) + _length(arguments[0]), "a list")


def _check_text_method(text: Any, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    match name:
        case "ljust" | "rjust" | "center" | "zfill" | "expandtabs":
            check_width(*arguments, *named.values())
        case "join" if arguments:
            _check_join(text, arguments[0])
        case "replace" if len(arguments) >= 2:
            _check_replace(text, arguments[0], arguments[1])
        case "translate" if arguments and _is_map(arguments[0]):
            _check_total(len(text) * max((_length(one) for one in arguments[0].values()), default=0), "text")
        case "format" | "format_map":
            values = [*arguments, *named.values()]
            check_format(str(text), values, re.search(r":[^{}]*\{", str(text)) is not None)


def check_width(*widths: Any) -> None:
    """Raise TooMuch for a width beyond the limit."""
    for width in widths:
        if isinstance(width, int) and width > LIMITS.width:
            raise TooMuch(f"{width} is too wide: a value may be padded to {LIMITS.width} characters")


def _check_join(between: Any, parts: Any) -> None:
    if isinstance(parts, list | tuple):
        _check_total(sum(_length(part) for part in parts) + len(between) * len(parts), "text")


def _check_replace(text: Any, old: Any, new: Any) -> None:
    if isinstance(text, str) and isinstance(old, str) and isinstance(new, str) and len(new) > len(old):
        _check_total(len(text) + text.count(old) * (len(new) - len(old)), "text")


def _check_total(size: int, what: str) -> None:
    if size > LIMITS.product:
        raise TooMuch(f"{what} of {size} parts makes too much (there may be {LIMITS.product})")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple | dict | set) else 1


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def limited(items: Iterable[Value], size: int) -> Iterator[Value]:
    """The items of something whose size is known before it is made."""
    _check_total(size, "a product")
    return iter(items)


def _sized(values: Iterable[Value]) -> list[Value]:
    return list(itertools.islice(values, LIMITS.product))


def product(*values: Iterable[Value], repeat: int = 1) -> Iterator[Value]:
    """`|product`."""
    pools = [_sized(one) for one in values]
    return limited(itertools.product(*pools, repeat=repeat), math.prod(map(len, pools)) ** min(repeat, 64))


def permutations(values: Iterable[Value], r: int | None = None) -> Iterator[Value]:
    """`|permutations`."""
    pool = _sized(values)
    taken = len(pool) if r is None else r
    return limited(itertools.permutations(pool, taken), math.perm(len(pool), min(taken, 20)))


def combinations(values: Iterable[Value], r: int) -> Iterator[Value]:
    """`|combinations`."""
    pool = _sized(values)
    return limited(itertools.combinations(pool, r), math.comb(len(pool), min(r, len(pool))))


def combinations_with_replacement(values: Iterable[Value], r: int) -> Iterator[Value]:
    """`|combinations_with_replacement`."""
    pool = _sized(values)
    size = math.comb(len(pool) + r - 1, r) if pool else 0
    return limited(itertools.combinations_with_replacement(pool, r), size)


def formatted(value: str, *arguments: Any, **named: Any) -> str:
    """Jinja's `|format`."""
    check_format(str(value), [*arguments, *named.values()], "*" in str(value))
    return own.do_format(value, *arguments, **named)


def centered(value: str, width: int = 80) -> str:
    """Jinja's `|center`."""
    check_width(width)
    return own.do_center(value, width)


def indented(value: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """Jinja's `|indent`."""
    check_width(width if isinstance(width, int) else len(width))
    _check_total(len(value) + value.count("\n") * (width if isinstance(width, int) else len(width)), "text")
    return own.do_indent(value, width, first, blank)


@jinja2.pass_eval_context
def replaced(context: Any, value: str, old: str, new: str, count: int | None = None) -> str:
    """Jinja's `|replace`."""
    _check_replace(value, old, new)
    return own.do_replace(context, value, old, new, count)


@jinja2.pass_eval_context
def joined(context: Any, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    """Jinja's `|join`."""
    if attribute is None:
        _check_join(d, value)
    return own.sync_do_join(context, value, d, attribute)


BOUNDED_FILTERS: Mapping[str, Callable[..., Value]] = {
    "product": product,
    "permutations": permutations,
    "combinations": combinations,
    "combinations_with_replacement": combinations_with_replacement,
    "format": formatted,
    "center": centered,
    "indent": indented,
    "replace": replaced,
    "join": joined,
}
