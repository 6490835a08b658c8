"""One case on both sides, and every difference of what came of it.

What is compared, state by state and field by field: what a push ran and what `saltern run ID state.apply` ran with what
the master's `state.apply` ran; the files that are left; what each says under test=True of its own work and of the
other's, which has to be the same; and what the minion's own calls print.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.oracle.beside_master.cases import TwoSidedCase
from tools.oracle.beside_master.sides import GatewaySide, MasterSide

_UNSTEADY = frozenset(("duration", "start_time", "pid", "__jid__", "jid", "atime", "mtime", "ctime", "inode"))
_JIDS = re.compile(r"\b\d{20}\b")
_TRACE = re.compile(r"(?s)Traceback \(most recent call last\):.*")
_TIMES = re.compile(r"\b\d+\.\d+(?= ?(seconds|ms)\b)")
_FAILED = re.compile(r"(One or more requisite failed: )(.*)", re.DOTALL)
"""Salt names what failed in the order of a set."""
_NO_STATES = "no_|-states_|-states_|-None"
_REFUSALS = ("ERROR executing ", "Passed invalid arguments", "The minion function caused an exception")
_PART = "#### /"
"""Before each file in the comment of a `file.recurse`, in the order of a set."""
_LATE = "before Salt 3008 a requisite that cannot be resolved fails its own state, when that runs"
_RESULTS_OF_LATE = ("The following requisites were not found", "Recursive requisite found")
_ERRORS_OF_LATE = ("Referenced state does not exist for requisite", "Recursive requisites were found")
_APPLY = ("state.apply",)
_TEST = ("state.apply", "test=True")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideDifference:
    """One field that is not the same: `part` is what was compared, `place` the state or path in it."""

    case: str
    part: str
    place: str
    master: Any
    gateway: Any
    why: str = ""
    """The case says that it is another on purpose; empty: nothing explains it."""


@dataclass(slots=True, kw_only=True)
class TwoSidedOutcome:
    """What came of a case."""

    case: str
    parts: int = 0
    """What was compared."""
    states: int = 0
    """That the master's run has."""
    errors: int = 0
    """Parts that both refuse; of those only that is compared."""
    found: list[SideDifference] = field(default_factory=list)

    @property
    def unexplained(self) -> list[SideDifference]:
        """Differences without a reason."""
        return [one for one in self.found if not one.why]


class TwoSides:
    """Both sides, which run.

    Args:
        master: with a salt-master.
        gateway: with a controller and the gateway.
        target: the folder that states write to.
        older_salt: the minions' Salt is older than 3008.
    """

    def __init__(self, master: MasterSide, gateway: GatewaySide, target: Path, *, older_salt: bool) -> None:
        self._master, self._gateway, self._target = master, gateway, target
        self._older_salt = older_salt

    def compare(self, case: TwoSidedCase) -> TwoSidedOutcome:
        """Run a case on both."""
        outcome = TwoSidedOutcome(case=case.name)
        parts = self._applied(case) if case.applies else self._planned(case)
        for part, salts, ours in parts:
            mine, other = self._steady(ours), self._steady(salts)
            outcome.parts += 1
            if part == "run":
                outcome.states = len(other) if is_states(other) else 0
            if _is_error(mine) and _is_error(other):
                outcome.errors += 1
                continue
            late = _LATE if self._older_salt and _refused_late(other, mine) else ""
            outcome.found += (
                SideDifference(
                    case=case.name, part=part, place=place, master=one, gateway=two, why=late or _why(case, part, place)
                )
                for place, one, two in differences(other, mine)
            )
        return outcome

    def _applied(self, case: TwoSidedCase) -> Iterator[tuple[str, Any, Any]]:
        master, gateway = self._master, self._gateway
        self._fresh()
        pushed = gateway.give(case)
        master.give(case)
        files_pushed, after_push = self._files(), master.run(_TEST)
        self._fresh()
        ran, files = master.run(_APPLY), self._files()
        with self._left_as_it_is():
            again = master.run(_TEST)
        ours_after = gateway.run(_TEST)
        self._fresh()
        called, files_called = gateway.run(_APPLY), self._files()
        yield "push", ran, pushed
        yield "run", ran, called
        yield "files of the push", files, files_pushed
        yield "files of the run", files, files_called
        yield "test of the master's work", again, ours_after
        yield "test of our work", again, after_push
        yield "test of our own work", again, gateway.run(_TEST)
        yield from self._asked(case)

    def _planned(self, case: TwoSidedCase) -> Iterator[tuple[str, Any, Any]]:
        self._fresh()
        given = self._gateway.give(case)
        self._master.give(case)
        if given is not None:  # a compile error: the minion keeps its last good state, of the case before
            yield "run", self._master.run(_TEST), given["errors"]
            return
        yield "run", self._master.run(_TEST), self._gateway.run(_TEST)
        yield from self._asked(case)

    def _asked(self, case: TwoSidedCase) -> Iterator[tuple[str, Any, Any]]:
        for words in case.runs:
            self._fresh()
            salts = self._master.run(self._placed(words))
            self._fresh()
            yield f"run {' '.join(words)}", salts, self._gateway.run(self._placed(words))
        for words in case.calls:
            self._fresh()
            salts = self._master.call(self._placed(words))
            self._fresh()
            yield f"salt-call {' '.join(words)}", salts, self._gateway.call(self._placed(words))

    def _placed(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(word.replace("@ROOT@", str(self._target)) for word in words)

    def _fresh(self) -> None:
        while self._target.exists():  # what a parallel state has begun may write still
            shutil.rmtree(self._target, ignore_errors=True)
        self._target.mkdir(parents=True)

    @contextmanager
    def _left_as_it_is(self) -> Iterator[None]:
        """What is written here, as conditions do also under test=True, is not there after it."""
        copy = self._target.with_name("kept")
        subprocess.run(["cp", "-a", self._target, copy], check=True)
        yield
        shutil.rmtree(self._target)
        copy.rename(self._target)

    def _files(self) -> dict[str, Any]:
        """Path -> kind, mode and content of all that states have left."""
        found: dict[str, Any] = {}
        for folder, folders, names in os.walk(self._target):
            for name in (*folders, *names):
                path = Path(folder, name)
                found[str(path.relative_to(self._target))] = {
                    "mode": oct(path.lstat().st_mode),
                    "content": _content(path),
                }
        return found

    def _steady(self, value: Any) -> Any:
        """Without what cannot be the same twice."""
        roots = (str(self._master.minion_root), str(self._gateway.minion_root))
        return _ranked(_without(value, roots))


def differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place at which two values are not the same, with both; of mappings the keys that differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*one, *other)):
            inner = f"{place} {key}".strip()
            if key not in one or key not in other:
                yield inner, one.get(key, "(none)"), other.get(key, "(none)")
            else:
                yield from differences(one[key], other[key], inner)
    elif one != other or type(one) is not type(other):
        yield place, one, other


