"""The execution module `debconf`: answers to the questions of Debian's packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.execution.errors import CallFailed


def get_selections(context: Context, fetchempty: bool = True) -> dict[str, list[list[str]]]:
    """All answers: package → question, type, value."""
    done = context.machine.query(["debconf-get-selections"])
    if done.returncode != 0:
        raise CallFailed("debconf-get-selections does not answer: install the package debconf-utils")
    found: dict[str, list[list[str]]] = {}
    for line in done.stdout.splitlines():
        words = line.split("\t")
        if len(words) >= 3 and not line.startswith("#") and (fetchempty or words[3:] not in ([], [""])):
            found.setdefault(words[0], []).append([words[1], words[2], words[3] if len(words) > 3 else ""])
    return found


def show(context: Context, name: str) -> list[list[str]] | None:
    """The answers of one package; null when it has none."""
    return get_selections(context).get(name)


def set_(context: Context, package: str, question: str, type: str, value: str, *extra: str) -> bool:  # noqa: A002
    """Answer a question of a package."""
    text = " ".join((value, *extra))
    act(context, "debconf.set", package, data={question: {"type": type, "value": text}})
    return True


def set_file(context: Context, path: str, saltenv: str = "base", **options: Any) -> bool:
    """Answer the questions that a file holds, in the form of debconf-set-selections(1)."""
    act(context, "debconf.set_file", path, source=path, saltenv=saltenv, **options)
    return True


FUNCTIONS: Mapping[str, Any] = {
    "get_selections": get_selections,
    "set": set_,
    "set_file": set_file,
    "show": show,
}
