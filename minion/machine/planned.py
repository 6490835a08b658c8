"""The machine as a run under test=True would have left it by now: what plans look at, with nothing really changed.

Made by the engine for each test run. The acts of a plan are performed on `PlannedActs`, which has no way to the
machine: files, folders, links, owners and modes go into memory, and the plans of later states see them there. What a
command would do is not known: the engine says what it is known to bring (`Brought`). A question whose answer depends on
that raises ContentUnknown, and a plan that fails for want of it is found by `awaited`: such a state is predicted as
None, with a comment that says what it waits for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from minion.machine.failure import ContentUnknown
from minion.machine.plan import Completed, FileStat, Machine
from minion.machine.planned_accounts import PlannedAccounts
from minion.machine.planned_files import PlannedFiles

_NOT_FOUND = 127
_WORD = r"[\w.@-]"


class NotPredicted(Exception):
    """An act does something of which nobody can say what comes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What a state would bring whose acts are not all known."""

    by: str
    """The state, as people name it."""
    paths: tuple[str, ...] = ()
    """Folders and files of which the content is not known."""
    anything: bool = False
    """Whether it may bring any file, command, user or service: a package, a command."""


class PlannedMachine:
    """A `Reader`: the machine with what the states before this one would have made."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.files = PlannedFiles(machine)
        self.accounts = PlannedAccounts()
        self.brought: list[Brought] = []
        self._missed: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def begin(self) -> None:
        """A plan begins: what an earlier one did not find does not count for it."""
        self._missed.clear()

    def stat(self, path: str) -> FileStat | None:
        """As of the machine."""
        found = self.files.stat(path)
        if found is None:
            self._missed.add(path)
        return found

    def read(self, path: str) -> bytes:
        """As of the machine; ContentUnknown where nobody knows what would be there."""
        try:
            return self.files.read(path)
        except FileNotFoundError:
            self._missed.add(path)
            raise

    def same(self, path: str, other: str) -> bool:
        """As of the machine."""
        if self.files.touches(path) or self.files.touches(other):
            return self.read(path) == self.read(other)
        return self._machine.same(path, other)

    def listdir(self, path: str) -> Sequence[str]:
        """As of the machine."""
        return self.files.listdir(path)

    def query(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Completed:
        """As of the machine; ContentUnknown when the command would look at what is not there yet."""
        if argv[0] == "getent":
            done = self.accounts.answered(argv, self._machine.query(argv, env=env, stdin=stdin))
        elif waits := self._waits_for(argv):
            raise ContentUnknown(f"{argv[0]} is asked of {waits}, which an earlier state of this run would make")
        else:
            done = self._machine.query(argv, env=env, stdin=stdin)
        if done.returncode == _NOT_FOUND and (by := self._bringer(argv[0])):
            raise ContentUnknown(f"{argv[0]} is not there, and {by} may bring it")
        if done.returncode != 0:
            there = {word for word in argv if word.startswith("/") and self.files.stat(word) is not None}
            self._missed.update(word for word in argv if word not in there)
        return done

    def run(self, argv: Sequence[str] | str, *, runas: str | None = None, **options: Any) -> Completed:
        """Run a condition; ContentUnknown when it would look at what is not there yet."""
        words = [argv] if isinstance(argv, str) else list(argv)
        waits = self.accounts.planned(runas or "") or self._waits_for([*words, str(options.get("cwd") or "")])
        if waits:
            raise ContentUnknown(f"a condition needs {waits}, which an earlier state of this run would make")
        return self._machine.run(argv, runas=runas, **options)

    def awaited(self, comment: str) -> str:
        """The state before this one that may bring what the plan did not find and complains of; empty when none may."""
        for missing in self._missed:
            if missing and _names(comment, missing) and (by := self._bringer(missing)):
                return by
        return ""

    def _bringer(self, missing: str) -> str:
        """The state before this one that may bring a path or another name."""
        for brought in self.brought:
            inside = any(missing == path or missing.startswith(f"{path.rstrip('/')}/") for path in brought.paths)
            if brought.anything or inside:
                return brought.by
        return ""

    def _waits_for(self, words: Sequence[str]) -> str:
        """A path or user in these words that only this run would make or change; empty when there is none."""
        for name in (*self.files.changed(), *self.accounts.names()):
            if any(_names(word, name) for word in words):
                return name
        return ""


class PlannedActs:
    """A `Machine` on which acts are performed in memory."""

    def __init__(self, planned: PlannedMachine) -> None:
        self._planned = planned

    def __getattr__(self, name: str) -> Any:
        return getattr(self._planned.files if name in _WRITES else self._planned, name)

    def chown(self, path: str, user: str | int | None, group: str | int | None) -> None:
        """Give the path an owner and a group, which may be planned too."""
        accounts = self._planned.accounts
        owner = None if user is None else (str(user), accounts.uid(str(user)))
        owning_group = None if group is None else (str(group), accounts.gid(str(group)))
        self._planned.files.chown(path, owner, owning_group)

    def run(self, argv: Sequence[str] | str, **options: Any) -> NoReturn:
        """Nobody knows what a command does."""
        raise NotPredicted

    def fetch(self, url: str, **options: Any) -> NoReturn:
        """Nothing is fetched for a prediction alone."""
        raise NotPredicted


_WRITES = frozenset(("write", "copy", "mkdir", "chmod", "symlink", "remove", "link", "mknod", "rename", "utime"))


def _names(text: str, name: str) -> bool:
    """Whether a text has this name in it, as a word or a path of its own or the beginning of a path."""
    return name in text and re.search(rf"(?<!{_WORD}){re.escape(name)}(?!{_WORD})", text) is not None
