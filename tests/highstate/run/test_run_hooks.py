import contextlib
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from highstate.run.ports import MemoryJournal, MemoryTriggers, Prepared, RunHooks, Task
from highstate.run.report import not_run
from highstate.run.runner import run
from highstate.types import Chunk, StateResult


@dataclass
class Machine:
    """Chunks change something when their name is in `changing`, and fail to act when it is in `broken`."""

    changing: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    acted: list[str] = field(default_factory=list)
    packages: list[Any] = field(default_factory=list)
    meeting: threading.Barrier | None = None
    quiet: set[str] = field(default_factory=set)
    """Chunks whose watchers are not to act."""

    def plan(self, chunk: Chunk, arguments: Mapping[str, Any], *, watched: bool) -> Prepared | None:
        if chunk.state == "pkg":
            self.packages.append(arguments.get("pkgs"))
        does = watched or chunk.name in self.changing
        predicted = StateResult(name=chunk.name, result=None if does else True, changes={"x": 1} if does else {})
        return Prepared(chunk=chunk, predicted=predicted, work="watch" if watched else "do" if does else None)

    def act(self, prepared: Prepared) -> StateResult:
        name = prepared.chunk.name
        if self.meeting is not None:
            self.meeting.wait(timeout=60)
        self.acted.append(f"{prepared.work} {name}")
        return replace(
            prepared.predicted,
            result=name not in self.broken,
            changes={} if name in self.broken else {"x": 1},
            skip_req=name in self.quiet,
        )


def low(name: str, state: str = "test", fun: str = "do", **arguments: Any) -> Chunk:
    return Chunk(state=state, fun=fun, id=name, name=name, sls="s", arguments=arguments)


def go(machine: Machine, *chunks: Chunk, test: bool = False, **around: Any) -> dict[str, StateResult]:
    keyed = {one.tag: one for one in chunks}
    results = run(keyed, machine, test=test, clock=lambda: 0.0, hooks=RunHooks(**around))
    return {keyed[key].name if key in keyed else key: result for key, result in results.items()}


TREE = (low("conf"), low("daemon", watch=["conf"]), low("ear", listen=["conf"]), low("after", onchanges=["conf"]))


@pytest.mark.parametrize("name", ["daemon", "ear"])
def test_a_trigger_that_could_not_be_acted_on_is_acted_on_by_the_next_run(name: str) -> None:
    triggers = MemoryTriggers()
    go(Machine(changing={"conf", "after"}, broken={name}), *TREE, triggers=triggers)
    assert len(triggers.keys) == 1
    shown = go(Machine(), *TREE, triggers=triggers, test=True)
    assert [key for key, result in shown.items() if result.result is None] in (
        [name],
        [f"test_|-listener_{name}_|-{name}_|-mod_watch"],
    )
    assert triggers.keys
    later = Machine()
    go(later, *TREE, triggers=triggers)
    assert later.acted == [f"watch {name}"]
    assert not triggers.keys
    quiet = Machine()
    go(quiet, *TREE, triggers=triggers)
    assert quiet.acted == []


def test_a_command_that_failed_on_a_change_runs_again() -> None:
    triggers = MemoryTriggers()
    go(Machine(changing={"conf", "after"}, broken={"after"}), *TREE, triggers=triggers)
    later = Machine(changing={"after"})
    go(later, *TREE, triggers=triggers)
    assert later.acted == ["do after"]


def test_a_trigger_that_a_failed_requisite_kept_back_is_not_lost() -> None:
    chunks = (low("conf"), low("other"), low("daemon", watch=["conf"], require=["other"]))
    triggers = MemoryTriggers()
    assert go(Machine(changing={"conf", "other"}, broken={"other"}), *chunks, triggers=triggers)["daemon"].skipped
    later = Machine()
    go(later, *chunks, triggers=triggers)
    assert later.acted == ["watch daemon"]


def test_a_change_that_watchers_are_not_told_of_leaves_no_trigger() -> None:
    chunks = (low("conf"), low("other"), low("daemon", watch=["conf"], require=["other"]))
    triggers = MemoryTriggers()
    go(Machine(changing={"conf", "other"}, broken={"other"}, quiet={"conf"}), *chunks, triggers=triggers)
    assert not triggers.keys


