"""Runs and calls of one worker: the engine and the functions put together, with a controller at the end of a socket."""

from __future__ import annotations

import socket
import threading

import pytest

from minion.config.settings import load_settings
from minion.execution.errors import CallFailed
from minion.processes import AgentPipe
from minion.spool.desired_state import FILE_NAME, DesiredState
from minion.spool.journal import RunFolders, RunJournal
from minion.spool.run_events import RunEventsOutbox
from minion.worker.executor import call_function, run_chunks
from minion.worker.request import ControllerClient, WorkerRequest
from minion.worker.termination import Stop
from wire import patch
from wire.codec import decode_to_controller, encode
from wire.messages import Call, DesiredUpdate, FactAnswer, GetMine, MineFound, Preview, Refused, Run, RunEvents


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "minion").write_text(f"id: web1\nroot_dir: {tmp_path}/root\n")
    made = load_settings(tmp_path)
    made.cachedir.mkdir(parents=True)
    return made


@pytest.fixture
def pipes():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield AgentPipe(ours), AgentPipe(theirs)


@pytest.fixture
def execute(settings, pipes):
    """execute(request, desired): what run_chunks gives for it."""

    def make(request, desired):
        folder = RunFolders(settings.cachedir).create(request, b"")
        job = WorkerRequest(folder=folder, settings=settings, grains={"id": "web1"})
        stop = Stop(1.0, has_agent=False)
        return run_chunks(job, request, desired, RunJournal(folder), ControllerClient(pipes[0]), stop)

    return make


@pytest.fixture
def call(settings, pipes):
    def make(fun, *args):
        request = Call(run_id="c1", fun=fun, args=args)
        job = WorkerRequest(
            folder=RunFolders(settings.cachedir).create(request), settings=settings, grains={"id": "web1", "os": "X"}
        )
        stop = Stop(1.0, has_agent=False)
        return call_function(job, request, ControllerClient(pipes[0]), stop, RunJournal(job.folder))

    return make


def run_of(desired, **fields):
    digest = patch.digest(desired.as_document())
    return Run(**{"run_id": "r1", "kind": "apply", "generation": 3, "digest": digest, **fields})


def test_a_run_does_what_the_document_says(execute, desired_state, tmp_path):
    desired = desired_state(("file", "managed", str(tmp_path / "a"), {"contents": "x"}), ("test", "nop", "n"))
    result = execute(run_of(desired), desired)
    assert (result.outcome, result.generation, len(result.states)) == ("changed", 3, 2)
    assert (tmp_path / "a").read_text() == "x\n"


def test_a_test_run_changes_nothing(execute, desired_state, tmp_path):
    desired = desired_state(("file", "managed", str(tmp_path / "a"), {"contents": "x"}))
    assert execute(run_of(desired, test=True), desired).outcome == "pending"
    assert not (tmp_path / "a").exists()


def test_states_that_act_each_time_are_no_drift(execute, desired_state, tmp_path):
    each_time = (
        ("module", "run", "test.ping"),
        ("cmd", "run", "true"),
        ("event", "send", "a/b"),
        ("test", "succeed_with_changes", "t"),
    )
    desired = desired_state(*each_time)
    found = execute(run_of(desired, kind="drift", test=True), desired)
    assert (found.outcome, {state["result"] for state in found.states.values()}) == ("ok", {True})
    there = desired_state(*each_time, ("file", "managed", str(tmp_path / "a"), {"contents": "x"}))
    found = execute(run_of(there, run_id="r2", kind="drift", test=True), there)
    assert [key.split("_|-")[0] for key, state in found.states.items() if state["result"] is None] == ["file"]


def test_a_command_with_a_condition_is_drift_when_it_has_to_act(execute, desired_state, tmp_path):
    desired = desired_state(("cmd", "run", "true", {"creates": str(tmp_path / "made")}))
    assert execute(run_of(desired, kind="drift", test=True), desired).outcome == "pending"
    (tmp_path / "made").touch()
    assert execute(run_of(desired, run_id="r2", kind="drift", test=True), desired).outcome == "ok"


