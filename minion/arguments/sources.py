"""Where the content of a file comes from: the types of `source`, `sources` and `contents`.

Used in signatures of states and execution functions of files; `minion.states.file.sources` reads what they name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import Reads, Unfit, as_each, as_text

Source = tuple[str, str]
"""A URL or path, and the digest that is given with it; empty: none."""

_NO_CONTENTS = (
    "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, and is not "
    "binary data. SLS is likely malformed."
)


def as_sources(value: Any) -> tuple[Source, ...]:
    """Sources of which the first that is there is taken: a URL, or a list of URLs and of `{URL: digest}`.

    What is false is none.
    """
    if isinstance(value, str):
        return ((value, ""),) if value else ()
    found: list[Source] = []
    for one in as_each(value or None):
        if isinstance(one, Mapping):
            found += [(str(url), str(digest or "")) for url, digest in one.items()]
        elif isinstance(one, list | tuple):
            raise Unfit("text, or a list of texts")
        else:
            found.append((str(one), ""))
    return tuple(found)


def as_each_sources(value: Any) -> tuple[tuple[Source, ...], ...]:
    """Several contents, each with its sources; one value is a list of it."""
    return tuple(map(as_sources, as_each(value)))


def as_contents(value: Any) -> str | bytes:
    """Text or bytes; of a list the lines of its parts, each ended; of a mapping, as in Salt, those of its keys."""
    if isinstance(value, str | bytes):
        return value
    parts = value if isinstance(value, list | tuple | Mapping) else [value]
    if any(isinstance(part, Mapping | list | tuple) for part in parts):
        raise Unfit("", _NO_CONTENTS)
    return "".join(f"{line}\n" for part in parts for line in str(part).splitlines())


def as_bytes(value: Any) -> bytes:
    """Bytes, or those of a text in UTF-8."""
    return value if isinstance(value, bytes) else as_text(value).encode()


Sources = Annotated[tuple[Source, ...], Reads(as_sources, null=True)]
EachSources = Annotated[tuple[tuple[Source, ...], ...], Reads(as_each_sources, null=True)]
Bytes = Annotated[bytes, Reads(as_bytes)]
Contents = Annotated[str | bytes, Reads(as_contents)]
"""Content of a file; use it as `Contents | None`."""
