"""What the arguments of a chunk say of what it reads: URLs of the tree, slots, functions in conditions. Pure.

Called by `highstate.compile.content` and by the controller, which looks for what has changed in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from highstate.salt_urls import split_salt_url
from highstate.types import Value

SLOT = "__slot__:"
"""With this begins an argument that a function of the minion gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSource:
    """A `salt://` URL: a path in the tree, and the environment that it is looked up in."""

    path: str
    saltenv: str

    @classmethod
    def parse(cls, url: Value, saltenv: str) -> ContentSource | None:
        """None when it is no `salt://` URL. `?saltenv=` names another environment than the chunk's."""
        if not isinstance(url, str) or not url.startswith("salt://"):
            return None
        path, named = split_salt_url(url, saltenv)
        return cls(path=path, saltenv=named)

    def __str__(self) -> str:
        return f"salt://{self.path} (saltenv {self.saltenv})"


_MARKS = ("salt://", SLOT)


def marked(values: Iterable[Value]) -> bool:
    """Whether a text in these values begins as a URL of the tree or a slot does.

    Asked of every state of every minion, and true of few: what it asks of a value is asked in one call.
    """
    waiting = [values]
    while waiting:
        for one in waiting.pop():
            kind = type(one)
            if kind is str:
                if one.startswith(_MARKS):
                    return True
            elif kind is dict:
                waiting.append(one.values())
            elif kind is list or kind is tuple:
                waiting.append(one)
            elif isinstance(one, str):
                if one.startswith(_MARKS):
                    return True
            elif isinstance(one, Mapping):
                waiting.append(one.values())
            elif isinstance(one, (list, tuple)):
                waiting.append(one)
    return False


def urls_in(value: Value) -> list[str]:
    """The salt:// URLs anywhere in a value, in order."""
    if isinstance(value, str):
        return [value] if value.startswith("salt://") else []
    inside: Iterable[Value] = ()
    if isinstance(value, (dict, Mapping)):
        inside = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    found: list[str] = []
    for one in inside:
        if isinstance(one, str):
            if one.startswith("salt://"):
                found.append(one)
        elif one is not None:
            found += urls_in(one)
    return found


def has_slot(value: Value) -> bool:
    """Whether a function of the minion gives a part of these arguments (`__slot__:salt:...`)."""
    if isinstance(value, str):
        return value.startswith(SLOT)
    if isinstance(value, (dict, Mapping)):
        return any(map(has_slot, value.values()))
    return isinstance(value, (list, tuple)) and any(map(has_slot, value))


def calls_functions(value: Value) -> bool:
    """Whether a condition calls a function of the minion (`fun:`)."""
    if isinstance(value, (dict, Mapping)):
        return "fun" in value
    return isinstance(value, (list, tuple)) and any(map(calls_functions, value))
