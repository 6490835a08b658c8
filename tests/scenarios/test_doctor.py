"""`saltern doctor` beside a real controller and its minion, and on machines where something is wrong."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
import yaml
import zmq
from rig import SALTERN, Rig, free_ports

from controller.cli.main import run
from controller.config.settings import load_settings
from controller.store import Store
from gateway.settings import CONTROLLER_FILE

ROOT = Path(__file__).parents[2]
OF_THE_MACHINE = {"service", "inotify", "open files", "disk", "sandbox"}
"""Checks of the machine that the tests run on, which need not be as one of an operator."""


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """A controller and a minion that knows it."""
    with Rig(tmp_path_factory.mktemp("r"), {"web1": {}}, ROOT / "examples/quickstart", forked=True) as rig:
        rig.up()
        yield rig


def doctor(capfd, folder: Path, *words: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Exit code, and the findings by check."""
    capfd.readouterr()
    code = run(["doctor", "-c", str(folder), "--out", "json", *words])
    found: dict[str, list[dict[str, str]]] = {}
    for each in json.loads(capfd.readouterr().out):
        found.setdefault(each["check"], []).append(each)
    return code, found


def verdicts(found) -> dict[str, set[str]]:
    return {check: {each["verdict"] for each in found[check]} for check in found.keys() - OF_THE_MACHINE}


def doubtful(found) -> list[str]:
    return [check for check, seen in verdicts(found).items() if seen != {"OK"}]


def test_a_controller_that_runs(rig, capfd):
    code, found = doctor(capfd, rig.config)
    assert not doubtful(found), found
    assert code == (1 if any(each["verdict"] == "FAIL" for all_of in found.values() for each in all_of) else 0)
    known = {"python", "libzmq", "random numbers", "configuration", "key", "store", "controller", "port"}
    assert known <= set(found)
    assert set(found) >= OF_THE_MACHINE
    assert len(found["port"]) == 3
    assert "schema" in found["store"][0]["text"]


def test_a_minion_that_is_connected(rig, capfd):
    _, found = doctor(capfd, rig.directory / "web1", "--minion")
    assert not doubtful(found), found
    assert {"controller", "controller key", "own key", "clock"} <= set(found)


def test_a_minion_with_the_key_of_another_controller(rig, capfd, tmp_path):
    settings = yaml.safe_load((rig.directory / "web1/minion").read_text())
    settings |= {"controller_key": zmq.curve_keypair()[0].decode(), "root_dir": str(tmp_path / "root")}
    (tmp_path / "minion").write_text(yaml.safe_dump(settings))
    code, found = doctor(capfd, tmp_path, "--minion", "--timeout", "1")
    assert code == 1
    seen = verdicts(found)
    assert (seen["controller"], seen["controller key"], seen["key"]) == ({"OK"}, {"FAIL"}, {"WARN"})
    assert not (tmp_path / "root").exists()  # nothing is made


def test_a_machine_with_much_wrong(capfd, tmp_path):
    publish, request, http = free_ports(3)
    ports = {"interface": "127.0.0.1", "publish_port": publish, "ret_port": request, "http_port": http}
    wrong = {"gitfs_remotes": [str(tmp_path / "nothing.git")], "compile_confinement": False}
    (tmp_path / "controller").write_text(yaml.safe_dump({"root_dir": str(tmp_path / "root"), **ports, **wrong}))
    settings = load_settings(tmp_path)
    settings.pki_dir.mkdir(parents=True)
    (settings.pki_dir / "controller.key").write_text("secret")
    (settings.pki_dir / "controller.key").chmod(0o644)
    code, found = doctor(capfd, tmp_path)
    seen = verdicts(found)
    assert code == 1
    assert (seen["key"], seen["remote"], seen["port"]) == ({"FAIL"}, {"FAIL"}, {"OK"})
    assert (seen["store"], seen["controller"]) == ({"WARN"}, {"WARN"})
    assert found["sandbox"][0]["verdict"] == "WARN"
    assert all(each["todo"] for all_of in found.values() for each in all_of if each["verdict"] != "OK")
    with Store(settings.store_url):
        pass
    assert verdicts(doctor(capfd, tmp_path)[1])["store"] == {"OK"}


@pytest.mark.parametrize("role", ["controller", "minion"])
def test_a_configuration_that_is_wrong(capfd, tmp_path, role):
    (tmp_path / "controller").write_text("ret_port: many\n")
    (tmp_path / "minion").write_text("master_port: many\n")
    words = ["--minion"] if role == "minion" else []
    code, found = doctor(capfd, tmp_path, *words)
    assert code == 1
    assert f"{tmp_path}/{role}:1" in found["configuration"][0]["text"]
    assert run(["doctor", "-c", str(tmp_path), *words]) == 1
    said = capfd.readouterr()
    assert "FAIL  configuration:" in said.out
    assert "      mend " in said.out
    assert "1 failed" in said.err
    assert run(["doctor", "-c", str(tmp_path / "none")]) == 64


def gateway_files(folder: Path, rig: Rig, **more) -> Path:
    publish, request = rig.wire_ports
    settings = {
        "controller": "127.0.0.1",
        "controller_key": rig.controller_key,
        "controller_port": request,
        "controller_publish_port": publish,
        "interface": "127.0.0.1",
        "pki_dir": str(folder / "pki"),
        "cachedir": str(folder / "cache"),
    }
    folder.mkdir()
    (folder / "gateway").write_text(json.dumps(settings | more))
    return folder


def test_a_gateway_that_runs_and_one_that_does_not(rig, capfd, tmp_path):
    ret_port, publish_port = free_ports(2)
    folder = gateway_files(tmp_path / "gateway", rig, ret_port=ret_port, publish_port=publish_port)
    _, found = doctor(capfd, folder, "--gateway")
    assert sorted(doubtful(found)) == ["controller used", "key", "port"], found
    assert all("nothing listens" in each["text"] for each in found["port"])
    with subprocess.Popen([*SALTERN, "gateway", "-c", folder], stderr=subprocess.PIPE, text=True) as gateway:
        try:
            assert any("event=started" in line for line in gateway.stderr)
            noted = folder / "cache" / CONTROLLER_FILE
            rig.wait("connected", lambda: noted.exists() and json.loads(noted.read_bytes())["controller"])
            _, found = doctor(capfd, folder, "--gateway")
        finally:
            gateway.terminate()
            gateway.stderr.read()
    assert not doubtful(found), found
    assert {"libraries", "controller", "controller key"} <= set(found)
    assert found["controller used"][0]["text"] == "the gateway speaks to 127.0.0.1"


def test_a_gateway_with_the_key_of_another_controller(rig, capfd, tmp_path):
    ret_port, publish_port = free_ports(2)
    key = zmq.curve_keypair()[0].decode()
    folder = gateway_files(tmp_path / "g", rig, ret_port=ret_port, publish_port=publish_port, controller_key=key)
    began = time.monotonic()
    _, found = doctor(capfd, folder, "--gateway")
    assert time.monotonic() - began < 15, "the doctor does not wait for its limit of 20 s"
    assert verdicts(found)["controller key"] == {"FAIL"}
    [said] = found["controller key"]
    assert f"controller_key in {folder}/gateway" in said["text"]
    assert f"write what `saltern key controller` prints there as controller_key into {folder}/gateway" in said["todo"]


def test_a_gateway_at_the_port_of_a_controller(rig, capfd, tmp_path):
    folder = gateway_files(tmp_path / "gateway", rig, ret_port=rig.wire_ports[1])
    code, found = doctor(capfd, folder, "--gateway")
    assert code == 1
    assert "a controller or relay listens" in found["port"][0]["text"]
