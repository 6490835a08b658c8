"""What jobs of a minion's schedule return: to their returners, from a spool on disk, whatever is away meanwhile."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from minion.agent.child_tasks import SPARE
from minion.processes import kill_tree
from minion.spool.returns import spool_file
from wire.messages import Call, Hello, KeepAlive, RunResult

MINE = """
import json, os

def returner(ret):
    if os.path.exists({place!r} + ".down"):
        raise OSError("the database is down")
    with open({place!r}, "a") as file:
        file.write(json.dumps(ret, default=str) + "\\n")
"""


def on_file(place):
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


def waiting(agent):
    """Names of the entries that are on disk."""
    if not spool_file(agent.cachedir).exists():
        return []
    with sqlite3.connect(f"file:{spool_file(agent.cachedir)}?mode=ro", uri=True) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM waiting ORDER BY seq")]


@pytest.fixture
def mine(tmp_path):
    """A folder with a returner that writes into the file `got`, or fails while there is `got.down`."""
    folder = tmp_path / "returners"
    folder.mkdir()
    (folder / "kept.py").write_text(MINE.format(place=str(tmp_path / "got")))
    return {"returner_dirs": [str(folder)]}


def once(tmp_path, **more):
    """A job that runs at once, and not again."""
    return {"function": "test.echo", "args": ["hi"], "days": 300, **more}


def test_a_job_is_returned_with_salts_keys(controller, agents, mine, tmp_path):
    options = {"return_config": "other", "return_kwargs": {"db": 5}, "metadata": {"why": "nightly"}}
    agents(**mine, schedule={"j": once(tmp_path, returner=["kept", "rawfile_json"], **options)},
           **{"rawfile_json.filename": str(tmp_path / "raw")}).start()  # fmt: skip
    (ret,) = controller.wait(lambda: on_file(tmp_path / "got"), "the returner")
    (raw,) = controller.wait(lambda: on_file(tmp_path / "raw"), "the other returner")
    assert raw == ret
    metadata = ret.pop("metadata")
    assert {key: ret[key] for key in ("fun", "fun_args", "return", "retcode", "success", "schedule", "id")} == {
        "fun": "test.echo", "fun_args": ["hi"], "return": "hi", "retcode": 0, "success": True, "schedule": "j",
        "id": "web1",
    }  # fmt: skip
    assert (ret["ret_config"], ret["ret_kwargs"]) == ("other", {"db": 5})
    assert metadata.pop("why") == "nightly"
    assert sorted(metadata) == ["_TOS", "_TS", "_TT"]
    result = controller.result(ret["jid"])
    assert (result.schedule, result.metadata["why"]) == ("j", "nightly")


def test_a_job_without_a_controller_is_returned(controller, agents, mine, tmp_path):
    controller.accepts = False
    agents(**mine, schedule={"j": once(tmp_path, returner="kept", return_job=False)}).start()
    (ret,) = controller.wait(lambda: on_file(tmp_path / "got"), "the returner")
    assert (ret["schedule"], ret["return"]) == ("j", "hi")


def test_schedule_returner_gets_what_all_jobs_return_and_no_call(controller, agents, mine, tmp_path):
    agents(**mine, schedule_returner="kept", schedule={"j": once(tmp_path)}).start()
    controller.next(Hello)
    controller.send(Call(run_id="c1", fun="test.ping"))
    assert controller.result("c1").value is True
    assert [ret["schedule"] for ret in controller.wait(lambda: on_file(tmp_path / "got"), "the job")] == ["j"]


def test_a_failure_is_returned(controller, agents, mine, tmp_path):
    agents(**mine).start()
    controller.next(Hello)
    controller.send(Call(run_id="c1", fun="test.nothing_of_that_name", returners=("kept",)))
    (ret,) = controller.wait(lambda: on_file(tmp_path / "got"), "the returner")
    assert (ret["success"], ret["retcode"], ret["return"]) == (False, 1, controller.result("c1").error)


def test_what_a_returner_does_not_take_waits_and_is_told(controller, agents, mine, tmp_path):
    (tmp_path / "got.down").touch()
    agent = agents(**mine).start()
    controller.next(Hello)
    for number in range(3):
        controller.send(Call(run_id=f"c{number}", fun="test.echo", args=(number,), returners=("kept",)))
        assert controller.result(f"c{number}").value == number  # the controller has it at once
    said = "returner kept fails, what it has to get waits on disk: OSError: the database is down"
    controller.wait(lambda: any(said in one.problems for one in controller.all(KeepAlive)), "the problem")
    assert len(waiting(agent)) == 3
    (tmp_path / "got.down").unlink()
    controller.wait(lambda: len(on_file(tmp_path / "got")) == 3, "all of them")
    assert sorted(ret["return"] for ret in on_file(tmp_path / "got")) == [0, 1, 2]
    controller.wait(lambda: controller.all(KeepAlive)[-1].problems == (), "the problem to go")
    assert waiting(agent) == []


def test_a_returner_that_fails_does_not_hold_up_another(controller, agents, mine, tmp_path):
    (tmp_path / "got.down").touch()
    raw = tmp_path / "raw"
    agents(**mine, **{"rawfile_json.filename": str(raw)}).start()
    controller.next(Hello)
    controller.send(Call(run_id="c1", fun="test.ping", returners=("kept", "no_such_returner", "rawfile_json")))
    (ret,) = controller.wait(lambda: on_file(raw), "the one that works")
    assert ret["jid"] == "c1"


def test_kill_9_loses_nothing(controller, agents, mine, tmp_path):
    """Of the agent, its worker and what delivers, again and again while jobs run and their returner goes away."""
    job = {"function": "cmd.run", "args": [f"echo $$ >> {tmp_path}/ran; echo said"], "seconds": 1, "returner": "kept"}
    agent = agents(**mine, schedule={"j": job}).start()
    down = tmp_path / "got.down"
    for number in range(6):
        down.touch() if number % 2 else down.unlink(missing_ok=True)
        before = len(on_lines(tmp_path / "ran"))
        controller.wait(lambda before=before: len(on_lines(tmp_path / "ran")) > before, "a run")
        kill_all(agent)
        agent.start()
    down.unlink(missing_ok=True)
    begun = len(on_lines(tmp_path / "ran"))
    told = {result.run_id for result in controller.all(RunResult)}
    controller.wait(lambda: told <= {ret["jid"] for ret in on_file(tmp_path / "got")}, "all that the controller has")
    controller.wait(lambda: len({ret["jid"] for ret in on_file(tmp_path / "got")}) >= begun, "all that were begun")


def kill_all(agent):
    """At once, with whatever the agent has begun."""
    started = children(agent)
    agent.process.send_signal(signal.SIGSTOP)  # it begins nothing more meanwhile
    for pid in {*started, *children(agent)}:
        kill_tree(int(pid))
    agent.kill()


def on_lines(place):
    return place.read_text().splitlines() if place.exists() else []


def test_a_database_that_comes_later(controller, agents, tmp_path):
    redis = pytest.importorskip("redis")
    if (program := shutil.which("redis-server")) is None:
        pytest.skip("there is no redis-server")
    socket = tmp_path / "r.sock"
    agent = agents(**{"redis.unix_socket_path": str(socket)}, schedule={"j": once(tmp_path, returner="redis")}).start()
    result = controller.wait(lambda: controller.all(RunResult), "the result")[0]
    assert waiting(agent) == [result.run_id]
    command = [program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", tmp_path]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(unix_socket_path=str(socket)) as client:
            controller.wait(lambda: waiting(agent) == [], "the delivery")
            ret = json.loads(client.hget(f"ret:{result.run_id}", "web1"))
        assert (ret["return"], ret["schedule"]) == ("hi", "j")
    finally:
        server.terminate()
        server.wait()


def test_no_process_stays_for_a_returner_that_is_away(controller, agents, mine, tmp_path):
    (tmp_path / "got.down").touch()
    agent = agents(**mine).start()
    controller.next(Hello)
    controller.send(Call(run_id="c1", fun="test.ping", returners=("kept",)))
    controller.wait(lambda: re.search("event=returner_fails .*returner=kept", agent.logged()), "the third failure")
    controller.wait(lambda: children(agent) == [], "its processes to end")


def children(agent):
    """But for the worker that waits for the next run."""
    found = [path for path in Path("/proc").glob("[0-9]*") if parent(path) == agent.process.pid]
    return [path.name for path in found if name(path) != SPARE]


def name(path):
    try:
        return (path / "comm").read_text().strip()
    except OSError:
        return ""


def parent(path):
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
