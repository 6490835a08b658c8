"""The machine as a run under test=True would have left it by now: what plans look at, with nothing really changed.

Made by the engine for each test run. The acts of a plan are performed on `PlannedActs`, which has no way to the
machine: files, accounts, packages, services, mounts, grains and whatever a known program keeps go into memory, and the
plans of later states see them there. What another command would do is not known: the engine says what it may bring
(`Brought`). A question whose answer depends on that raises ContentUnknown; a plan that fails for want of it is found by
`awaited`, and one that looked at it by `doubt`: such a state is predicted as None, with a comment that says why.
"""

from __future__ import annotations

import copy
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from minion.machine.failure import ContentUnknown, NotPredicted, StateFailed
from minion.machine.plan import Completed, FileStat, Machine, Value
from minion.machine.planned.accounts import PlannedAccounts
from minion.machine.planned.changes import Brought, PlannedPackage, PlannedService
from minion.machine.planned.commands import PlannedCommands
from minion.machine.planned.conditions import exit_code, path_answer
from minion.machine.planned.files import PlannedFiles

_NOT_FOUND = 127
_OF_PLANS = ("grains.", "group.", "match.", "pillar.", "schedule.", "test.", "user.")
"""Modules whose functions see what is planned, or ask of nothing that a run makes."""
_WORD = r"[\w.@-]"
_PART = re.compile(r"[/._-]")


