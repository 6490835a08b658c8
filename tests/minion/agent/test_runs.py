"""Runs of an agent process against a real wire server: what is applied, answered, kept and resumed."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from highstate.files import blob_id
from highstate.types import state_title
from wire import patch
from wire.messages import (
    Call,
    CheckCalls,
    FindFile,
    GetBlob,
    Held,
    Hello,
    KeepAlive,
    Preview,
    ResyncRequired,
    RunProgress,
    RunResult,
    RunStarted,
)


def managed(path, **arguments):
    return ("file", "managed", str(path), arguments)


def oids(controller):
    return {"base": {path: blob_id(data) for path, data in controller.files.items()}}


def counting(tmp_path, name="count"):
    """A command that leaves one line each time it runs."""
    return f"echo ran >> {tmp_path / name}"


def count(tmp_path, name="count"):
    path = tmp_path / name
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_push_is_applied(controller, agents, desired_state, tmp_path):
    agent = agents().start()
    controller.next(Hello)
    controller.files["web/index.html"] = b"hello\n" * 400_000
    target = tmp_path / "out/index.html"
    desired = desired_state(
        managed(target, source="salt://web/index.html", makedirs=True, mode="0640"),
        managed(tmp_path / "templated", contents="x"),
        files=oids(controller),
    )
    digest = controller.desire(desired)
    controller.run("r1")

    controller.next(Held, digest=digest)
    controller.next(RunStarted, run_id="r1")
    result = controller.result("r1")

    assert result.outcome == "changed", result
    assert target.read_bytes() == controller.files["web/index.html"]
    assert [state["result"] for state in result.states.values()] == [True, True]
    assert list(result.states) == list(desired.chunks)
    assert not controller.all(FindFile)  # the document names the file
    assert len(controller.all(GetBlob)) == 3
    controller.run("r2")
    assert controller.result("r2").outcome == "ok"
    assert agent.stop() == 0


def test_only_the_wanted_chunks_run_and_requisites_on_others_hold(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    first = managed(tmp_path / "a", contents="a")
    second = managed(tmp_path / "b", contents="b", require=[{"file": str(tmp_path / "a")}, {"sls": "web"}])
    desired = desired_state(first, second)
    controller.desire(desired)
    controller.run("r1", keys=(list(desired.chunks)[1],))
    result = controller.result("r1")
    assert list(result.states) == [list(desired.chunks)[1]]
    assert result.outcome == "changed", result
    assert (tmp_path / "b").exists()
    assert not (tmp_path / "a").exists()

    controller.run("r2", keys=("no such key",))
    assert controller.result("r2").outcome == "error"
    assert "no such key" in controller.result("r2").error


def test_test_true_changes_nothing(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.desire(desired_state(managed(tmp_path / "a", contents="a")))
    controller.run("r1", test=True)
    assert controller.result("r1").outcome == "pending"
    assert not (tmp_path / "a").exists()


def test_a_repeated_run_id_is_answered_without_running_again(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.desire(desired_state(("cmd", "run", counting(tmp_path))))
    controller.run("r1")
    first = controller.result("r1")
    controller.run("r1")
    controller.wait(lambda: len(controller.all(RunResult, run_id="r1")) == 2)
    assert controller.all(RunResult)[1] == first
    assert count(tmp_path) == 1


def test_a_patch_that_does_not_fit_asks_for_the_whole_and_the_run_waits(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.document, controller.digest = {"another": "document"}, "0" * 64
    desired = desired_state(managed(tmp_path / "a", contents="a"))
    controller.desire(desired)
    controller.run("r1")
    controller.next(ResyncRequired, held="")
    controller.desire(desired, whole=True)
    assert controller.result("r1").outcome == "changed"


def test_a_run_that_waits_for_its_document_is_begun_no_more_once_it_was_asked_about(
    controller, agents, desired_state, tmp_path
):
    agents().start()
    controller.next(Hello)
    desired = desired_state(managed(tmp_path / "a", contents="a"))
    controller.document, controller.digest = {"another": "document"}, "0" * 64
    controller.desire(desired)
    controller.run("r1")
    controller.next(ResyncRequired, held="")
    controller.send(CheckCalls(run_ids=("r1",)))
    assert controller.result("r1").ending == "unreachable"
    controller.desire(desired, whole=True)
    controller.run("r2")
    assert controller.result("r2").outcome == "changed"
    assert len(controller.all(RunResult, run_id="r1")) == 1


def test_a_run_whose_document_was_replaced_is_answered(controller, agents, desired_state):
    agents().start()
    controller.next(Hello)
    controller.desire(desired_state(("test", "nop", "a")))
    controller.run("r1", digest="0" * 64, generation=1)
    controller.next(ResyncRequired)
    controller.desire(desired_state(("test", "nop", "b")))
    assert "was replaced by" in controller.result("r1").error


def test_a_result_is_kept_until_it_is_acknowledged(controller, agents, desired_state, tmp_path):
    controller.acknowledges = False
    agent = agents().start()
    controller.next(Hello)
    controller.desire(desired_state(("cmd", "run", counting(tmp_path))))
    controller.run("r1")
    first = controller.result("r1")
    agent.kill()
    controller.seen.clear()
    agent.start()
    assert controller.result("r1") == first
    agent.stop()
    controller.seen.clear()
    controller.acknowledges = True
    agent.start()
    assert controller.result("r1") == first
    controller.wait(lambda: not list((agent.cachedir / "runs").iterdir()), "the acknowledged result to go")
    agent.stop()
    controller.seen.clear()
    agent.start()
    controller.next(Hello)
    assert not controller.all(RunResult)
    assert count(tmp_path) == 1


def slow(tmp_path):
    """A command that runs until the test says go."""
    return f"echo ran >> {tmp_path}/slow; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"


def test_killed_in_the_middle_of_a_command(controller, agents, desired_state, tmp_path):
    """The orphan worker goes on; the restarted agent waits for it and reports what it did, once."""
    agent = agents().start()
    controller.next(Hello)
    controller.desire(desired_state(("cmd", "run", slow(tmp_path)), managed(tmp_path / "after", contents="x")))
    controller.run("r1")
    controller.wait(lambda: count(tmp_path, "slow"))
    agent.kill()
    agent.start()
    controller.wait(lambda: len(controller.all(Hello)) == 2)
    controller.run("r1")
    (tmp_path / "go").touch()

    result = controller.result("r1")

    assert result.outcome == "changed", result
    assert count(tmp_path, "slow") == 1
    controller.run("r2", keys=())
    assert controller.result("r2").outcome == "ok"
    assert len(controller.all(RunResult, run_id="r1")) == 1


def test_progress_is_told_while_a_run_goes_on(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    desired = desired_state(*(("test", "nop", f"n{number}") for number in range(500)), ("cmd", "run", slow(tmp_path)))
    controller.desire(desired)
    controller.run("r1")
    said = controller.next(RunProgress, run_id="r1", key=list(desired.chunks)[-1])
    assert (said.done, said.total) == (500, 501)
    assert said.seconds > 0
    controller.run("r2", keys=())
    (tmp_path / "go").touch()
    controller.result("r2")
    told = controller.all(RunProgress)
    assert len(told) <= controller.result("r1").seconds + 1
    assert {one.run_id for one in told} == {"r1"}


def test_without_state_events_no_progress_is_told(controller, agents, desired_state, tmp_path):
    agents(state_events=False).start()
    controller.next(Hello)
    controller.desire(desired_state(("cmd", "run", f"sleep 2.5; {counting(tmp_path)}")))
    controller.run("r1")
    assert controller.result("r1").outcome == "changed"
    assert not controller.all(RunProgress)


def test_runs_of_states_never_overlap_an_orphan(controller, agents, desired_state, tmp_path):
    agent = agents().start()
    controller.next(Hello)
    controller.desire(desired_state(("cmd", "run", slow(tmp_path)), ("cmd", "run", counting(tmp_path))))
    keys = list(controller.document["chunks"])
    controller.run("r1", keys=keys[:1])
    controller.wait(lambda: count(tmp_path, "slow"))
    agent.kill()
    agent.start()
    controller.wait(lambda: len(controller.all(Hello)) == 2)
    controller.run("r2", keys=keys[1:])
    controller.wait(lambda: re.search("event=run_found .*run_id=r1", agent.logged()))
    assert count(tmp_path) == 0
    (tmp_path / "go").touch()
    assert controller.result("r2").outcome == "changed"
    results = [result.run_id for result in controller.all(RunResult)]
    assert results == ["r1", "r2"]


def watched_run(tmp_path):
    """A file, a command that never ends the first time, and a command that runs when the file changes."""
    hang = f"if [ ! -e {tmp_path}/hung ]; then touch {tmp_path}/hung; sleep 300; fi"
    return (
        managed(tmp_path / "conf", contents="new"),
        ("cmd", "run", hang),
        ("cmd", "run", counting(tmp_path), {"onchanges": [{"file": str(tmp_path / "conf")}], "order": 9}),
    )


def test_worker_and_agent_killed_after_a_change(controller, agents, desired_state, tmp_path):
    """The file was written, its watcher did not run: the resumed run owes it that."""
    agent = agents().start()
    controller.next(Hello)
    controller.desire(desired_state(*watched_run(tmp_path)))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "hung").exists())
    agent.kill()
    agent.end()
    agent.start()
    result = controller.result("r1")
    assert result.outcome == "changed", result
    assert count(tmp_path) == 1
    assert next(iter(result.states.values()))["changes"]
    agent.stop()
    assert len(controller.all(RunResult, run_id="r1")) == 1


def test_a_worker_that_is_killed_is_followed_by_another(controller, agents, desired_state, tmp_path):
    agent = agents().start()
    controller.next(Hello)
    controller.desire(desired_state(*watched_run(tmp_path)))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "hung").exists())
    agent.end_workers()
    assert controller.result("r1").outcome == "changed"
    assert count(tmp_path) == 1


def test_a_trigger_that_could_not_be_acted_on_is_told_until_it_is(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    restart = ("cmd", "run", f"test -e {tmp_path}/fixed", {"onchanges": [{"file": str(tmp_path / "conf")}]})
    desired = desired_state(managed(tmp_path / "conf", contents="new"), restart)
    pending_triggers = list(desired.chunks)[1]
    controller.desire(desired)
    controller.run("r1")
    assert controller.result("r1").outcome == "failed"
    controller.next(KeepAlive, pending_triggers=(pending_triggers,))
    controller.send(Call(run_id="c1", fun="state.pending"))
    assert controller.result("c1").value == [state_title(pending_triggers)]
    (tmp_path / "fixed").touch()
    controller.seen.clear()
    controller.run("r2")
    assert controller.result("r2").outcome == "changed"
    controller.next(KeepAlive, pending_triggers=())
    controller.send(Call(run_id="c2", fun="state.pending"))
    assert controller.result("c2").value == []


def hanging_run(tmp_path):
    return (
        managed(tmp_path / "conf", contents="new"),
        ("cmd", "run", f"touch {tmp_path}/hung; exec sleep 7531"),
        ("cmd", "run", counting(tmp_path), {"onchanges": [{"file": str(tmp_path / "conf")}], "order": 9}),
    )


def test_sigterm_ends_a_run_for_good_after_its_grace(controller, agents, desired_state, tmp_path):
    agent = agents(stop_grace=0.5).start()
    controller.next(Hello)
    controller.desire(desired_state(*hanging_run(tmp_path)))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "hung").exists())
    [worker] = agent.workers()
    os.kill(worker, signal.SIGTERM)
    result = controller.result("r1")
    assert (result.outcome, result.error) == (
        "error",
        "the run was ended by SIGTERM: 1 of 3 states were not run",
    )
    conf, hung, last = result.states.values()
    assert (conf["result"], hung["result"], last["result"]) == (True, False, False)
    assert last["comment"] == "Not run: the run was ended by SIGTERM"
    assert last["__state_ran__"] is False
    assert count(tmp_path) == 0
    controller.desire(desired_state(*hanging_run(tmp_path)[::2]))
    controller.run("r2")
    assert controller.result("r2").outcome == "changed"
    assert count(tmp_path) == 1, "what the change triggered is remembered"


def test_a_run_is_left_off_when_the_agent_stops_and_taken_up_again(controller, agents, desired_state, tmp_path):
    agent = agents(stop_grace=0.5).start()
    controller.next(Hello)
    hang = f"[ -e {tmp_path}/hung ] || {{ touch {tmp_path}/hung; exec sleep 7532; }}; {counting(tmp_path, 'done')}"
    first, _, last = hanging_run(tmp_path)
    controller.desire(desired_state(first, ("cmd", "run", hang), last))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "hung").exists())
    assert agent.stop() == 0
    controller.wait(lambda: not agent.workers(), "the worker to leave off")
    assert not controller.all(RunResult)
    agent.start()
    result = controller.result("r1")
    assert result.outcome == "changed", result
    assert [state["result"] for state in result.states.values()] == [True, True, True]
    assert (count(tmp_path, "done"), count(tmp_path)) == (1, 1)


def test_a_job_that_is_killed_is_over(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.desire(desired_state(*hanging_run(tmp_path)))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "hung").exists())
    controller.send(Call(run_id="c1", fun="saltutil.kill_job", args=("r1",)))
    assert controller.result("c1").value.startswith("Signal 9 sent to job r1")
    assert controller.result("r1").error == "the run was ended by saltutil.kill_job"
    controller.run("r2", keys=())
    assert controller.result("r2").outcome == "ok"


def test_a_run_that_kills_its_worker_each_time_is_given_up(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.desire(desired_state(("cmd", "run", f"{counting(tmp_path)}; kill -9 $PPID")))
    controller.run("r1")
    result = controller.result("r1")
    assert result.outcome == "error"
    assert "cut off 3 times at the same place" in result.error
    assert "kill -9 $PPID" in result.error
    assert count(tmp_path) == 3


def test_killed_before_the_run_began(controller, agents, desired_state, tmp_path):
    """r1 keeps the worker busy, r2 waits; after a kill of everything both are done, in order."""
    agent = agents().start()
    controller.next(Hello)
    controller.desire(desired_state(*watched_run(tmp_path)))
    keys = list(controller.document["chunks"])
    controller.run("r1", keys=keys[1:2])
    controller.run("r2", keys=keys[:1])
    controller.wait(lambda: (tmp_path / "hung").exists() and (agent.cachedir / "runs/r2/request").exists())
    agent.kill()
    agent.end()
    agent.start()
    assert controller.result("r2").outcome == "changed"
    assert [result.run_id for result in controller.all(RunResult)] == ["r1", "r2"]


def test_drift_is_found_with_the_controller_away_and_reported_when_it_is_back(
    controller, agents, desired_state, tmp_path
):
    agent = agents().start()
    controller.next(Hello)
    path = tmp_path / "conf"
    controller.desire(desired_state(managed(path, contents="right"), drift={"interval": 1}))
    controller.run("r1")
    controller.result("r1")
    clean = controller.wait(lambda: controller.all(RunResult, kind="drift", outcome="ok"))[0]
    assert clean.run_id.startswith("drift-web1-")
    assert clean.digest == controller.digest
    controller.server.stop()
    path.write_text("tampered")
    before = agent.logged().count("outcome=pending")
    controller.wait(lambda: agent.logged().count("outcome=pending") >= before + 2, "two checks without a controller")
    controller.start()
    found = controller.wait(lambda: controller.all(RunResult, kind="drift", outcome="pending"))
    assert "diff" in next(iter(found[0].states.values()))["changes"]
    assert path.read_text() == "tampered"


def test_two_agents_with_one_cachedir(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    running, pid = agent.process, agent.process.pid
    agent.start()
    assert agent.process.wait(30) == 64
    agent.process = running
    assert f"another agent (process {pid})" in agent.logged()


@pytest.mark.alone
def test_a_push_reaches_the_disk_quickly(controller, agents, desired_state, tmp_path, capsys):
    """Prints; judges no time."""
    agents().start()
    controller.next(Hello)
    took = []
    for number in range(5):
        controller.desire(desired_state(managed(tmp_path / "a", contents=f"{number}")))
        start = time.monotonic()
        controller.run(f"r{number}")
        assert controller.result(f"r{number}").outcome == "changed"
        took.append((time.monotonic() - start) * 1000)
    with capsys.disabled():
        sys.stdout.write(f"\nrun of one file: {sorted(took)[2]:.0f} ms, median of 5\n")


@pytest.mark.alone
def test_an_idle_agent_is_small(controller, agents, capsys):
    """Prints the PSS; holds none of what only workers need."""
    agent = agents().start_alone()
    controller.next(Hello)
    process = Path("/proc") / str(agent.process.pid)
    rollup = (process / "smaps_rollup").read_text()
    pss = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    mapped = (process / "maps").read_text()
    with capsys.disabled():
        sys.stdout.write(f"\nPSS of an idle agent: {pss / 1024:.1f} MiB\n")
    assert "_yaml" not in mapped
    assert "psutil" not in mapped
    assert "_asyncio" not in mapped


def test_a_preview_changes_nothing_and_holds_nothing(controller, agents, desired_state, tmp_path):
    agent = agents().start()
    controller.next(Hello)
    held = controller.desire(desired_state(managed(tmp_path / "a", contents="a")))
    other = desired_state(managed(tmp_path / "b", contents="b")).as_document()
    difference = patch.diff(controller.document, other)
    controller.send(Preview(run_id="p1", base=held, digest=patch.digest(other), patch=difference))
    result = controller.result("p1")
    assert (result.kind, result.outcome, list(result.states)) == ("preview", "pending", list(other["chunks"]))
    assert not (tmp_path / "b").exists()
    controller.send(Preview(run_id="p2", base="0" * 64, digest=patch.digest(other), patch=difference))
    assert "preview cannot be made" in controller.result("p2").error
    agent.stop()
    agent.start()
    assert controller.wait(lambda: controller.all(Hello)[1:])[0].held == held


def test_a_file_that_the_document_does_not_name_is_asked_for(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.files["web/late"] = b"late"
    controller.desire(desired_state(managed(tmp_path / "a", source="salt://web/late")))
    controller.run("r1")
    assert controller.result("r1").outcome == "changed"
    assert controller.next(FindFile).path == "web/late"
    assert (tmp_path / "a").read_bytes() == b"late"


def test_a_question_waits_for_a_controller_that_restarts(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.files["web/late"] = b"late"
    wait = f"touch {tmp_path}/begun; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    controller.desire(desired_state(("cmd", "run", wait), managed(tmp_path / "a", source="salt://web/late")))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "begun").exists())
    controller.server.stop()
    (tmp_path / "go").touch()
    controller.start()
    assert controller.result("r1").outcome == "changed"


def test_a_template_is_rendered_with_pillar_and_grains_and_its_import(controller, agents, desired_state, tmp_path):
    agents(grains={"role": "web"}).start()
    controller.next(Hello)
    controller.files = {
        "web/conf.j2": b'{% from "web/map.jinja" import port %}{{ grains.role }} {{ pillar.a }} {{ port }} {{ extra }}',
        "web/map.jinja": b"{% set port = 8080 %}",
    }
    template = managed(tmp_path / "c", source="salt://web/conf.j2", template="jinja", context={"extra": "x"})
    controller.desire(desired_state(template, pillar={"a": 1}, files=oids(controller)))
    controller.run("r1")
    assert controller.result("r1").outcome == "changed", controller.result("r1")
    assert (tmp_path / "c").read_text() == "web 1 8080 x"
    assert not controller.all(FindFile)
