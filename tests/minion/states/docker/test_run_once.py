"""docker_container.run on a real engine."""

from typing import Any

import pytest
from docker_engine import IMAGE, DockerServer


def test_a_container_is_run_to_its_end(docker: Any, engine: DockerServer) -> None:
    once = {"image": IMAGE, "command": "sh -c 'echo out; echo err >&2'"}
    foretold = docker.once("container.run", "job", test=True, **once)
    assert (foretold.result, foretold.comment) == (None, "Container would be run")
    assert engine.client.containers(all=True) == []
    done = docker.once("container.run", "job", **once)
    assert (done.result, done.comment) == (True, "Container ran and exited with a return code of 0")
    assert (done.changes["ExitCode"], done.changes["Name"]) == (0, "job")
    assert sorted(done.changes["Logs"].splitlines()) == ["err", "out"]
    for test in (True, False):
        refused = docker.once("container.run", "job", test=test, **once)
        assert refused.result is False
        assert refused.comment == "Container 'job' exists. Run with replace=True to remove the existing container"
    again = docker.once("container.run", "job", replace=True, rm=True, **once)
    assert again.changes["Replaces"] == [done.changes["Id"]]
    assert engine.client.containers(all=True) == []


def test_an_exit_code_is_a_failure_unless_it_may_be(docker: Any, engine: DockerServer) -> None:
    once = {"image": IMAGE, "command": "sh -c 'exit 3'", "auto_remove": True}
    failed = docker.once("container.run", "job", **once)
    assert (failed.result, failed.comment) == (False, "Container ran and exited with a return code of 3")
    assert failed.changes["ExitCode"] == 3
    allowed = docker.once("container.run", "job", failhard=False, **once)
    assert (allowed.result, allowed.comment) == (True, "Container ran and exited with a return code of 3")


def test_in_the_background_with_a_network(docker: Any, engine: DockerServer) -> None:
    docker("network.present", "net", subnet="10.99.3.0/24")
    once = {"image": IMAGE, "command": "sleep 600", "stop_signal": "KILL", "networks": [{"net": [{"aliases": "job"}]}]}
    foretold = docker.once("container.run", "job", bg=True, test=True, **once)
    assert foretold.comment == "Container would be run in the background"
    done = docker.once("container.run", "job", bg=True, **once)
    assert (done.result, done.comment) == (True, "Container was run in the background")
    assert "net" in engine.client.inspect_container("job")["NetworkSettings"]["Networks"]
    runs = docker.once("container.run", "job", bg=True, replace=True, **once)
    assert "exists and is running" in runs.comment
    assert docker.once("container.run", "job", bg=True, replace=True, force=True, **once).result is True


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "The 'image' argument is required"),
        ({"image": IMAGE, "rm": True, "auto_remove": True}, "alias"),
        ({"image": IMAGE, "networks": ["lost"]}, "The following networks are not present: lost"),
    ],
)
def test_what_cannot_be_run(docker: Any, engine: DockerServer, given: dict[str, Any], said: str) -> None:
    for test in (True, False):
        refused = docker.once("container.run", "job", test=test, **given)
        assert refused.result is False
        assert said in refused.comment


def test_a_command_that_is_not_there(docker: Any, engine: DockerServer) -> None:
    failed = docker.once("container.run", "job", image=IMAGE, command="none", rm=True)
    assert failed.result is False
    assert failed.comment.startswith("Encountered error running container: Error 4")
    assert engine.client.containers(all=True) == []
