"""docker_container.running on a real engine: a plan makes nothing, equals the act, and is empty after it."""

from pathlib import Path
from typing import Any

import pytest
from docker_engine import IMAGE, DockerServer

PLAIN: dict[str, Any] = {"image": IMAGE, "command": "sleep 600", "stop_signal": "KILL", "shutdown_timeout": 1}


def applied(docker: Any, engine: DockerServer, **options: Any) -> dict[str, Any]:
    """The changes of a run that does what was foretold, after which nothing is foretold."""
    before = {one["Id"] for one in engine.client.containers(all=True)}
    foretold = docker.once("container.running", "web", test=True, **{**PLAIN, **options})
    assert {one["Id"] for one in engine.client.containers(all=True)} == before
    done = docker.once("container.running", "web", **{**PLAIN, **options})
    assert done.result is True, done.comment
    changes = dict(done.changes)
    changes.pop("container_id", None)
    assert foretold.changes == changes
    again = docker.once("container.running", "web", test=True, **{**PLAIN, **options})
    assert (again.result, again.changes) == (True, {})
    return changes


def test_a_container_is_made_and_stays(docker: Any, engine: DockerServer) -> None:
    assert applied(docker, engine) == {"state": {"old": None, "new": "running"}}
    assert engine.client.inspect_container("web")["State"]["Running"]
    engine.client.stop("web")
    assert applied(docker, engine) == {"state": {"old": "stopped", "new": "running"}}
    engine.client.stop("web")
    assert applied(docker, engine, start=False) == {}


WHOLE: dict[str, Any] = {
    "environment": [{"WORD": "sesame"}, "PLAIN=1"], "labels": ["plain", {"owner": "ops"}], "hostname": "web",
    "binds": ["/tmp:/data:ro"], "port_bindings": ["127.0.0.1:18080:80", "18053:53/udp"],
    "restart_policy": "on-failure:3",
    "mem_limit": "64m", "cap_add": ["NET_ADMIN"], "cap_drop": "MKNOD", "dns": "10.9.9.9", "dns_search": ["a.example"],
    "extra_hosts": ["db:10.9.9.1"], "log_driver": "json-file", "log_opt": [{"max-size": "1m"}], "privileged": False,
    "read_only": True, "tmpfs": {"/tmp": ""}, "ulimits": ["nofile=100:200"], "user": "1", "working_dir": "/data",
    "sysctls": {"net.ipv4.ip_forward": "1"}, "shm_size": "8m", "pids_limit": 50, "group_add": ["5"], "tty": True,
    "stdin_open": True, "stop_timeout": 3, "devices": ["/dev/null:/dev/nothing:r"], "cpu_shares": 512,
    "ipc_mode": "host",
    "pid_mode": "host", "oom_score_adj": 10, "security_opt": ["no-new-privileges"], "volumes": "/own",
    "network_mode": "none",
}  # fmt: skip


def test_all_of_a_configuration(docker: Any, engine: DockerServer) -> None:
    applied(docker, engine, start=True, **WHOLE)
    seen = engine.client.inspect_container("web")
    assert seen["HostConfig"]["Ulimits"] == [{"Name": "nofile", "Hard": 200, "Soft": 100}]
    assert seen["HostConfig"]["PortBindings"]["53/udp"] == [{"HostIp": "", "HostPort": "18053"}]


@pytest.mark.parametrize(
    "name",
    [
        "binds",
        "cap_add",
        "environment",
        "ipc_mode",
        "labels",
        "mem_limit",
        "port_bindings",
        "restart_policy",
        "shm_size",
        "tty",
    ],
)
def test_an_argument_that_is_taken_away_has_the_container_made_anew(
    docker: Any, engine: DockerServer, name: str
) -> None:
    given = {name: WHOLE[name]}
    engine.clean()
    docker.once("container.running", "web", **PLAIN, **given)
    foretold = docker.once("container.running", "web", test=True, **PLAIN)
    assert (foretold.result, "container" in foretold.changes) == (None, True)


def test_what_changes_is_told_and_values_of_variables_are_not(docker: Any, engine: DockerServer) -> None:
    applied(docker, engine, environment={"PASSWORD": "old", "SAME": "1"})
    changed = applied(docker, engine, environment={"PASSWORD": "new", "SAME": "1", "MORE": "2"}, labels={"a": "b"})
    assert changed["container"]["Config"] == {
        "Env": {"old": ["PASSWORD=******"], "new": ["MORE=******", "PASSWORD=******"]},
        "Labels": {"old": {}, "new": {"a": "b"}},
    }
    assert "PASSWORD=new" in engine.client.inspect_container("web")["Config"]["Env"]


def test_what_the_image_has_is_no_difference(docker: Any, engine: DockerServer, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        f'FROM {IMAGE}\nENV A=1 B=2\nLABEL x=y\nEXPOSE 80\nVOLUME /own\nWORKDIR /data\nUSER 5\nCMD ["sleep", "60"]\n'
    )
    docker("image.present", "site", tag="1", build=str(tmp_path))
    applied(docker, engine, image="site:1", command=None, environment={"B": "3"}, labels={"z": "w"}, ports=[81])
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nENV C=1\n")
    docker.once("image.present", "site", tag="1", build=str(tmp_path), force=True)
    assert set(applied(docker, engine, image="site:1")) == {"image"}


def test_networks_are_those_that_are_named(docker: Any, engine: DockerServer) -> None:
    docker("network.present", "net", subnet="10.99.3.0/24")
    docker("network.present", "other")
    applied(docker, engine, networks=[{"net": [{"ipv4_address": "10.99.3.7"}, {"aliases": ["site"]}]}])
    seen = engine.client.inspect_container("web")["NetworkSettings"]["Networks"]
    assert (list(seen), seen["net"]["IPAddress"]) == (["net"], "10.99.3.7")
    changed = applied(docker, engine, networks=["other"])
    assert set(changed["container"]["Networks"]) == {"net", "other"}
    assert list(engine.client.inspect_container("web")["NetworkSettings"]["Networks"]) == ["other"]
    missing = docker.once("container.running", "web", **PLAIN, networks=["none-such"])
    assert missing.comment == "The following networks are not present: none-such"


def test_force_and_signals(docker: Any, engine: DockerServer) -> None:
    applied(docker, engine)
    forced = docker.once("container.running", "web", **PLAIN, force=True)
    assert (forced.changes["forced_update"], forced.comment) == (True, "Replaced container 'web'")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"image": None}, "The 'image' argument is required"),
        ({"cmd": "x", "command": "y"}, "they cannot both be used"),
        ({"dns": "no"}, "dns: 'no' is not a valid IP address"),
        ({"working_dir": "data"}, "'data' is not an absolute path"),
        ({"port_bindings": "80-81:90"}, "does not have the same number of ports"),
        ({"environment": "secret"}, "is not a key=value pair"),
        ({"publish_all": True, "publish": "80"}, "Cannot be used when publish_all_ports=True"),
    ],
)
def test_what_no_container_can_have_is_refused(
    docker: Any, engine: DockerServer, given: dict[str, Any], said: str
) -> None:
    refused = docker.once("container.running", "web", test=True, **{**PLAIN, **given})
    assert refused.result is False
    assert said in refused.comment
    assert engine.client.containers(all=True) == []


def test_a_container_that_ends_at_once_fails_the_state(docker: Any, engine: DockerServer) -> None:
    refused = docker.once("container.running", "web", **{**PLAIN, "command": "/nothing"})
    assert refused.result is False
    assert "Failed to start container 'web'" in refused.comment
