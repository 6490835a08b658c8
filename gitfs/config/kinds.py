"""Types of the options of remotes, beside those of `options.kinds`; the description is what a fault says is wanted.

Declared by the fields of `gitfs.config.settings` and `gitfs.config.live_policy`. What is here follows Salt: a bare
number counts as text, and one text with commas as a list.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args

from gitfs.config.credentials import SecretFrom, parse_secret
from options.kinds import Prepare, Wanted, number_as_text

RefType: TypeAlias = Literal["branch", "tag", "sha"]
REF_TYPES: tuple[RefType, ...] = get_args(RefType)


def _text_or_none(value: Any) -> Any:
    if value is None:
        raise ValueError
    return value or None


def _folder(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    path = value.removeprefix("salt://").strip("/")
    if "\0" in path or any(part in ("..", ".") for part in path.split("/")):
        raise ValueError
    return path


def _absolute(value: Any) -> Any:
    if isinstance(value, str) and value and not value.startswith("/"):
        raise ValueError
    return value


def _verification(value: Any) -> Any:
    if isinstance(value, str) and not value.startswith("/"):
        raise ValueError
    return value


def _texts(value: Any) -> Any:
    return [number_as_text(each) for each in value] if isinstance(value, list | tuple) else value


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _one(value: Any) -> Any:
    """One text as a list of one, commas and all; null as an empty list."""
    return [value] if isinstance(value, str) and value else value or []


def _lower(value: Any) -> Any:
    return (
        [each.lower() if isinstance(each, str) else each for each in value]
        if isinstance(value, list | tuple)
        else value
    )


Text: TypeAlias = Annotated[str, Wanted("a string"), Prepare(number_as_text)]
RefName: TypeAlias = Annotated[str | None, Wanted("a string"), Prepare(number_as_text), Prepare(_text_or_none)]
"""None where it is empty."""
Switch: TypeAlias = Annotated[bool, Wanted("true or false")]
ParentCount: TypeAlias = Annotated[int, Wanted("a whole number from 0 to 16", ge=0, le=16)]
TreeFolder: TypeAlias = Annotated[
    str,
    Wanted("a folder inside the repository, without `.` and `..`"),
    Prepare(number_as_text),
    Prepare(_folder),
]
"""A folder inside a repository, or in the file server's tree; without slashes at its ends."""
AbsoluteFile: TypeAlias = Annotated[str, Wanted("an absolute path"), Prepare(number_as_text), Prepare(_absolute)]
"""Empty: none."""
Secret: TypeAlias = Annotated[str | SecretFrom, Prepare(parse_secret)]
"""A secret, or where it stands."""
Verification: TypeAlias = Annotated[
    bool | str,
    Wanted("true, false, or the absolute path of a file of CA certificates"),
    Prepare(_verification),
]
TextList: TypeAlias = Annotated[tuple[str, ...], Wanted("a list of strings"), Prepare(_split), Prepare(_texts)]
PatternList: TypeAlias = Annotated[tuple[str, ...], Wanted("a list of strings"), Prepare(_one), Prepare(_texts)]
"""Globs or regular expressions: a comma is part of one."""
RefTypeList: TypeAlias = Annotated[
    tuple[RefType, ...],
    Wanted(f"a list of {', '.join(REF_TYPES)}", min_length=1),
    Prepare(_split),
    Prepare(_lower),
]
