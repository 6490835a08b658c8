"""Options converted to the types that the fields of a settings class declare.

A field's type is its rule: `Annotated[int, Meta(ge=1, description="a whole number from 1")]` is checked by msgspec, and
the description is what the fault says is wanted. What YAML writes differently from the type (one word for a list of
one) is brought to it by `Prepare` first. Every fault is collected; nothing is raised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from highstate.options.document import Fault, Option
from highstate.options.kinds import Prepare

_INSIDE = re.compile(r" - at `\$(?P<path>.*)`$")
_STEP = re.compile(r"\[(\d+)\]|\.([^.\[]+)")
_SECRET = ("secret", "password", "vault", "token")
"""Parts of the names of options whose values no fault shows."""


def kinds_of(settings: type) -> dict[str, Any]:
    """Field -> declared type of a settings class, with its annotations."""
    return get_type_hints(settings, include_extras=True)


def convert_options(
    options: Mapping[str, Option], kinds: Mapping[str, Any], faults: list[Fault], names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The values of the options that have a type, by the names of their fields.

    Args:
        options: by name; those without a type are passed over.
        kinds: field -> type.
        faults: what is wrong is appended here, and left out of the values.
        names: other names of options -> their fields.
    """
    values: dict[str, Any] = {}
    for name, option in options.items():
        field = (names or {}).get(name, name)
        if field not in kinds:
            continue
        try:
            values[field] = convert_value(option.value, kinds[field])
        except Unwanted as error:
            shown = "what stands there" if any(part in name for part in _SECRET) else repr(option.value)
            faults.append(Fault(option.at(error.inside), f"{name} must be {error.wanted}, not {shown}"))
    return values


class Unwanted(Exception):
    """A value is not of its type."""

    def __init__(self, wanted: str, inside: tuple[str | int, ...] = ()) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        """What it must be."""
        self.inside = inside
        """Where in the value."""


def convert_value(value: Any, kind: Any) -> Any:
    """One value as its type has it; Unwanted when it cannot be."""
    rule = _rule(kind)
    try:
        for prepare in rule.prepare:
            value = prepare(value)
    except ValueError as error:
        raise Unwanted(str(error) or rule.wanted) from None
    try:
        return msgspec.convert(value, rule.kind, strict=True, dec_hook=_from_text)
    except (msgspec.ValidationError, RecursionError) as error:
        text = str(error)
        found = _INSIDE.search(text)
        inside = tuple(int(index) if index else key for index, key in _STEP.findall(found["path"])) if found else ()
        raise Unwanted(rule.wanted or _INSIDE.sub("", text), inside) from None


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: Any
    wanted: str
    prepare: tuple[Callable[[Any], Any], ...]


@cache
def _rule(kind: Any) -> _Rule:
    wanted, prepare = "", []
    for part in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if part is NoneType:
            continue
        plain, *metadata = get_args(part) if get_origin(part) is Annotated else (part,)
        if get_origin(plain) is Literal:
            wanted = wanted or "one of " + ", ".join(str(each) for each in get_args(plain))
        for each in metadata:
            if isinstance(each, msgspec.Meta) and each.description:
                wanted = each.description
            elif isinstance(each, Prepare):
                prepare.append(each.prepare)
    return _Rule(_without_preparation(kind), wanted, tuple(prepare))


def _without_preparation(kind: Any) -> Any:
    """The type as msgspec understands it."""
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(_without_preparation(each) for each in get_args(kind))]  # noqa: UP007 - made at run time
    if get_origin(kind) is not Annotated:
        return kind
    plain, *metadata = get_args(kind)
    known = [each for each in metadata if isinstance(each, msgspec.Meta)]
    return Annotated[(plain, *known)] if known else plain


def _from_text(kind: type, value: Any) -> Any:
    """A value of a class that msgspec does not know is made of its text, or is there already."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        return kind(value)
    raise ValueError(f"no {kind.__name__}")
