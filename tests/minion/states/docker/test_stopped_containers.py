"""docker_container.stopped and .absent on a real engine; and engines that are not there."""

from pathlib import Path
from typing import Any

import pytest
from docker_engine import DockerServer

from highstate.files import MemoryFiles
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine


def test_containers_are_stopped(docker: Any, engine: DockerServer) -> None:
    engine.container("one"), engine.container("other"), engine.container("third", start=False)
    done = docker("container.stopped", "x", containers=["one", "other", "third"], shutdown_timeout=1)
    assert done.comment == "The following container(s) were stopped: one, other"
    assert done.changes["one"] == {"result": True, "state": {"old": "running", "new": "stopped"}}
    assert docker("container.stopped", "one").comment == "Container 'one' is not running"


def test_what_is_paused_or_absent(docker: Any, engine: DockerServer) -> None:
    engine.container("one")
    engine.client.pause("one")
    assert docker.once("container.stopped", "one").comment == "The following container(s) are paused: one"
    assert docker("container.stopped", "one", unpause=True).result is True
    assert docker.once("container.stopped", "none").comment == "The following container(s) are absent: none"
    none = docker("container.stopped", "none", error_on_absent=False)
    assert (none.result, none.comment) == (True, "Container 'none' is absent or not running")


def test_a_container_is_taken_away(docker: Any, engine: DockerServer) -> None:
    made = engine.container("one")
    refused = docker.once("container.absent", "one")
    assert refused.comment == "Container is running, set force to True to forcibly remove it"
    done = docker("container.absent", "one", force=True)
    assert (done.changes, done.comment) == ({"removed": [made]}, "Forcibly removed container 'one'")
    assert docker("container.absent", made[:12]).comment == f"Container '{made[:12]}' does not exist"


def test_without_an_engine_it_says_where_it_looked(tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}), opts={"docker.url": f"unix://{tmp_path}/none"})
    with pytest.raises(CallFailed, match=f"the Docker engine at unix://{tmp_path}/none does not answer"):
        Modules(Context(minion_id="m", opts=machine.opts)).call("docker.version")
