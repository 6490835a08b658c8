from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from highstate.desired import chunk_keys
from highstate.run.ports import MemoryJournal, Prepared, RunHooks
from highstate.run.report import as_running, outcome
from highstate.run.requisites import RequisiteStatus, judge
from highstate.run.runner import run
from highstate.types import Chunk, StateResult


@dataclass
class Script:
    """Does what a chunk's id says: ok, changes, fails, waits (changes on mod_watch alone)."""

    calls: list[str] = field(default_factory=list)
    tries: dict[str, int] = field(default_factory=dict)

    def plan(self, chunk: Chunk, arguments: Mapping[str, Any], *, watched: bool) -> Prepared | None:
        kind = chunk.name.split("-")[0]
        if watched and kind != "waits":
            return None
        does = kind in ("changes", "late") or watched
        result = None if does else kind != "fails"
        changes = {"did": chunk.id} if does else {}
        predicted = StateResult(name=chunk.name, result=result, changes=changes, comment="planned")
        return Prepared(chunk=chunk, predicted=predicted, work="watch" if watched else "do" if does else None)

    def act(self, prepared: Prepared) -> StateResult:
        self.calls.append(f"{prepared.work} {prepared.chunk.id}")
        count = self.tries[prepared.chunk.id] = self.tries.get(prepared.chunk.id, 0) + 1
        good = not prepared.chunk.name.startswith("late") or count > 1
        return replace(prepared.predicted, result=good, comment=f"acted {count}")


def low(name: str, sls: str = "web", state: str = "test", **arguments: Any) -> Chunk:
    return Chunk(state=state, fun="do", id=f"{name}-id", name=name, sls=sls, arguments=arguments)


def go(*chunks: Chunk, test: bool = False, **more: Any) -> dict[str, StateResult]:
    keyed = {str(number): one for number, one in enumerate(chunks)}
    return run(keyed, more.pop("script", Script()), test=test, clock=lambda: 0.0, **more)


def last(*chunks: Chunk, **more: Any) -> StateResult:
    return go(*chunks, **more)[str(len(chunks) - 1)]


NOT_CHANGED = "State was not run because none of the onchanges reqs changed"
NOT_FAILED = "State was not run because onfail req did not change"


@pytest.mark.parametrize(
    ("first", "kind", "result", "comment"),
    [
        ("ok", "require", True, "acted 1"),
        ("changes", "require", True, "acted 1"),
        ("fails", "require", False, "One or more requisite failed: web.fails-id"),
        ("fails", "watch", False, "One or more requisite failed: web.fails-id"),
        ("ok", "onchanges", True, NOT_CHANGED),
        ("fails", "onchanges", True, NOT_CHANGED),
        ("changes", "onchanges", True, "acted 1"),
        ("ok", "onfail", True, NOT_FAILED),
        ("changes", "onfail", True, NOT_FAILED),
        ("fails", "onfail", True, "acted 1"),
    ],
)
def test_one_requisite(first: str, kind: str, result: bool, comment: str) -> None:
    got = last(low(first), low("changes-2", **{kind: [{"test": first}]}))
    assert (got.result, got.comment) == (result, comment)
    assert got.skipped is (comment != "acted 1")


@pytest.mark.parametrize(
    ("kind", "others", "runs"),
    [
        ("require_any", ["fails", "ok"], True),
        ("require_any", ["fails", "fails-2"], False),
        ("watch_any", ["fails", "changes"], True),
        ("onchanges", ["ok", "changes"], True),
        ("onchanges_any", ["ok", "changes"], True),
        ("onchanges_any", ["ok", "ok-2"], False),
        ("onfail", ["ok", "fails"], True),
        ("onfail_any", ["ok", "fails"], True),
        ("onfail_all", ["ok", "fails"], False),
        ("onfail_all", ["fails", "fails-2"], True),
        ("require", ["ok", "fails"], False),
        ("prereq", ["ok", "changes"], True),
    ],
)
def test_several_requisites(kind: str, others: list[str], runs: bool) -> None:
    me = low("changes-me", **{kind: [{"test": other} for other in others]})
    got = go(*(low(other) for other in others), me)[str(len(others))]
    assert (not got.skipped) is runs