def is_states(value: Any) -> bool:
    """Whether a value is Salt's running dictionary."""
    return isinstance(value, Mapping) and bool(value) and all("_|-" in str(key) for key in value)


def text(one: SideDifference) -> str:
    """A difference, for people."""
    reason = f" on purpose: {one.why}" if one.why else ""
    sides = f"    master:  {_short(one.master)}\n    gateway: {_short(one.gateway)}"
    return f"{one.case} | {one.part} | {one.place}{reason}\n{sides}"


def _content(path: Path) -> str:
    if path.is_symlink():
        return str(path.readlink())
    return path.read_text("latin-1") if path.is_file() else ""


def _short(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)[:600]


def _why(case: TwoSidedCase, part: str, place: str) -> str:
    return next((why for pattern, why in case.ours.items() if re.fullmatch(pattern, f"{part} {place}".strip())), "")


def _is_error(value: Any) -> bool:
    """What a state function says that compiles nothing: a list of texts; or what a program says that fails."""
    if isinstance(value, Mapping):
        return set(value) in ({"errors"}, {_NO_STATES})
    if isinstance(value, str):
        return value.startswith(_REFUSALS)
    return isinstance(value, Sequence) and bool(value) and _error_texts(value)


def _refused_late(master: Any, gateway: Any) -> bool:
    """Whether what a compile refuses here is what a state of the master's run has failed of."""
    if not (is_states(master) and _is_error(gateway) and isinstance(gateway, Sequence)):
        return False
    failed = any(str(entry.get("comment")).startswith(_RESULTS_OF_LATE) for entry in master.values())
    return failed and all(any(text in error for text in _ERRORS_OF_LATE) for error in gateway)


def _error_texts(value: Sequence[Any]) -> bool:
    return all(isinstance(one, str) for one in value) and any(" " in one for one in value)


def _ranked(value: Any) -> Any:
    """States with their ranks, and without the number that keys of ours have behind a state that runs twice."""
    if not is_states(value):
        return value
    states = {str(key).partition("#")[0]: entry for key, entry in value.items()}
    ordered = sorted(states, key=lambda key: states[key].get("__run_num__", -1))
    return {key: {**states[key], "__run_num__": rank} for rank, key in enumerate(ordered)}


def _without(value: Any, roots: Sequence[str]) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without(inner, roots) for key, inner in value.items() if key not in _UNSTEADY}
    if isinstance(value, list | tuple):
        return [_without(inner, roots) for inner in value]
    if isinstance(value, str):
        for root in roots:
            value = value.replace(root, "@MINION@")
        value = _FAILED.sub(lambda found: found[1] + ", ".join(sorted(found[2].split(", "))), value)
        head, *parts = value.split(_PART)
        value = _PART.join((head, *sorted(part.rstrip("\n") for part in parts)))
        return _TRACE.sub("Traceback", _TIMES.sub("SECONDS", _JIDS.sub("JID", value)))
    return value
