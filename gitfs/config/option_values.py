"""One reader a kind of option: gives the value, or raises ValueError saying what is wanted.

Called by `gitfs.config.remotes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from gitfs.config.credentials import SecretFrom, parse_secret
from gitfs.config.live_policy import SignedBy
from gitfs.config.settings import REF_TYPES

ValueReader: TypeAlias = Callable[[Any], Any]


def text(value: Any) -> str:
    """Text; a bare number counts."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise ValueError("a string")


def ref(value: Any) -> str | None:
    """Text, None when it is empty."""
    return text(value) or None


def flag(value: Any) -> bool:
    """True or False."""
    if isinstance(value, bool):
        return value
    raise ValueError("true or false")


def seconds(value: Any) -> float:
    """A time above zero."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**8:
        return float(value)
    raise ValueError("a number of seconds above 0")


def seconds_or_none(value: Any) -> float:
    """A time, zero included."""
    return 0.0 if value == 0 and not isinstance(value, bool) else seconds(value)


def count(value: Any) -> int:
    """A small whole number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 16:
        return value
    raise ValueError("a whole number from 0 to 16")


def folder(value: Any) -> str:
    """A folder inside a repository, or a place in the file server's tree."""
    path = text(value).removeprefix("salt://").strip("/")
    if "\0" in path or any(part in ("..", ".") for part in path.split("/")):
        raise ValueError("a folder inside the repository, without `.` and `..`")
    return path


def file(value: Any) -> str:
    """An absolute path, or nothing."""
    path = text(value)
    if path and not Path(path).is_absolute():
        raise ValueError("an absolute path")
    return path


def secret(value: Any) -> str | SecretFrom:
    """A secret or where it stands."""
    return parse_secret(value)


def verify(value: Any) -> bool | str:
    """`ssl_verify`."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and Path(value).is_absolute():
        return value
    raise ValueError("true, false, or the absolute path of a file of CA certificates")


def names(value: Any) -> tuple[str, ...]:
    """A list of texts, or one text with commas, as Salt takes it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return tuple(text(each) for each in value)
    raise ValueError("a list of strings")


def ref_types(value: Any) -> tuple[str, ...]:
    """Kinds of refs, in the order in which they are tried."""
    found = tuple(name.lower() for name in names(value))
    if not found or set(found) - set(REF_TYPES):
        raise ValueError(f"a list of {', '.join(REF_TYPES)}")
    return found


def mapping(value: Any) -> dict[str, Any]:
    """Salt's list of one-key mappings, or one mapping."""
    return merged(value)


def merged(options: Any) -> dict[str, Any]:
    """The same, with the fault in words that stand alone."""
    if isinstance(options, Mapping):
        return dict(options)
    if not isinstance(options, Sequence) or isinstance(options, str | bytes):
        raise ValueError("write options as a list of `- option: value`")
    found: dict[str, Any] = {}
    for option in options:
        if not isinstance(option, Mapping):
            raise ValueError("write options as a list of `- option: value`")
        for key, value in option.items():
            if key in found:
                raise ValueError(f"the option {key!r} is given twice")
            found[key] = value
    return found


def signed_by(value: Any) -> tuple[SignedBy, ...]:
    """Glob of refs -> signers, in order."""
    try:
        pairs = merged(value)
    except ValueError:
        raise ValueError("a list of `- GLOB: [signer, ...]`, or `*` for every known key") from None
    return tuple(SignedBy(refs=text(glob), signers=names(signers)) for glob, signers in pairs.items())