def test_chunks_that_are_not_asked_for_count_as_done(execute, desired_state, tmp_path):
    desired = desired_state(
        ("file", "managed", str(tmp_path / "first"), {"contents": "x"}),
        (
            "file",
            "managed",
            str(tmp_path / "second"),
            {"contents": "y", "require": [{"file": str(tmp_path / "first")}]},
        ),
    )
    wanted = [key for key in desired.chunks if "second" in key]
    assert list(execute(run_of(desired, keys=tuple(wanted)), desired).states) == wanted
    assert not (tmp_path / "first").exists()
    assert (tmp_path / "second").read_text() == "y\n"


def test_a_preview_evaluates_conditions_of_the_live_document_alone(execute, settings, desired_state, tmp_path):
    live = desired_state(("cmd", "run", "a", {"onlyif": "true"})).as_document()
    DesiredState(settings.cachedir).accept(
        DesiredUpdate(generation=1, base="", digest=patch.digest(live), patch=patch.diff(None, live))
    )
    assert (settings.cachedir / FILE_NAME).exists()
    branch = desired_state(
        ("cmd", "run", "a", {"onlyif": "true"}), ("cmd", "run", "b", {"onlyif": f"touch {tmp_path}/made"})
    )
    document = branch.as_document()
    request = Preview(run_id="p1", base="", digest=patch.digest(document), patch=patch.diff(None, document))
    result = execute(request, branch)
    assert result.outcome == "pending"
    doubtful = [one for one in result.states.values() if "not evaluated in a preview" in str(one)]
    assert len(doubtful) == 1
    assert not (tmp_path / "made").exists()


def test_a_preview_answers_what_conditions_of_a_branch_ask_of_paths_and_data(execute, desired_state, tmp_path):
    (tmp_path / "there").write_text("x")
    asked = {
        "runs": {"onlyif": f"test -f {tmp_path}/there && [ 3 -lt 10 ]", "unless": "test a = b || false"},
        "kept": {"unless": f"test -e {tmp_path}/there"},
        "kept by a function": {"onlyif": [{"fun": "file.directory_exists", "path": f"{tmp_path}/there"}]},
        "runs by a grain": {"onlyif": [{"fun": "match.grain", "tgt": "id:web1"}]},
        "made": {"creates": f"{tmp_path}/no"},
        "sees what is made": {"onlyif": [{"fun": "file.file_exists", "path": f"{tmp_path}/new"}]},
        "not known": {"onlyif": f"grep -q x {tmp_path}/there"},
        "not as another user": {"onlyif": f"test -f {tmp_path}/there", "runas": "nobody"},
    }
    states = [("file", "managed", f"{tmp_path}/new", {"contents": "x"})]
    branch = desired_state(*states, *(("test", "succeed_with_changes", name, more) for name, more in asked.items()))
    document = branch.as_document()
    request = Preview(run_id="p1", base="", digest=patch.digest(document), patch=patch.diff(None, document))
    found = {one["__id__"]: one for one in execute(request, branch).states.values()}
    assert [name for name in asked if found[name]["result"] is True] == ["kept", "kept by a function"]
    assert [name for name in asked if found[name].get("warnings")] == ["not known", "not as another user"]