@pytest.mark.parametrize(
    "item", [{"test": "changes"}, {"test": "changes-id"}, "changes", {"sls": "web"}, {"id": "changes-id"}]
)
@pytest.mark.parametrize("glob", [False, True])
def test_a_requisite_names_id_name_or_sls(item: Any, glob: bool) -> None:
    if glob:
        item = item[:3] + "*" if isinstance(item, str) else {k: v[:2] + "*" for k, v in item.items()}
    assert not last(low("changes"), low("changes-2", sls="other", onchanges=[item])).skipped
    assert last(low("ok"), low("changes", sls="x"), low("changes-2", sls="other", onchanges=[{"sls": "web"}])).skipped


def test_a_requisite_that_names_nothing_fails_its_chunk_alone() -> None:
    results = go(low("ok", require=[{"file": "/x"}]), low("changes"))
    assert results["0"].result is False
    assert "require:\n        file: /x" in results["0"].comment
    assert results["1"].result is True


def test_a_known_result_stands_for_a_chunk_outside_the_run() -> None:
    gone = low("ok")
    known = {gone.tag: StateResult(name="ok", result=True)}
    assert last(low("changes", require=[{"test": "ok"}]), known=known).comment == "acted 1"
    results = go(gone, low("changes", require=[{"sls": "web"}]), known={"0": StateResult(name="ok", result=True)})
    assert list(results) == ["1"]
    assert results["1"].comment == "acted 1"


def test_mod_watch_follows_a_change_when_there_is_nothing_else_to_do() -> None:
    script = Script()
    go(
        low("changes"),
        low("waits", watch=[{"test": "changes"}]),
        low("waits-2", watch=["ok"]),
        low("ok"),
        script=script,
    )
    assert script.calls == ["do changes-id", "watch waits-id"]


def test_predictions_propagate_under_test() -> None:
    script = Script()
    results = go(
        low("changes"),
        low("waits", watch=[{"test": "changes"}]),
        low("changes-2", onchanges=[{"test": "waits"}]),
        low("changes-3", onfail=[{"test": "changes"}]),
        low("waits-2", listen=["changes"]),
        test=True,
        script=script,
    )
    assert [result.result for result in results.values()] == [None, None, None, True, True, None]
    assert script.calls == []
    assert outcome(results) == "pending"


def test_prereq_runs_before_what_would_change_and_not_otherwise() -> None:
    script = Script()
    go(low("changes-2", prereq=[{"test": "changes"}]), low("changes"), script=script)
    assert script.calls == ["do changes-2-id", "do changes-id"]
    assert go(low("changes-2", prereq=[{"test": "ok"}]), low("ok"))["0"].comment == "No changes detected"


def test_prereq_reaches_through_a_chain_and_a_failure_stops_what_comes_after() -> None:
    chain = (low("changes-3", prereq=["changes-2"]), low("changes-2", prereq=["ok"]), low("ok"))
    assert [one.skipped for one in go(*chain).values()] == [True, True, False]
    failing = go(low("late", prereq=["changes"]), low("changes"))
    assert failing["0"].result is False
    assert failing["1"].comment == "One or more requisite failed: web.late-id"


def test_the_test_node_of_a_prereq_is_no_chunk_of_its_own() -> None:
    node, real = low("changes", __prereq__=True), low("changes", __prereq__=True, __prerequiring__=True)
    keyed = chunk_keys([node, low("changes-2", prereq=["changes"]), real])
    assert list(run(keyed, Script(), test=False, clock=lambda: 0.0)) == [
        "test_|-changes-2-id_|-changes-2_|-do",
        "test_|-changes-id_|-changes_|-do",
    ]


def test_a_requisite_that_stands_later_is_run_first_and_a_circle_fails() -> None:
    script = Script()
    go(low("changes", require=["changes-2"]), low("changes-2"), script=script)
    assert script.calls == ["do changes-2-id", "do changes-id"]
    circle = go(low("changes", require=["changes-2"]), low("changes-2", require=["changes"]))
    assert {one.result for one in circle.values()} == {False}


