"""The chain behind a run or a compile, in words: each published tag has some."""

import pytest

from controller.observe.causes import chain, chain_of_run, chains_of_runs, step_of, steps_of
from controller.store import RunRecord, Store
from reactors.bus import Bus
from reactors.events import Event


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        yield store


def published(store, *events):
    """Publish (tag, data, cause) and keep them."""
    bus = Bus(lambda: 1.0)
    store.events.add([bus.publish(tag, data, cause=cause, revision="abc1234") for tag, data, cause in events])


PUSH = (
    ("saltern/hook", {"remote": "states"}, 0),
    ("saltern/remote/states/fetched", {"remote": "states", "seconds": 0.1}, 1),
    (
        "saltern/revision/abc1234/live",
        {"commit": "abc1234" + "0" * 33, "subject": "Another port", "author": "A. Writer"},
        2,
    ),
)


def test_a_push_that_ran_and_failed(store):
    store.runs.create(RunRecord(run_id="r1", minion="web1", kind="apply", created=1.0))
    failed = {"result": False, "comment": "no such package\nmore", "__sls__": "web"}
    states = {"pkg_|-nginx_|-nginx_|-installed": failed, "a_|-b_|-b_|-c": {"result": True}}
    store.runs.finish("r1", "failed", finished=2.0, result={"states": states})
    published(
        store,
        *PUSH,
        ("saltern/compile/web1/ok", {"id": "web1", "generation": 2, "seconds": 0.5}, 3),
        ("saltern/compile/db1/ok", {"id": "db1", "generation": 2, "seconds": 0.5}, 3),
        ("saltern/run/r1/new", {"minion": "web1", "run": "r1", "kind": "apply", "states": 1, "plan": "1 changed"}, 4),
        ("saltern/run/r1/started", {"minion": "web1", "run": "r1"}, 6),
        (
            "salt/job/r1/ret/web1",
            {"id": "web1", "jid": "r1", "kind": "apply", "outcome": "failed", "changes": 0, "failed": 1},
            6,
        ),
    )
    steps = list(steps_of(store, "web1"))
    assert [step.step for step in steps] == ["push", "fetch", "revision", "compile", "run", "start", "result"]
    assert [step.text for step in steps] == [
        "a webhook named states",
        "remote states brought something new",
        "commit abc123400000 by A. Writer",
        "compiled in 0.50 s: generation 2",
        "apply of 1 state, run r1",
        "the minion began",
        "apply: failed, 0 changed, 1 failed",
    ]
    assert steps[2].details == ("Another port",)
    assert steps[-1].details == ("nginx (pkg.installed) (web): no such package",)


def test_a_push_that_does_not_compile_ends_with_the_place(store):
    errors = ["web.sls:3: 'nope' is undefined\n  {{ nope }}"]
    published(store, *PUSH, ("saltern/compile/web1/error", {"id": "web1", "errors": errors}, 3))
    last = list(steps_of(store, "web1"))[-1]
    assert last.text == "does not compile; the last good state stays"
    assert last.details == ("web.sls:3: 'nope' is undefined", "  {{ nope }}")


def test_the_chains_of_many_runs_are_those_of_each(store, monkeypatch):
    """Two pushes, a job whose minions share a run id, and a run of whose beginning nothing is left."""
    minions = ("db1", "web1", "web2")
    events = [*PUSH]
    for number, minion in enumerate(minions):
        new = {"minion": minion, "run": f"r{number}", "kind": "apply", "plan": "1 changed"}
        events += [
            (f"saltern/compile/{minion}/ok", {"id": minion, "generation": 2, "seconds": 0.5}, 3),
            (f"saltern/run/r{number}/new", new, len(events) + 1),
            (f"saltern/run/r{number}/started", {"minion": minion, "run": f"r{number}"}, len(events) + 2),
            (f"salt/job/r{number}/ret/{minion}", {"id": minion, "jid": f"r{number}", "kind": "apply"}, len(events) + 2),
        ]
    events += [("saltern/run/job/new", {"minion": minion, "run": "job", "kind": "call"}, 0) for minion in minions]
    events += [("saltern/run/orphan/new", {"minion": "web1", "run": "orphan", "kind": "apply"}, 999)]
    published(store, *events)
    runs = [(minion, f"r{number}") for number, minion in enumerate(minions)]
    runs += [*((minion, "job") for minion in minions), ("web1", "orphan")]
    asked = []
    reading = type(store.events).caused_by
    monkeypatch.setattr(type(store.events), "caused_by", lambda *given: asked.append(1) or reading(*given))
    found = chains_of_runs(store.events, [*runs, ("web1", "gone"), ("db1", "r1")])
    assert len(asked) <= 3, "not one for each run"
    assert set(found) == set(runs)
    assert found == {run: chain_of_run(store.events, *run) for run in runs}
    assert [len(chain) for chain in found.values()] == [7, 7, 7, 1, 1, 1, 1]
    assert chains_of_runs(store.events, []) == {}


def test_nothing_is_known_of_who_did_nothing_and_a_lost_beginning_is_left_out(store):
    assert chain(store.events, "web1") == []
    published(store, ("saltern/compile/web1/ok", {"id": "web1"}, 77))
    assert [event.id for event in chain(store.events, "web1")] == [1]


@pytest.mark.parametrize(
    ("tag", "data", "step", "text"),
    [
        ("saltern/sync", {"target": "web*", "whole": True, "test": False}, "request",
         "a person: saltern sync web* --whole"),
        ("saltern/sync", {"target": "*", "user": "alice"}, "request", "alice: saltern sync *"),
        ("saltern/hook", {"remote": "states", "user": "alice"}, "push", "alice: saltern remote fetch, states"),
        ("saltern/hook", {"remote": "", "user": ""}, "push", "a webhook named all remotes"),
        ("saltern/minion/web1/resumed", {"id": "web1"}, "request", "a person: saltern resume"),
        ("saltern/minion/web1/paused", {"id": "web1"}, "request", "a person: saltern pause"),
        ("saltern/minion/web1/grains", {"id": "web1"}, "grains", "the minion's grains changed"),
        ("saltern/minion/web1/facts", {"id": "web1"}, "facts", "what templates asked of the minion gave other answers"),
        ("saltern/minion/db1/mine", {"id": "db1"}, "mine", "the mine of db1 changed"),
        ("saltern/minion/db1/gone", {"id": "db1", "why": "stopped"}, "connect", "db1 disconnected: stopped"),
        ("salt/minion/web1/start", {"id": "web1"}, "connect", "the minion connected"),
        ("salt/key", {"id": "db1", "act": "accepted"}, "key", "key of db1: accepted"),
        ("saltern/compile/web1/due", {"id": "web1", "why": "old"}, "age", "old"),
        ("saltern/run/r/lost", {"minion": "web1"}, "result", "no result came; the run counts as failed"),
        ("saltern/run/r/new", {"kind": "remediate", "states": "all", "run": "r"}, "run",
         "remediate of the whole highstate, run r"),
        ("saltern/minion/web1/applied", {"generation": 3}, "applied", "generation 3 is applied"),
        ("saltern/revision/abc/refused", {"error": "saltern.yaml:1: no"}, "revision", "the revision was refused"),
        ("custom/tag", {}, "event", "custom/tag"),
    ],
)  # fmt: skip
def test_words(tag, data, step, text):
    found = step_of(Event(id=1, tag=tag, time=1.0, data=data))
    assert (found.step, found.text) == (step, text)