def test_a_preview_tells_what_the_check_after_the_push_would_find(execute, desired_state, tmp_path):
    asks = [{"fun": "file.file_exists", "path": f"{tmp_path}/made"}]
    live = desired_state(
        ("file", "managed", f"{tmp_path}/drifted", {"contents": "as it shall be"}),
        ("cmd", "run", "each time", {}),
        ("environ", "setenv", "ONE_RUN", {"value": "1"}),
        ("file", "managed", f"{tmp_path}/follows", {"contents": "x", "onlyif": asks}),
        ("file", "managed", f"{tmp_path}/made", {"contents": "by the push"}),
    )
    document = live.as_document()
    made = next(key for key, chunk in live.chunks.items() if chunk.name.endswith("made"))
    more = {"base": "", "digest": patch.digest(document), "patch": patch.diff(None, document), "keys": (made,)}
    names = lambda found: [key.rsplit("/")[-1].partition("_|-")[0] for key in found]  # noqa: E731
    assert execute(Preview(run_id="p1", **more), live).value is None
    result = execute(Preview(run_id="p2", check=True, **more), live)
    assert names(result.states) == ["made"]
    assert names(result.value) == ["drifted", "follows"]
    assert list(tmp_path.glob("made")) == []


def test_what_is_not_read_and_is_as_it_shall_be_changes_nothing_for_the_states_after_it(
    execute, desired_state, settings, tmp_path
):
    (tmp_path / "sometimes").write_text("x\n")
    (tmp_path / "sometimes").chmod(0o644)
    (tmp_path / "hard").hardlink_to(tmp_path / "sometimes")
    live = desired_state(
        ("file", "managed", f"{tmp_path}/made", {"contents": "by the push"}),
        ("file", "managed", f"{tmp_path}/sometimes", {"contents": "x", "unless": "false"}),
        ("file", "hardlink", f"{tmp_path}/hard", {"target": f"{tmp_path}/sometimes", "force": True}),
    )
    document = live.as_document()
    more = {"base": "", "digest": patch.digest(document), "patch": patch.diff(None, document)}
    DesiredState(settings.cachedir).accept(DesiredUpdate(generation=1, **more))
    request = Preview(run_id="p1", check=True, keys=(next(iter(live.chunks)),), **more)
    assert execute(request, live).value == {}


def test_a_preview_looks_for_cached_sources_where_a_run_keeps_them(execute, desired_state, settings):
    kept = settings.cachedir / "files/base/one"
    kept.parent.mkdir(parents=True)
    kept.write_text("x")
    branch = desired_state(("file", "not_cached", "salt://one", {}))
    document = branch.as_document()
    request = Preview(run_id="p1", base="", digest=patch.digest(document), patch=patch.diff(None, document))
    assert [one["result"] for one in execute(request, branch).states.values()] == [None]
    assert kept.exists()


def test_a_call_gives_its_value_and_its_events_are_on_disk(call, settings):
    assert call("grains.get", "os")[0] == "X"
    assert call("event.send", "a/b", {"c": 1}) == (True, "", 0)
    waiting = RunEventsOutbox()
    waiting.follow("c1", RunFolders(settings.cachedir).of("c1").events)
    assert waiting.due(0.0) == RunEvents(run_id="c1", first=0, end=1, events=(("a/b", {"c": 1}),))
    with pytest.raises(CallFailed, match="no-such"):
        call("service.start", "no-such")


@pytest.mark.parametrize(
    ("answer", "value", "error"),
    [
        (FactAnswer(value={"web2": "10.0.0.2"}), {"web2": "10.0.0.2"}, ""),
        (FactAnswer(error="no such target"), None, "no such target"),
        (None, None, "not-accepted"),
    ],
)
def test_the_mine_of_others_is_asked_of_the_controller(call, pipes, answer, value, error):
    asked = []

    def controller():
        question = decode_to_controller(pipes[1].receive())
        asked.append(question)
        found = Refused(message="not-accepted") if answer is None else MineFound(request=0, answer=answer)
        pipes[1].send(encode(found))

    thread = threading.Thread(target=controller)
    thread.start()
    try:
        if error:
            with pytest.raises(CallFailed, match=error):
                call("mine.get", "web*", "test.ip")
        else:
            assert call("mine.get", "web*", "test.ip")[0] == value
    finally:
        thread.join()
    assert isinstance(asked[0], GetMine)
