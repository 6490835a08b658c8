"""Options converted to the types that the fields of a settings class declare.

A field's type is its rule: of `Annotated[int, Wanted("a whole number from 1", ge=1)]` the description is what the fault
says is wanted. What YAML writes differently from the type (one word for a list of one) is brought to it by `Prepare`
first. Every fault is collected; nothing is raised. The types are those that options have: scalars, `Literal`, tuples,
mappings, unions and classes. They are checked here because msgspec takes a tenth of the start of `saltern call`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from options.document import Fault, Option
from options.kinds import Prepare, Wanted

_NAMES: Mapping[Any, str] = {str: "text", bool: "True or False", int: "a whole number", float: "a number"}
_SECRET = ("secret", "password", "vault", "token")
"""Parts of the names of options whose values no fault shows."""
_USER_INFO = re.compile(r"://[^/@\s]*@")
"""User and password in an address."""
_LONGEST = 200
"""Characters of a value that a fault shows."""


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
            text = f"{name} must be {error.wanted}, not {_shown(name, option.value)}"
            faults.append(Fault(option.at(error.inside), text))
    return values


def _shown(name: str, value: Any) -> str:
    """A value in a fault, which others read than those who may read the file: it goes to logs and events."""
    if any(part in name for part in _SECRET):
        return "what stands there"
    shown = _USER_INFO.sub("://***@", repr(value))
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


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
        return _checked(value, kind, ())
    except Unwanted as error:
        raise Unwanted(rule.wanted, error.inside) if rule.wanted else error from None


class _Rule(NamedTuple):
    wanted: str
    prepare: tuple[Callable[[Any], Any], ...]


@cache
def _rule(kind: Any) -> _Rule:
    wanted, prepare = "", []
    for part in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        plain, *metadata = get_args(part) if get_origin(part) is Annotated else (part,)
        if get_origin(plain) is Literal:
            wanted = wanted or "one of " + ", ".join(str(each) for each in get_args(plain))
        for each in metadata:
            if isinstance(each, Wanted):
                wanted = each.description
            elif isinstance(each, Prepare):
                prepare.append(each.prepare)
    return _Rule(wanted, tuple(prepare))


def _checked(value: Any, kind: Any, inside: tuple[str | int, ...]) -> Any:
    """A value that is of its type, lists as tuples; `inside`: where in the option it stands."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        found = _checked(value, arguments[0], inside)
        for each in arguments[1:]:
            if isinstance(each, Wanted) and not each.holds(found):
                raise Unwanted(each.description, inside)
        return found
    if origin in (Union, UnionType):
        return _member(value, arguments, inside)
    if origin is tuple and isinstance(value, list | tuple | set | frozenset):
        return tuple(_checked(each, arguments[0], (*inside, index)) for index, each in enumerate(value))
    if origin is Mapping and isinstance(value, Mapping):
        of_key, of_value = arguments
        return {_checked(key, of_key, inside): _checked(one, of_value, (*inside, key)) for key, one in value.items()}
    if origin is Literal and any(type(each) is type(value) and each == value for each in arguments):
        return value
    if origin is None:
        return _plain(value, kind, inside)
    raise Unwanted({tuple: "a list", Mapping: "a mapping"}.get(origin, ""), inside)


def _member(value: Any, members: Sequence[Any], inside: tuple[str | int, ...]) -> Any:
    """A value of the first member of a union that takes it."""
    wanted: list[Unwanted] = []
    for each in members:
        try:
            return _checked(value, each, inside)
        except Unwanted as error:
            wanted.append(error)
    raise Unwanted(" or ".join(str(each) for each in wanted), max((each.inside for each in wanted), key=len))


def _plain(value: Any, kind: Any, inside: tuple[str | int, ...]) -> Any:
    """A value of a class; a number without a fraction is a float, and text is made the class where it can be."""
    if kind is Any or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool))):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < sys.float_info.max:
        return float(value)
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise Unwanted(_NAMES.get(kind, "null" if kind is NoneType else f"a {kind.__name__.lower()}"), inside)
