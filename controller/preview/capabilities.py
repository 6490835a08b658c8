"""What a change newly lets the trees do: run Python or commands, fetch from somewhere, read secrets.

Called by `reporting`. Pure but for reading the files that differ, within bounds. It says what it finds in the head and
did not find in the base: a hint for whoever reviews the change, not a proof that there is nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from controller.schema.reports import Capability, ChangeClass
from highstate.types import Files

_MOST_FILES = 2_000
_MOST_BYTES = 256 * 1024
"""Of a file that is read."""
_MOST_FOUND = 100
_PYTHON = re.compile(
    r"_(?:beacons|executors|grains|modules|pillar|renderers|returners|runners|states|tops|utils)/.+\.py$"
)
_PROGRAMS = ("py", "pydsl", "pyobjects", "mako", "cheetah", "genshi", "wempy")
"""Renderers that run what an SLS says as a program, or as good as that."""
_COMMANDS = re.compile(r"(?:cmd|module|script|docker_container)\.")
_SECRET = re.compile(
    r"\b(vault\.read_secret|vault\.list_secrets|sdb\.get|gpg\.decrypt|sdb://\w+)|(-----BEGIN PGP MESSAGE)"
)
_REMOTE = re.compile(r"\b((?:https?|ftp|s3|swift)://[\w.-]+|(?:git|ssh)(?:://|@)[\w.-]+)")

_Kind: TypeAlias = Literal["renderer", "python", "command", "remote", "secret", "function"]


@dataclass(frozen=True, slots=True)
class _Side:
    files: Files
    saltenv: str

    def text(self, path: str) -> str:
        """A file, as far as it is read; empty where it is not there."""
        if self.files.oid(path, self.saltenv) is None:
            return ""
        return self.files.read(path, self.saltenv)[:_MOST_BYTES].decode(errors="replace")


def capabilities(
    trees: Sequence[tuple[Files, Files]], classes: Sequence[ChangeClass], saltenv: str = "base"
) -> tuple[Capability, ...]:
    """What the head newly brings, at most `_MOST_FOUND`.

    Args:
        trees: base and head of the states, and of the pillar.
        classes: what changes on minions.
        saltenv: in which the trees are read.
    """
    found = dict.fromkeys(each for one in classes for each in _commands(one))
    for before, after in trees:
        for path in _changed(before, after, saltenv):
            found |= dict.fromkeys(_of_file(path, _Side(before, saltenv), _Side(after, saltenv)))
    return tuple(found)[:_MOST_FOUND]


def _commands(changed: ChangeClass) -> Iterator[Capability]:
    for resource in changed.resources:
        if resource.action == "added" and _COMMANDS.match(resource.function):
            yield Capability(kind="command", text=resource.title, origin=resource.origin)


def _changed(before: Files, after: Files, saltenv: str) -> list[str]:
    paths = after.list("", saltenv)
    return [path for path in paths if after.oid(path, saltenv) != before.oid(path, saltenv)][:_MOST_FILES]


def _of_file(path: str, before: _Side, after: _Side) -> Iterator[Capability]:
    if _PYTHON.match(path):
        yield Capability(kind="python", text=path, origin=path)
    old, new = before.text(path), after.text(path)
    for renderer in sorted(_programs(new) - _programs(old)):
        yield Capability(kind="renderer", text=f"#!{renderer}", origin=path)
    kinds: tuple[tuple[_Kind, re.Pattern[str]], ...] = (("secret", _SECRET), ("remote", _REMOTE))
    for kind, pattern in kinds:
        known = {match[0] for match in pattern.finditer(old)}
        for match in pattern.finditer(new):
            if match[0] not in known:
                known.add(match[0])
                place = f"{path}:{new.count(chr(10), 0, match.start()) + 1}"
                yield Capability(kind=kind, text=match[0].lstrip("-"), origin=place)


def _programs(text: str) -> set[str]:
    first = text.partition("\n")[0]
    steps = first[2:].strip().split("|") if first.startswith("#!") else []
    return {step.split()[0] for step in steps if step.split()} & set(_PROGRAMS)
