"""Types of options that several settings classes declare; the description is what a fault says is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class Prepare:
    """Metadata of a type: `prepare` makes of what YAML gives what the type takes.

    It raises ValueError with what is wanted, or with nothing where the type's description says it.
    """

    prepare: Callable[[Any], Any]


def number_as_text(value: Any) -> Any:
    """A bare number counts as the text that it was written as."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def one_as_list(value: Any) -> Any:
    """One word counts as a list of one."""
    return [value] if isinstance(value, str) else value


def null_as_empty(value: Any) -> Any:
    """Null counts as no text."""
    return "" if value is None else value


def absolute(value: Any) -> Any:
    """An absolute path, as text."""
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        raise ValueError
    return value


def seconds(value: Any) -> Any:
    """A number that is a time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**8:
        raise ValueError
    return value


OptionText: TypeAlias = Annotated[str, Meta(min_length=1, description="text"), Prepare(number_as_text)]
OptionalText: TypeAlias = Annotated[str, Meta(description="text, or empty"), Prepare(null_as_empty)]
Flag: TypeAlias = Annotated[bool, Meta(description="True or False")]
PortNumber: TypeAlias = Annotated[int, Meta(ge=0, le=65535, description="a port, 0 to 65535")]
Count: TypeAlias = Annotated[int, Meta(ge=1, description="a whole number from 1")]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, description="a number of seconds above 0"), Prepare(seconds)]
SecondsOrNever: TypeAlias = Annotated[float, Meta(description="a number of seconds above 0, or 0"), Prepare(seconds)]
Fraction: TypeAlias = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Folder: TypeAlias = Annotated[str, Meta(description="an absolute path"), Prepare(absolute)]
Names: TypeAlias = Annotated[tuple[str, ...], Meta(description="a list of names"), Prepare(one_as_list)]
Items: TypeAlias = Annotated[tuple[Any, ...], Meta(description="a list")]
TextMapping: TypeAlias = Annotated[Mapping[str, Any], Meta(description="a mapping")]
