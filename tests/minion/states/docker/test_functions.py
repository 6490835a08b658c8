"""Functions docker.* of containers on a real engine."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docker_engine import IMAGE, DockerServer

from minion.execution import CallFailed, Context, Modules


@pytest.fixture
def context(engine: DockerServer, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    return Context(minion_id="web1")


@pytest.fixture
def call(context: Context) -> Callable[..., Any]:
    """call("ps", all=True)."""
    return lambda fun, *args, **kwargs: Modules(context).call(f"docker.{fun}", args, kwargs)


def test_the_life_of_a_container(call: Any, engine: DockerServer) -> None:
    made = call("create", IMAGE, name="one", command="sleep 600", stop_signal="KILL", environment={"A": "b"})
    assert made["Name"] == "one"
    assert (call("exists", "one"), call("exists", "two"), call("state", "one")) == (True, False, "stopped")
    assert call("start", "one") == {"result": True, "state": {"old": "stopped", "new": "running"}}
    assert call("start", "one")["comment"] == "Container 'one' already running"
    assert call("list_containers") == ["one"]
    assert list(call("ps")) == [made["Id"]]
    assert call("ps", verbose=True)[made["Id"]]["Info"]["Config"]["Env"] == ["A=b"]
    assert call("pid", "one") > 0
    assert any("sleep 600" in " ".join(one.values()) for one in call("top", "one"))
    assert call("pause", "one") == {"result": True, "state": {"old": "running", "new": "paused"}}
    assert call("start", "one")["comment"] == "Container 'one' is paused, cannot start"
    assert "run with unpause=True" in call("stop", "one")["comment"]
    assert call("unpause", "one")["state"] == {"old": "paused", "new": "running"}
    assert call("restart", "one", timeout=1)["restarted"] is True
    assert call("stop", "one", timeout=1)["state"] == {"old": "running", "new": "stopped"}
    assert call("pause", "one")["comment"] == "Container 'one' is stopped, cannot pause"
    assert call("unpause", "one")["comment"] == "Container 'one' is stopped, cannot unpause"
    assert call("wait", "one", ignore_already_stopped=True)["comment"] == "Container 'one' already stopped"
    assert call("wait", "none")["comment"] == "Container 'none' absent"
    assert call("rename", "one", "two") is True
    assert call("start", "two")["result"] is True
    with pytest.raises(CallFailed, match="use force=True to forcibly"):
        call("rm", "two")
    assert call("kill", "two")["state"]["new"] == "stopped"
    call("start", "two")
    assert call("signal", "two", "KILL") is True
    assert call("wait", "two")["exit_status"] == 137
    call("start", "two")
    assert call("rm", "two", stop=True, timeout=1) == [made["Id"]]
    assert call("list_containers", all=True) == []
    with pytest.raises(CallFailed, match="No such container"):
        call("state", "two")


def test_a_container_is_run_and_its_output_read(call: Any, engine: DockerServer) -> None:
    done = call("run_container", IMAGE, name="job", command="sh -c 'echo out; exit 4'")
    assert (done["ExitCode"], done["Logs"]) == (4, "out\n")
    assert call("logs", "job", tail=1) == "out\n"
    assert call("logs", "job", stdout=False) == ""
    with pytest.raises(CallFailed, match="seconds since the epoch"):
        call("logs", "job", since="yesterday")
    assert call("run_container", IMAGE, name="job", command="true", replace=True, rm=True)["Replaces"] == [done["Id"]]
    assert call("inspect_container", call("run_container", IMAGE, command="true")["Id"])["State"]["ExitCode"] == 0


def test_commands_in_a_container(call: Any, context: Context, engine: DockerServer) -> None:
    engine.container("one")
    assert call("run", "one", "echo $((1 + 1)) && echo e >&2") == "2\ne"
    assert call("run_stdout", "one", "echo 'a b'", python_shell=False) == "a b"
    assert call("run_stderr", "one", "echo e >&2") == "e"
    assert call("retcode", "one", "exit 7") == 7
    assert context.retcode == 7
    assert call("retcode", "one", "exit 7", ignore_retcode=True) == 7
    assert context.retcode == 0
    done = call("run_all", "one", "cat /none")
    assert (done["retcode"], "No such file" in done["stderr"]) == (1, True)
    with pytest.raises(CallFailed, match="is not running"):
        call("kill", "one")
        call("run", "one", "true")


def test_files_of_a_container(call: Any, engine: DockerServer, tmp_path: Path) -> None:
    engine.container("one")
    (tmp_path / "f").write_bytes(b"\x00data")
    assert call("copy_to", "one", str(tmp_path / "f"), "/new/f", makedirs=True) is True
    assert call("copy_from", "one", "/new/f", str(tmp_path / "back" / "f"), makedirs=True) is True
    assert (tmp_path / "back" / "f").read_bytes() == b"\x00data"
    assert "/new/f" in call("diff", "one")["Added"]
    with pytest.raises(CallFailed, match="already exists"):
        call("copy_to", "one", str(tmp_path / "f"), "/new/f")
    with pytest.raises(CallFailed, match="Directory /none does not exist on container"):
        call("copy_to", "one", str(tmp_path / "f"), "/none/f")
    with pytest.raises(CallFailed, match="Source file /none does not exist"):
        call("copy_from", "one", "/none", str(tmp_path / "x"))
    with pytest.raises(CallFailed, match="must be a regular file"):
        call("copy_from", "one", "/new", str(tmp_path / "x"))
    with pytest.raises(CallFailed, match="already exists"):
        call("copy_from", "one", "/new/f", str(tmp_path))


def test_ports(call: Any, engine: DockerServer) -> None:
    engine.container("one", start=False)
    assert call("port", "one") == {}
    assert call("port", "o*", 80) == {"one": {}}
    with pytest.raises(CallFailed, match=re.escape("Invalid private_port '80/icmp'")):
        call("port", "one", "80/icmp")
