"""Types of options that several settings classes declare; the description is what a fault says is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias


class Wanted(NamedTuple):
    """Metadata of a type: what a fault says is wanted, the range of a number, the least length of a list or text."""

    description: str
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    min_length: int = 0

    def holds(self, value: Any) -> bool:
        """Whether a value of the type is in the range."""
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, int | float):
            return (
                (self.ge is None or value >= self.ge)
                and (self.gt is None or value > self.gt)
                and (self.le is None or value <= self.le)
                and (self.lt is None or value < self.lt)
            )
        return not self.min_length or len(value) >= self.min_length


class Prepare(NamedTuple):
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


OptionText: TypeAlias = Annotated[str, Wanted("text", min_length=1), Prepare(number_as_text)]
OptionalText: TypeAlias = Annotated[str, Wanted("text, or empty"), Prepare(null_as_empty)]
Flag: TypeAlias = Annotated[bool, Wanted("True or False")]
PortNumber: TypeAlias = Annotated[int, Wanted("a port, 0 to 65535", ge=0, le=65535)]
Count: TypeAlias = Annotated[int, Wanted("a whole number from 1", ge=1)]
WholeNumber: TypeAlias = Annotated[int, Wanted("a whole number from 0", ge=0)]
Seconds: TypeAlias = Annotated[float, Wanted("a number of seconds above 0", gt=0), Prepare(seconds)]
SecondsOrNever: TypeAlias = Annotated[float, Wanted("a number of seconds above 0, or 0"), Prepare(seconds)]
Fraction: TypeAlias = Annotated[float, Wanted("a number from 0 to 1", ge=0, le=1)]
Folder: TypeAlias = Annotated[str, Wanted("an absolute path"), Prepare(absolute)]
Names: TypeAlias = Annotated[tuple[str, ...], Wanted("a list of names"), Prepare(one_as_list)]
Items: TypeAlias = Annotated[tuple[Any, ...], Wanted("a list")]
TextMapping: TypeAlias = Annotated[Mapping[str, Any], Wanted("a mapping")]
