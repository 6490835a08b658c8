"""Where files stand in Augeas's tree, and which of them a path leads into. Pure.

Called by `minion.providers.augeas.trees`. Source: https://augeas.net/docs/references/, the pages about path expressions
and about the tree (`incl` and `excl`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

FILES = "/files"
_SPECIAL = re.compile(r"([\s\[\]=()!,|\\])")


class Transform(NamedTuple):
    """Which files a lens is for."""

    lens: str
    includes: tuple[str, ...]
    excludes: tuple[str, ...]

    def takes(self, path: str) -> bool:
        """Whether it is for this file."""
        return any(_fits(path, one) for one in self.includes) and not any(_excluded(path, one) for one in self.excludes)


def node_of(path: str) -> str:
    """The node of a file: `/etc/hosts` is `/files/etc/hosts`."""
    return FILES + _SPECIAL.sub(r"\\\1", path)


def path_of(node: str) -> str:
    """The path that a node below `/files` stands for."""
    return re.sub(r"\\(.)", r"\1", node.removeprefix(FILES)).rstrip("/") or "/"


def prefixes(expression: str) -> Iterator[str]:
    """Paths of files that an expression below `/files` may lead into, the shortest first."""
    parts = expression.removeprefix(FILES).split("/")
    for number in range(2, len(parts) + 1):
        yield path_of("/".join(parts[:number]))


def is_below(node: str, above: str) -> bool:
    """Whether a node is another one, or below it."""
    return node == above or node.startswith(f"{above.rstrip('/')}/")


def _fits(path: str, pattern: str) -> bool:
    """As glob(7) has it: `*` is part of one name, and no name that begins with a dot."""
    names, wanted = path.split("/"), pattern.split("/")
    return len(names) == len(wanted) and all(_named(*one) for one in zip(names, wanted, strict=True))


def _named(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _excluded(path: str, pattern: str) -> bool:
    """A pattern without a slash is of the name alone; `*` of others goes over slashes."""
    name = path.rpartition("/")[2]
    return fnmatchcase(path, pattern) if "/" in pattern else _named(name, pattern)


def first_taking(transforms: Sequence[Transform], path: str) -> Transform | None:
    """The transform that is for a file."""
    return next((one for one in transforms if one.takes(path)), None)