class PlannedMachine:
    """A `Reader`: the machine with what the states before this one would have made."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.files = PlannedFiles(machine)
        self.accounts = PlannedAccounts(machine.query, self.files)
        self.commands = PlannedCommands(machine.query, self.files)
        self.planned_packages: dict[str, PlannedPackage] = {}
        """Package -> how it would be."""
        self.planned_services: dict[str, PlannedService] = {}
        """Service -> how it would be."""
        self.planned_grains: dict[str, Value] | None = None
        """All grains, once a state would have changed one."""
        self.planned_environ = dict(os.environ)
        """The variables of this process."""
        self.brought: list[Brought] = []
        self.condition_doubt = ""
        """Why it is not known whether a condition keeps the state that is planned."""
        self._before = 0
        """How many of those were there when the plan began."""
        self._looked: set[str] = set()
        self._listed: set[str] = set()
        self._missed: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    @property
    def grains(self) -> Mapping[str, Value]:
        """As of the machine."""
        return self._machine.grains if self.planned_grains is None else self.planned_grains

    def over(self, machine: Machine) -> PlannedMachine:
        """The same plans over another view of the machine."""
        other = PlannedMachine(machine)
        vars(other).update(vars(self), _machine=machine, files=self.files.over(machine))
        return other

    @property
    def looks_itself(self) -> bool:
        """Whether conditions are answered here where they can be: in a preview, which runs none of a branch."""
        return bool(getattr(self._machine, "looks_itself", False))

    def begin(self) -> None:
        """A plan begins: what an earlier one looked at and did not find does not count for it."""
        self.condition_doubt = ""
        self._before = len(self.brought)
        self._looked.clear()
        self._listed.clear()
        self._missed.clear()

    def stat(self, path: str) -> FileStat | None:
        """As of the machine."""
        found = self.files.stat(path)
        self._looked.add(path)
        if found is None:
            self._missed.add(path)
        return found

    def read(self, path: str) -> bytes:
        """As of the machine; ContentUnknown where nobody knows what would be there."""
        self._looked.add(path)
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
        self._looked.add(path)
        self._listed.add(posixpath.normpath(path))
        return self.files.listdir(path)

    def render(self, path: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """As of the machine, with the grains that the run would have set."""
        return self._with_grains().render(path, saltenv, context)

    def render_text(self, text: str, engine: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """As of the machine, with the grains that the run would have set."""
        return self._with_grains().render_text(text, engine, saltenv, context)

    def query(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Completed:
        """As of the machine; ContentUnknown when the command would look at what is not there yet."""
        known = self.commands.answer(argv)
        if known is not None:
            done = known
        elif argv[0] == "getent":
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
        cwd = str(options.get("cwd") or "")
        if isinstance(argv, str):
            code = self._condition(argv, cwd, runas, options)
            if code is not None:
                return Completed(returncode=code, stdout="", stderr="")
        waits = self.accounts.planned(runas or "") or self._waits_for([*words, cwd])
        if waits:
            raise ContentUnknown(f"a condition needs {waits}, which an earlier state of this run would make")
        done = self._machine.run(argv, runas=runas, **options)
        if done.returncode != 0 and (by := self._program_to_come(words[0])):
            raise ContentUnknown(f"a condition looks for a program, and {by} may bring it")
        return done

    def require_user(self, user: str) -> None:
        """StateFailed where there is no such user by now, in the words of a run."""
        try:
            self.accounts.uid(user)
        except StateFailed:
            self._missed.add(user)
            raise StateFailed(f"User '{user}' is not available") from None

    def awaited(self, comment: str) -> str:
        """The state before this one that may bring what the plan did not find and complains of; empty when none may."""
        for missing in self._missed:
            if missing and _names(comment, missing) and (by := self._bringer(missing)):
                return by
        return ""

    def awaited_by_act(self) -> str:
        """The state before this one that may bring a path that was looked for in vain; empty when none may."""
        paths = (missing for missing in self._missed if missing.startswith("/"))
        return next((by for missing in paths if (by := self._bringer(missing))), "")

    def doubt(self, state: str, name: str) -> str:
        """Why it is not certain what this plan found: what a state before it may change of it; empty when it is."""
        for brought in self.brought[: self._before]:
            if brought.state == state and brought.name == name:
                return f"{brought.by} of this run may have done it"
            for path in self._looked:
                if any(_is_in(path, one) for one in brought.paths):
                    return f"{brought.by} of this run may change {path}"
            for path in brought.paths:
                if any(_is_in(path, folder) for folder in self._listed):
                    return f"{brought.by} of this run may change {path}"
            for path in self._missed if brought.packages else ():
                if path.startswith("/") and set(_PART.split(path)).intersection(brought.packages):
                    return f"{brought.by} of this run may bring {path}"
        return ""

    def _bringer(self, missing: str) -> str:
        """The state before this one that may bring a path or another name."""
        for brought in self.brought:
            if brought.anything or any(_is_in(missing, path) for path in brought.paths):
                return brought.by
        return ""

    def _waits_for(self, words: Sequence[str]) -> str:
        """A path or user in these words that only this run would make or change; empty when there is none."""
        for name in (*self.files.changed(), *self.accounts.names()):
            if any(_names(word, name) for word in words):
                return name
        return ""

    def _condition(self, text: str, cwd: str, runas: str | None, options: Mapping[str, Any]) -> int | None:
        if self.accounts.planned(runas or ""):
            return None
        self._refuse_doubtful(text)
        if self.looks_itself and runas:
            return None
        return exit_code(self, text, cwd, lambda part: self.run_part(part, runas, options))

    def run_part(self, text: str, runas: str | None, options: Mapping[str, Any]) -> int:
        """A part of a condition that asks of nothing planned; ContentUnknown where it would after all."""
        if waits := self._waits_for([text]):
            raise ContentUnknown(f"a condition needs {waits}, which an earlier state of this run would make")
        return self._machine.run(text, runas=runas, **options).returncode

    def answered(self, fun: str, args: Sequence[Value], options: Mapping[str, Value]) -> bool | None:
        """What a condition says that calls an execution function; None where the function has to be called.

        ContentUnknown where it would look at what is not there yet.
        """
        asked = [str(value) for value in (*args, *options.values())]
        self._refuse_doubtful(" ".join(asked))
        known = path_answer(self, fun, asked)
        if known is None and not fun.startswith(_OF_PLANS) and (waits := self._waits_for(asked)):
            raise ContentUnknown(f"a condition needs {waits}, which an earlier state of this run would make")
        return known

    def _refuse_doubtful(self, text: str) -> None:
        for brought in self.brought:
            for path in map(posixpath.normpath, brought.paths):
                if _names(text, path):
                    raise ContentUnknown(f"a condition asks of {path}, which {brought.by} of this run may change")

    def _program_to_come(self, text: str) -> str:
        """The state that may bring the program that a condition looks for."""
        found = re.match(r"\s*(?:which|command\s+-v|type|hash)\s+(\S+)", text)
        return self._bringer(found[1]) if found else ""

    def _with_grains(self) -> Machine:
        if self.planned_grains is None:
            return self._machine
        seen = cast(Any, copy.copy(self._machine))
        seen.grains = self.planned_grains
        return cast(Machine, seen)


class PlannedActs:
    """A `Machine` on which acts are performed in memory."""

    def __init__(self, planned: PlannedMachine) -> None:
        self._planned = planned
        self.ran = False
        """Whether a program was among the acts: what it does is known less well than what files become."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._planned.files if name in _WRITES else self._planned, name)

    def chown(self, path: str, user: str | int | None, group: str | int | None) -> None:
        """Give the path an owner and a group, which may be planned too."""
        accounts = self._planned.accounts
        owner = None if user is None else (str(user), accounts.uid(str(user)))
        owning_group = None if group is None else (str(group), accounts.gid(str(group)))
        self._planned.files.chown(path, owner, owning_group)

    def run(
        self, argv: Sequence[str] | str, *, stdin: str | None = None, runas: str | None = None, **options: Any
    ) -> Completed:
        """Do in memory what a known program does; of the others nobody knows. StateFailed where there is no user."""
        self.ran = True
        if runas:
            self._planned.require_user(runas)
        if isinstance(argv, str):
            raise NotPredicted
        if self._planned.accounts.knows(argv[0]):
            return self._planned.accounts.run(argv, stdin)
        done = self._planned.commands.run(argv, stdin)
        if done is None:
            raise NotPredicted
        return done

    def fetch(self, url: str, **options: Any) -> NoReturn:
        """Nothing is fetched for a prediction alone."""
        raise NotPredicted

    def begin_elsewhere(self) -> NoReturn:
        """Nothing is told to a server for a prediction."""
        raise NotPredicted


_WRITES = frozenset(("write", "copy", "mkdir", "chmod", "symlink", "remove", "link", "mknod", "rename", "utime"))


def _is_in(path: str, folder: str) -> bool:
    path = posixpath.normpath(path)
    if folder.endswith("/."):
        return path == folder[:-2]
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _names(text: str, name: str) -> bool:
    """Whether a text has this name in it, as a word or a path of its own or the beginning of a path."""
    return name in text and re.search(rf"(?<!{_WORD}){re.escape(name)}(?!{_WORD})", text) is not None