def test_listeners_come_last_once_each() -> None:
    script = Script()
    chunks = {
        str(n): one
        for n, one in enumerate([low("waits", listen=["changes", "changes-2"]), low("changes"), low("changes-2")])
    }
    results = run(chunks, script, test=False, clock=lambda: 0.0)
    assert script.calls == ["do changes-id", "do changes-2-id", "watch listener_waits-id"]
    running = as_running(chunks, results)
    assert running["test_|-listener_waits-id_|-waits_|-mod_watch"]["__sls__"] == "web"
    assert running["test_|-listener_waits-id_|-waits_|-mod_watch"]["__run_num__"] == 3


def test_listen_in_is_the_same_from_the_other_side() -> None:
    script = Script()
    go(low("changes", listen_in=[{"test": "waits"}]), low("waits"), script=script)
    assert script.calls[-1] == "watch listener_waits-id"


@pytest.mark.parametrize(
    ("first", "arguments"),
    [("ok", {"listen": [{"test": "gone"}]}), ("changes", {"listen_in": [{"test": "gone"}]})],
)
def test_a_listener_that_is_not_there_is_a_failure(first: str, arguments: dict[str, Any]) -> None:
    results = go(low(first, **arguments))
    failed = results["Listen_Error_|-listen_gone_|-listen_test_|-Listen_Error"]
    assert (failed.result, failed.name, failed.run_num) == (False, "listen_test:gone", 1)
    assert failed.comment == "Referenced state test: gone does not exist"


@pytest.mark.parametrize(
    ("first", "arguments"), [("ok", {"listen": ["gone"]}), ("ok", {"listen_in": [{"test": "gone"}]})]
)
def test_a_bare_listener_and_one_that_is_told_nothing_may_be_gone(first: str, arguments: dict[str, Any]) -> None:
    assert list(go(low(first, **arguments))) == ["0"]


@pytest.mark.parametrize("test", [False, True])
def test_run_numbers_count_mod_watch(test: bool) -> None:
    results = go(low("changes"), low("waits", watch=["changes"]), low("ok"), test=test)
    assert [one.run_num for one in results.values()] == [0, 2, 3]


@pytest.mark.parametrize("more", [{"failhard": True}, {}])
def test_failhard_ends_the_run(more: dict[str, Any]) -> None:
    arguments = {} if more else {"failhard": True}
    results = go(low("fails", **arguments), low("changes"), **more)
    assert list(results) == ["0"]


def test_retry_until_it_succeeds() -> None:
    slept: list[float] = []
    got = last(low("late", retry={"attempts": 3, "interval": 4}), hooks=RunHooks(sleep=slept.append))
    assert (got.result, slept) == (True, [4.0])
    assert got.comment == 'Attempt 1: Returned a result of "False", with the following comment: "acted 1"\nacted 2'
    assert last(low("late", retry={"attempts": 3}), test=True).result is None


def test_a_run_that_was_cut_off_goes_on_where_it_was() -> None:
    journal, script = MemoryJournal(), Script()
    chunks = (low("changes"), low("changes-2"), low("ok"), low("waits", watch=["ok"]))
    journal.done("0", StateResult(name="changes", result=True, comment="then"))
    journal.intent("2", {"file": "written"})
    results = go(*chunks, journal=journal, script=script)
    assert results["0"].comment == "then"
    assert results["2"].changes == {"file": "written"}
    assert "cut off" in results["2"].comment
    assert script.calls == ["do changes-2-id", "watch waits-id"]
    again = go(*chunks, journal=journal, script=script)
    assert [one.changes for one in again.values()] == [one.changes for one in results.values()]
    assert len(script.calls) == 2


def test_a_mod_watch_that_was_cut_off_is_done_again() -> None:
    journal, script = MemoryJournal(), Script()
    journal.done("0", StateResult(name="changes", result=True, changes={"a": 1}))
    journal.intent("1", {"restarted": True})
    go(low("changes"), low("waits", watch=["changes"]), journal=journal, script=script)
    assert script.calls == ["watch waits-id"]


def test_the_verdict_is_a_function_of_results() -> None:
    good, bad = StateResult(name="a", result=True), StateResult(name="b", result=False)
    changed = StateResult(name="c", result=True, changes={"x": 1})
    assert judge({}) is RequisiteStatus.MET
    assert judge({"watch": [changed], "require": [bad]}) is RequisiteStatus.FAIL
    assert judge({"watch": [changed], "onchanges": [good]}) is RequisiteStatus.ONCHANGES
    assert judge({"require": [replace(good, skipped=True)]}) is RequisiteStatus.MET
