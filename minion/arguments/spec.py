"""What a function takes, read from its signature once, and the conversion of a call's arguments.

`spec_of` evaluates the annotations of the parameters that a caller gives. A `**name: Unpack[Group]` stands for the
fields of the TypedDict `Group`: arguments that many functions ignore or refuse are listed there once. A parameter
whose type is a NamedTuple stands for the fields of it, with their types and defaults: several functions take the same
arguments and pass them on together. Callers give the fields; the function gets the tuple.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from minion.arguments.types import (
    SUPPLIED,
    Converter,
    Ignored,
    Reads,
    Unfit,
    Unsupported,
    as_bool,
    as_integer,
    as_list,
    as_mapping,
    as_text,
    number_of,
)


class BadValues(Exception):
    """Values that an argument does not take, or arguments that are not supported; one line each."""


_NONE: Mapping[str, Any] = MappingProxyType({})


# Named tuples are made in a tenth of the time that dataclasses take: 2 % of the start of `saltern call`.
class Parameter(NamedTuple):
    """One parameter, as its function declares it."""

    name: str
    kind: Any = inspect.Parameter.KEYWORD_ONLY
    default: Any = inspect.Parameter.empty
    convert: Converter | None = None
    """None: the value is taken as it is."""
    plain: type | None = None
    """The type whose values need no conversion."""
    ignored: str = ""
    """Why Salt's argument does nothing here."""
    refused: str = ""
    """What to do instead."""
    supplied: bool = False
    """Whether the engine gives it."""

    @property
    def taken(self) -> bool:
        """Whether the function gets it."""
        return not self.ignored and not self.refused

    @property
    def single(self) -> bool:
        """Whether it is neither `*args` nor `**kwargs`."""
        return self.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class ArgumentSpec(NamedTuple):
    """The parameters of a function, without those that its caller never gives (machine, name, context)."""

    all: tuple[Parameter, ...] = ()
    parameters: Mapping[str, Parameter] = _NONE
    """Those that the function gets, by name."""
    converters: Mapping[str, Converter | None] = _NONE
    """Of the same."""
    plain: Mapping[str, type | None] = _NONE
    """Of the same: the type whose values need no conversion."""
    required: tuple[str, ...] = ()
    """Parameters without a default."""
    ignored: Mapping[str, str] = _NONE
    """Salt's arguments that do nothing here → why."""
    refused: Mapping[str, str] = _NONE
    """Salt's arguments that are not supported → what to do instead."""
    order: tuple[str, ...] = ()
    """Names of what may be given by position."""
    supplied: frozenset[str] = frozenset()
    """Parameters that the engine gives."""
    takes_anything: bool = False
    """Whether it has `**arguments`."""
    rest: Parameter | None = None
    """Its `*arguments`."""
    groups: Mapping[str, Any] = _NONE
    """Parameters that stand for the fields of a named tuple → the tuple's class."""

    def convert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the given arguments that the function gets, as its types. Raises BadArguments."""
        converters, plain, taken, bad = self.converters, self.plain, {}, []
        for key, value in given.items():
            if key not in converters:
                continue
            convert = converters[key]
            if convert is None or type(value) is plain[key]:
                taken[key] = value
                continue
            try:
                taken[key] = convert(value)
            except Unfit as unfit:
                bad.append(_complaint(key, unfit, value))
        if bad:
            raise BadValues("\n".join(bad))
        return taken

    def grouped(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Converted arguments as the function has its parameters: the fields of a group in its tuple."""
        passed = dict(arguments)
        for name, group in self.groups.items():
            passed[name] = group(**{field: passed.pop(field) for field in group._fields if field in passed})
        return passed

    def ungrouped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The function, taking the fields of its groups as keywords."""
        if not self.groups:
            return call

        @functools.wraps(call)
        def taking_fields(*first: Any, **arguments: Any) -> Any:
            return call(*first, **self.grouped(arguments))

        return taking_fields

    def check_refused(self, fun: str, given: Mapping[str, Any]) -> None:
        """Raise BadArguments when one of the given arguments is refused and is neither false nor its default."""
        for name, value in given.items():
            if (
                name in self.refused
                and value
                and not any(one.name == name and one.default == value for one in self.all)
            ):
                raise BadValues(f"{name} is not supported by {fun}: {self.refused[name]}")

    def bind(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The converted arguments of a call that has some by position. Raises BadArguments; what the function does
        not know stays among the keywords."""
        named = dict(zip(self.order, args, strict=False))
        rest = args[len(self.order) :]
        twice = sorted(named.keys() & kwargs.keys())
        if twice:
            raise BadValues(f"Passed invalid arguments to {fun}: {' and '.join(twice)} given twice")
        if rest and self.rest is None:
            most = len(self.order)
            raise BadValues(f"Passed invalid arguments to {fun}: {len(args)} given by position, {most} taken")
        given = {**named, **kwargs}
        self.check_refused(fun, given)
        taken = self.convert(given)
        keywords = taken | {key: given[key] for key in given if key not in taken and not self.knows(key)}
        if rest and self.rest is not None:
            numbers = [str(number) for number in range(len(rest))]
            several = ArgumentSpec(
                converters=dict.fromkeys(numbers, self.rest.convert), plain=dict.fromkeys(numbers, self.rest.plain)
            )
            positional = [keywords.pop(name) for name in self.order]
            return [*positional, *several.convert({str(n): one for n, one in enumerate(rest)}).values()], keywords
        return [], keywords

    def knows(self, argument: str) -> bool:
        """Whether the function is not given this argument of Salt's, and no warning is due."""
        return argument in self.ignored or argument in self.refused or argument.startswith("__")

    def signature(self, *first: str) -> inspect.Signature:
        """The signature as callers see it, after the parameters named `first`; without types."""
        whole = [inspect.Parameter(one, inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in first]
        whole += [
            inspect.Parameter(one.name, one.kind, default=one.default)
            for one in self.all
            if not one.supplied and one.name.isidentifier()
        ]
        return inspect.Signature(sorted(whole, key=lambda one: one.kind))


def _complaint(name: str, unfit: Unfit, value: Any) -> str:
    if unfit.comment:
        return unfit.comment.format(name=name, value=value)
    return f"{name} must be {unfit}, not {_shown(value)}"


def _shown(value: Any) -> str:
    """A value in a message: what it is where it may be long."""
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else repr(value)


@functools.cache
def spec_of(call: Callable[..., Any], own: int) -> ArgumentSpec:
    """What a function takes besides its first `own` parameters. Kept: reading it takes longer than most states."""
    declared = tuple(_declared(call, own))
    every = tuple(parameter for one, kind in declared for parameter in _parameters(one, kind))
    taken = {one.name: one for one in every if one.taken}
    singles = [one for one in taken.values() if one.single]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return ArgumentSpec(
        all=every,
        parameters=taken,
        converters={one.name: one.convert for one in singles},
        plain={one.name: one.plain for one in singles},
        required=tuple(one.name for one in singles if one.default is inspect.Parameter.empty and not one.supplied),
        ignored={one.name: one.ignored for one in every if one.ignored},
        refused={one.name: one.refused for one in every if one.refused},
        order=tuple(one.name for one in every if one.kind in positional),
        supplied=frozenset(one.name for one in every if one.supplied),
        takes_anything=any(one.kind is inspect.Parameter.VAR_KEYWORD for one in every),
        rest=next((one for one in every if one.kind is inspect.Parameter.VAR_POSITIONAL), None),
        groups={one.name: kind for one, kind in declared if _is_group(kind)},
    )


def _declared(call: Callable[..., Any], own: int) -> Iterator[tuple[inspect.Parameter, Any]]:
    """The parameters besides the first, each with its evaluated annotation."""
    names = getattr(inspect.unwrap(call), "__globals__", {})
    for one in list(inspect.signature(call).parameters.values())[own:]:
        yield one, _evaluated(one.annotation, names)


def _parameters(one: inspect.Parameter, declared: Any) -> Iterator[Parameter]:
    """What a parameter stands for: itself, or the fields of a group."""
    if one.kind is inspect.Parameter.VAR_KEYWORD and get_origin(declared) is typing.Unpack:
        for name, hint in typing.get_type_hints(get_args(declared)[0], include_extras=True).items():
            yield _parameter(name, inspect.Parameter.KEYWORD_ONLY, None, hint)
    elif _is_group(declared):
        defaults = declared._field_defaults
        for name, hint in typing.get_type_hints(declared, include_extras=True).items():
            yield _parameter(name, one.kind, defaults.get(name, inspect.Parameter.empty), hint)
    else:
        yield _parameter(one.name, one.kind, one.default, declared)


def _is_group(declared: Any) -> bool:
    return isinstance(declared, type) and issubclass(declared, tuple) and hasattr(declared, "_field_defaults")


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """The type that an annotation names. Evaluated one by one: those of other parameters need not exist at run time."""
    if annotation is inspect.Parameter.empty:
        return Any
    return eval(annotation, names) if isinstance(annotation, str) else annotation  # noqa: S307  (text of our own code)


def _parameter(name: str, kind: Any, default: Any, declared: Any) -> Parameter:
    marks = {type(one): one for one in get_args(declared)[1:]} if get_origin(declared) is Annotated else {}
    ignored, refused = marks.get(Ignored), marks.get(Unsupported)
    return Parameter(
        name=name,
        kind=kind,
        default=default,
        convert=None if ignored or refused else converter_of(declared, default),
        plain=_plain(declared),
        ignored=ignored.why if ignored else "",
        refused=refused.instead if refused else "",
        supplied=type(SUPPLIED) in marks,
    )


_BUILTIN: Mapping[Any, Converter] = {
    str: as_text,
    int: as_integer,
    float: number_of(""),
    list: as_list,
    dict: as_mapping,
}


def converter_of(declared: Any, default: Any = inspect.Parameter.empty) -> Converter | None:
    """The converter for a declared type; None where any value is taken as it is."""
    convert, null = _compiled(declared)
    if convert is None or null:
        return convert
    if default is inspect.Parameter.empty:
        return convert
    given = convert
    return lambda value: default if value is None else given(value)


def _plain(declared: Any) -> type | None:
    """The type whose values stay as they are: that of a builtin, or of the first builtin of a union."""
    members = get_args(declared) if get_origin(declared) in (Union, types.UnionType) else (declared,)
    return next((one for one in members if one in (str, bool, int)), None)


@functools.cache
def _compiled(declared: Any) -> tuple[Converter | None, bool]:
    """The converter for a type, and whether it takes null."""
    origin = get_origin(declared)
    if origin is Annotated:
        for mark in get_args(declared)[1:]:
            if isinstance(mark, Reads):
                return mark.convert, mark.null
        return _compiled(get_args(declared)[0])
    if declared is bool:
        return as_bool, True
    if origin in (Union, types.UnionType):
        return _union(get_args(declared))
    if origin is Literal:
        return _choice(get_args(declared)), False
    convert = _BUILTIN.get(origin or declared)
    return convert, convert is None


def _choice(words: tuple[Any, ...]) -> Converter:
    *others, last = [str(one) for one in words]
    wanted = f"{', '.join(others)} or {last}" if others else last

    def convert(value: Any) -> Any:
        if value in words:
            return value
        raise Unfit(wanted)

    return convert


def _nullable(given: Converter) -> Converter:
    """A converter that takes null besides."""
    return lambda value: None if value is None else given(value)


def _union(members: tuple[Any, ...]) -> tuple[Converter | None, bool]:
    """The first converter that takes the value; a value that is of a member's very type stays as it is.

    False is None for `str | None`: Salt's functions take either for an argument that is not set.
    """
    null = type(None) in members
    exact = frozenset(one for one in members if isinstance(one, type))
    words = tuple(word for one in members if get_origin(one) is Literal for word in get_args(one))
    unset = null and str in exact and bool not in exact
    inner = [_compiled(one)[0] for one in members if one is not type(None)]
    if None in inner:
        return None, True
    converters = [one for one in inner if one is not None]
    if null and len(converters) == 1 and len(exact) == 1:  # `X | None`
        return _nullable(converters[0]), True

    def convert(value: Any) -> Any:
        if (value is None and null) or type(value) in exact or value in words:
            return value
        if unset and value is False:
            return None
        unfit = []
        for one in converters:
            try:
                return one(value)
            except Unfit as error:
                unfit.append(error)
        raise Unfit(" or ".join(map(str, unfit)), unfit[0].comment)

    return convert, null