def test_a_change_that_watchers_are_not_told_of_settles_no_trigger_of_an_earlier_run() -> None:
    for name, acted in (("daemon", "watch daemon"), ("after", "do after")):
        triggers = MemoryTriggers()
        go(Machine(changing={"conf", "after"}, broken={name}), *TREE[:2], TREE[3], triggers=triggers)
        later = Machine(changing={"conf", "after"}, quiet={"conf"})
        go(later, *TREE[:2], TREE[3], triggers=triggers)
        assert later.acted == ["do conf", acted]
        assert not triggers.keys


def test_what_is_owed_outside_a_run_stays_owed() -> None:
    triggers = MemoryTriggers(keys=frozenset({"elsewhere"}))
    go(Machine(), *TREE, triggers=triggers)
    assert triggers.keys == {"elsewhere"}


class Killed(BaseException):
    """kill -9."""


@dataclass
class Mortal(Machine):
    """Is killed before or after its nth step."""

    lives: float = float("inf")
    conf: bool = False

    def step(self) -> None:
        self.lives -= 1
        if self.lives < 0:
            raise Killed

    def plan(self, chunk: Chunk, arguments: Mapping[str, Any], *, watched: bool) -> Prepared | None:
        self.step()
        self.changing = set() if self.conf else {"conf"}
        return super().plan(chunk, arguments, watched=watched)

    def act(self, prepared: Prepared) -> StateResult:
        self.step()
        self.conf = self.conf or prepared.chunk.name == "conf"
        result = super().act(prepared)
        self.step()
        return result


SERVED = (low("before"), low("conf"), low("between"), low("daemon", watch=["conf"]), low("ear", listen=["conf"]))


@pytest.mark.parametrize("journalled", [True, False])
@pytest.mark.parametrize("second", range(14))
@pytest.mark.parametrize("first", range(14))
def test_killed_twice_at_any_step_a_trigger_is_acted_on(first: int, second: int, journalled: bool) -> None:
    """With a journal the same run goes on; without one it is the next run that has to know."""
    machine, triggers, journal = Mortal(), MemoryTriggers(), MemoryJournal()
    keyed = {one.tag: one for one in SERVED}
    for lives in (first, second, float("inf")):
        machine.lives = lives
        around = RunHooks(triggers=triggers, remembers_at_once=not journalled)
        own = journal if journalled else MemoryJournal()
        with contextlib.suppress(Killed):
            run(keyed, machine, test=False, clock=lambda: 0.0, journal=own, hooks=around)
    acted = machine.acted
    for follower in ("watch daemon", "watch ear"):
        assert follower in acted[acted.index("do conf") :]
    assert not triggers.keys
    quiet = Machine()
    go(quiet, *SERVED, triggers=triggers)
    assert quiet.acted == []


def test_a_trigger_of_an_earlier_run_outlives_a_kill() -> None:
    triggers = MemoryTriggers(keys=frozenset({SERVED[3].tag}))
    for lives in (0, 2, 5):
        with contextlib.suppress(Killed):
            go(Mortal(conf=True, lives=lives), *SERVED, triggers=triggers)
        assert triggers.keys == {SERVED[3].tag}
    machine = Mortal(conf=True)
    go(machine, *SERVED, triggers=triggers)
    assert machine.acted == ["watch daemon"]


def test_a_chunk_that_fails_because_the_run_is_left_off_is_done_again() -> None:
    machine, journal = Machine(changing={"a", "b"}, broken={"b"}), MemoryJournal()
    keyed = {name: low(name) for name in ("a", "b", "c")}
    leaving = RunHooks(stopping=lambda: len(machine.acted) == 2, left_off=lambda: True)
    assert list(run(keyed, machine, test=False, clock=lambda: 0.0, journal=journal, hooks=leaving)) == ["a"]
    machine.broken.clear()
    whole = run(keyed, machine, test=False, clock=lambda: 0.0, journal=journal)
    assert [result.result for result in whole.values()] == [True, True, True]


def test_what_a_stopped_run_has_not_done_is_told() -> None:
    machine = Machine(changing={"a", "b"})
    keyed = {name: low(name) for name in ("a", "b", "c", "known")}
    known = {"known": StateResult(name="known", result=True)}
    stopping = RunHooks(stopping=lambda: len(machine.acted) == 1)
    results = run(keyed, machine, test=False, clock=lambda: 0.0, known=known, hooks=stopping)
    left = not_run(keyed, results, known, "enough")
    assert {key: (one.comment, one.run_num, one.result) for key, one in left.items()} == {
        "b": ("Not run: enough", 1, False),
        "c": ("Not run: enough", 2, False),
    }


