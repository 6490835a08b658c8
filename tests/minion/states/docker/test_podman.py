"""docker_* on podman, by its socket for Docker's API: a plan is empty after the act.

All other tests of this folder run on it with SALTERN_DOCKER_ENGINE=podman; docs/containers.md says which differ.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker_engine import IMAGE, DockerServer

from minion.providers.docker.podman import container_as_docker, host_as_docker

PLAIN: dict[str, Any] = {"image": IMAGE, "command": "sleep 600", "shutdown_timeout": 1}


@pytest.fixture(scope="module")
def running_engine() -> Iterator[DockerServer]:
    """Podman."""
    made = DockerServer("podman")
    yield made
    made.close()


def settled(docker: Any, **given: Any) -> dict[str, Any]:
    """The changes of a run after which there is nothing to do."""
    done = docker.once("container.running", "web", **{**PLAIN, **given})
    assert done.result is True, done.comment
    again = docker.once("container.running", "web", test=True, **{**PLAIN, **given})
    assert (again.result, again.changes) == (True, {})
    return dict(done.changes)


def test_a_container_stays_as_it_is_asked_for(docker: Any, engine: DockerServer) -> None:
    assert settled(docker)["state"] == {"old": None, "new": "running"}
    more = {
        "environment": [{"WORD": "sesame"}], "binds": ["/tmp:/data:ro"], "port_bindings": ["127.0.0.1:18081:80"],
        "restart_policy": "on-failure:3", "stop_signal": "SIGUSR1", "cap_add": ["NET_ADMIN"],
        "ulimits": ["nofile=64:128", "nproc=64:128"],
    }  # fmt: skip
    changed = settled(docker, **more)["container"]
    assert {"Env", "StopSignal"} <= changed["Config"].keys()
    assert {"Binds", "CapAdd", "PortBindings", "RestartPolicy", "Ulimits"} <= changed["HostConfig"].keys()
    assert "sesame" not in str(changed)
    assert engine.client.inspect_container("web")["State"]["Running"]
    less = settled(docker, **{**more, "environment": [], "stop_signal": "KILL"})["container"]
    assert less["Config"].keys() == {"Env", "StopSignal"}


def test_networks_and_volumes(docker: Any, engine: DockerServer) -> None:
    pool = {"subnet": "10.98.1.0/24", "iprange": "10.98.1.128/25"}
    assert docker("network.present", "net", **pool).changes == {"created": True}
    assert docker("volume.present", "data").changes
    networks = [{"net": [{"ipv4_address": "10.98.1.200"}]}]
    settled(docker, networks=networks, binds=["data:/data"])
    assert engine.client.inspect_container("web")["NetworkSettings"]["Networks"]["net"]["IPAddress"] == "10.98.1.200"
    assert docker("network.present", "net", subnet="10.98.2.0/24").changes["recreated"] is True


def test_what_an_image_has_is_no_difference(docker: Any, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        f'FROM {IMAGE}\nENV A=1\nEXPOSE 80\nVOLUME /own\nWORKDIR /data\nCMD ["true"]\n'
    )
    docker("image.present", "site", tag="1", build=str(tmp_path))
    settled(docker, image="site:1")


def test_signals_and_mounts_in_the_words_of_docker() -> None:
    asked = {"StopSignal": "KILL"}
    kept = container_as_docker({"StopSignal": "9", "Env": ["TERM=x", "A=b"]}, asked, asked)
    assert (kept["StopSignal"], kept["Env"]) == ("KILL", ["A=b"])
    assert container_as_docker({"StopSignal": "15"}, {"StopSignal": "TERM+1"}, {})["StopSignal"] == "15"
    binds = ["/a:/b:ro,rprivate,rbind", "/a:/c:rw,rbind", "/a:/d:rw", "/odd", f"{'0a' * 32}:/own:exec"]
    kept = host_as_docker({"Binds": binds}, {"Binds": ["/a:/d:rw"]}, {})
    assert kept["Binds"] == ["/a:/b:ro", "/a:/c", "/a:/d:rw", "/odd"]
