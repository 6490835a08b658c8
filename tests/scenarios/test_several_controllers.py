"""Two real controllers of one remote and their minions: kill -9 of one, a change of controller, nothing run twice."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from controller_pair import HOSTS, Pair
from git_servers import Backend, serving


@pytest.fixture
def make_pair():
    pairs, folder, stack = [], Path(tempfile.mkdtemp(prefix="saltern-")), contextlib.ExitStack()

    def make(example="minion.conf", *, hourly=False):
        """`hourly`: the second has the remote by http, and fetches it each hour."""

        class Flaky(Backend):
            answers = True

            def is_let_in(self):
                return Flaky.answers

        if hourly:
            Flaky.port = stack.enter_context(serving(folder / "1", handler=Flaky))
        pairs.append(Pair(folder, example, Flaky if hourly else None))
        pairs[-1].up()
        return pairs[-1]

    yield make
    for pair in pairs:
        pair.first.stop_all()
        pair.second.stop_all()
    stack.close()
    shutil.rmtree(folder, ignore_errors=True)


def runs_of(rig):
    return [run for run in rig.history("web1") if run["kind"] in ("apply", "remediate")]


@pytest.mark.timeout(400)
def test_a_killed_controller_costs_no_run_and_no_result(make_pair, tmp_path):
    pair = make_pair()
    first, second = pair.first, pair.second
    first.accept_all()
    commit = first.push("first")
    first.wait_applied(commit)
    assert len(runs_of(first)) == 1

    counted, gate = tmp_path / "count", tmp_path / "gate"
    script = f"echo ran >> {counted}; while [ ! -e {gate} ]; do sleep 0.05; done; echo done"
    first.saltern("run", "web1", "cmd.run", script, "--async")
    first.wait("the job to begin", counted.exists)
    first.kill("controller", children=True)
    second.wait("web1 to ask the second", lambda: second.keys("pending") == ["web1"])
    second.saltern("key", "accept", "web1", "--yes")
    pair.wait_connected(second)
    second.wait_applied(commit, ["web1"])
    assert runs_of(second) == [], "the second has the same document, which is applied"

    gate.touch()
    second.saltern("run", "web1", "test.ping")
    problems = lambda: second.status()["web1"]["problems"]  # noqa: E731
    second.wait("it to be said that a result waits", problems)
    assert problems() == [f"1 results wait for the controller {HOSTS[0]}, which this minion is not connected to"]

    pushed = first.push("second", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")})
    second.wait_applied(pushed, ["web1"])
    assert len(runs_of(second)) == 1

    first.start_controller()  # the minion goes back to it
    pair.wait_connected(first)
    first.wait_applied(pushed, ["web1"])
    assert len(runs_of(first)) == 1, "what the second has applied is not run again"
    calls = lambda: [run for run in first.history("web1") if run["kind"] == "call"]  # noqa: E731
    first.wait("the result of the job", lambda: [run["outcome"] for run in calls()] == ["ok"])
    shown = json.loads(first.saltern("show", calls()[0]["run_id"], "--out", "json").stdout)
    assert shown["value"] == "done"
    assert counted.read_text() == "ran\n"
    second.wait("the second to see it gone", lambda: not pair.connected(second))
    assert [run["kind"] for run in second.history("web1")].count("call") == 1


@pytest.mark.timeout(400)
def test_connected_to_both_the_first_decides(make_pair):
    pair = make_pair("minion-all-at-once.conf")
    first, second = pair.first, pair.second
    first.accept_all()
    second.accept_all()
    second.wait("web1 to ask the second", lambda: second.keys("accepted") or second.keys("pending"))
    if second.keys("pending"):
        second.saltern("key", "accept", "web1", "--yes")
    commit = first.push("first")
    for rig in (first, second):
        rig.wait_applied(commit, ["web1"])
    assert len(runs_of(first)) == 1
    assert runs_of(second) == []
    for rig in (first, second):
        assert json.loads(rig.saltern("run", "web1", "test.ping", "--out", "json").stdout) == {"web1": True}
    refused = second.saltern("sync", "web1", "--whole", check=False)
    assert refused.returncode != 0
    assert "it follows another controller" in refused.stdout

    first.kill("controller", children=True)
    pushed = first.push("second", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")})
    second.wait_applied(pushed, ["web1"])
    assert len(runs_of(second)) == 1
    first.start_controller()
    pair.wait_connected(first)
    first.wait_applied(pushed, ["web1"])
    assert len(runs_of(first)) == 1


@pytest.mark.timeout(400)
def test_a_controller_that_lags_brings_nothing_back(make_pair):
    """The second polls each hour, and has not fetched what the first has applied."""
    pair = make_pair("minion-all-at-once.conf", hourly=True)
    first, second = pair.first, pair.second
    first.accept_all()
    second.wait("web1 to ask the second", lambda: second.keys("accepted") or second.keys("pending"))
    second.saltern("key", "accept", "web1", "--yes")
    commit = first.push("first")
    second.saltern("remote", "fetch", check=False)
    for rig in (first, second):
        rig.wait_applied(commit, ["web1"])
    old = (first.root("web1") / "app.conf").read_text()
    pushed = first.push("second", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")})
    first.wait_applied(pushed)
    app = first.root("web1") / "app.conf"
    new = (app.read_text(), app.stat().st_mtime_ns)
    assert new[0] != old
    assert second.status()["web1"]["applied_revision"] == commit

    pair.server.answers = False
    first.kill("controller", children=True)
    second.wait("the second to wait", lambda: "waits until these remotes" in second.status()["web1"]["message"])
    assert runs_of(second) == []
    pair.server.answers = True
    second.wait_applied(pushed, ["web1"])
    assert runs_of(second) == [], "the first has applied it"
    assert (app.read_text(), app.stat().st_mtime_ns) == new