def test_parallel_chunks_run_beside_each_other_and_are_waited_for() -> None:
    with ThreadPoolExecutor(2) as pool:

        @dataclass
        class Submitted:
            future: Future[tuple[StateResult, float]]

            def ready(self) -> bool:
                return self.future.done()

            def wait(self) -> tuple[StateResult, float]:
                return self.future.result()

        def background(task: Task) -> Submitted:
            return Submitted(pool.submit(task))

        machine = Machine(changing={"a", "b", "c"})
        machine.meeting = threading.Barrier(2, action=lambda: setattr(machine, "meeting", None))
        results = go(
            machine,
            low("a", parallel=True),
            low("b", parallel=True),
            low("c", require=["a", "b"]),
            background=background,
        )
    assert {name: result.result for name, result in results.items()} == {"a": True, "b": True, "c": True}
    assert machine.acted[-1] == "do c"
    assert sorted(result.run_num for result in results.values()) == [0, 1, 2]


def test_parallel_without_a_background_is_in_order() -> None:
    machine = Machine(changing={"a", "b"}, broken={"a"})
    results = go(machine, low("a", parallel=True), low("b", require=["a"]))
    assert (results["a"].result, results["b"].result, machine.acted) == (False, False, ["do a"])


def test_a_run_stops_between_chunks_and_goes_on_later() -> None:
    machine, journal = Machine(changing={"a", "b", "c"}), MemoryJournal()
    keyed = {name: low(name) for name in ("a", "b", "c")}
    stopping = RunHooks(stopping=lambda: len(machine.acted) == 2)
    first = run(keyed, machine, test=False, clock=lambda: 0.0, journal=journal, hooks=stopping)
    assert list(first) == ["a", "b"]
    whole = run(keyed, machine, test=False, clock=lambda: 0.0, journal=journal)
    assert list(whole) == ["a", "b", "c"]
    assert machine.acted == ["do a", "do b", "do c"]


def test_who_listens_hears_of_each_result() -> None:
    heard: list[tuple[str, int]] = []
    go(
        Machine(),
        low("a"),
        low("b"),
        on_result=lambda key, chunk, result, total: heard.append((chunk.name, result.run_num)),
    )
    assert heard == [("a", 0), ("b", 1)]


def test_packages_of_later_chunks_join_the_first() -> None:
    chunks = (
        low("a", "pkg", "installed", aggregate=True),
        low("b", "pkg", "installed", aggregate=True, version="1.2"),
        low("c", "pkg", "installed"),
        low("d", "pkg", "installed", aggregate=True, unless="true"),
        low("e", "pkg", "installed", aggregate=True, require=[{"test": "later"}]),
        low("f", "pkg", "removed", aggregate=True),
        low("g", "pkg", "installed", aggregate=["pkg"], pkgs=["x", {"y": 1}]),
        low("later"),
    )
    machine = Machine()
    go(machine, *chunks)
    assert machine.packages[0] == ["a", {"b": "1.2"}, "x", {"y": 1}]
    assert machine.packages[2] is None
    everywhere = Machine()
    go(everywhere, *chunks, aggregate=True)
    assert everywhere.packages[0] == ["a", {"b": "1.2"}, "c", "x", {"y": 1}]
    tested = Machine()
    go(tested, *chunks, test=True)
    assert tested.packages[0] is None


def test_what_only_shows_when_done_is_asked_under_test_and_followed_by_its_watch() -> None:
    class Unforeseen(Machine):
        def plan(self, chunk: Chunk, arguments: Mapping[str, Any], *, watched: bool) -> Prepared | None:
            prepared = super().plan(chunk, arguments, watched=watched)
            if watched or chunk.name != "blind" or prepared is None:
                return prepared
            return Prepared(
                chunk=chunk,
                predicted=StateResult(name="blind", result=None),
                work="blind",
                predict=lambda: StateResult(name="blind", result=True, comment="asked"),
            )

        def act(self, prepared: Prepared) -> StateResult:
            result = super().act(prepared)
            return replace(result, changes={}) if prepared.work == "blind" else result

    chunks = (low("conf"), low("blind", watch=["conf"]), low("first", prereq=["blind"]))
    assert go(Unforeseen(), *chunks, test=True)["blind"].comment == "asked"
    machine = Unforeseen(changing={"conf", "first"})
    go(machine, *chunks)
    assert machine.acted == ["do conf", "do first", "blind blind", "watch blind"]
