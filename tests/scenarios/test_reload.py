"""A reload of the configuration of a controller that runs: taken, refused whole, or told to need a restart."""

from __future__ import annotations

import json
import os
import signal
import stat

import httpx
import pytest
import yaml


@pytest.fixture
def rig(make_rig):
    return make_rig(minions={})


def write(rig, text: str = "", **options) -> None:
    """Lay options over the file that the controller was started with."""
    (rig.config / "controller.d").mkdir(exist_ok=True)
    (rig.config / "controller.d/more.conf").write_text(text or yaml.safe_dump(options))


def reload(rig, *words: str) -> dict:
    return json.loads(rig.saltern("reload", "--out", "json", *words).stdout)


def metric(rig, name: str) -> float:
    text = httpx.get(f"{rig.http}/metrics").text
    (line,) = [line for line in text.splitlines() if line.startswith(f"saltern_config_{name} ")]
    return float(line.split()[1])


def counted(rig, successful: int, restart: int) -> None:
    """The exposition is made once a second."""
    names = ("last_reload_successful", "restart_pending")
    rig.wait("the metrics", lambda: [metric(rig, name) for name in names] == [successful, restart])


def hook(rig, token: str) -> int:
    return httpx.post(f"{rig.http}/hook", headers={"x-gitlab-token": token}, json={}).status_code


def test_a_reload(rig):
    pid, (_, ret_port) = rig.pid("controller"), rig.wire_ports
    assert (hook(rig, "first"), hook(rig, "second")) == (202, 202)
    assert not stat.S_IMODE(rig.socket.stat().st_mode) & 0o006

    # What is taken holds for what comes next; what needs a restart is named, also the second time.
    job = {"once": {"function": "test.arg", "seconds": 1}}
    write(rig, hook_secret="second", events_token="t", ret_port=1, schedule=job, publisher_acl={"nobody": ["test.*"]})
    checked = reload(rig, "--check")
    assert hook(rig, "first") == 202
    taken = reload(rig)
    assert checked == taken
    assert taken["reloaded"] == ["events_token", "hook_secret", "publisher_acl", "schedule"]
    assert taken["restart"] == ["ret_port"]
    assert (hook(rig, "first"), hook(rig, "second")) == (403, 202)
    with httpx.stream("GET", f"{rig.http}/events", headers={"authorization": "Bearer t"}) as answer:
        assert answer.status_code == 200
    assert stat.S_IMODE(rig.socket.stat().st_mode) & 0o006
    assert rig.wire_ports[1] == ret_port
    rig.wait("the job", lambda: [run for run in rig.ask("/history", limit=5) if run.get("user") == "schedule once"])
    assert rig.saltern("reload").stdout == "needs a restart ret_port\n"
    counted(rig, 1, 1)

    # What is wrong is refused whole: the secret that is right is not taken, either.
    write(rig, "hook_secret: third\nkeep_runs: many\nno_such_option: 1\n")
    refused = rig.saltern("reload", check=False)
    assert refused.returncode == 64
    assert "more.conf:2" in refused.stderr
    assert "no_such_option" in refused.stderr
    assert (hook(rig, "third"), hook(rig, "second")) == (403, 202)
    counted(rig, 0, 1)

    # SIGHUP does the same: refused by the log, then taken.
    os.kill(pid, signal.SIGHUP)
    rig.wait("the refusal", lambda: "user=SIGHUP" in rig.log("controller", 1000))
    write(rig, hook_secret="third", log_level="debug")
    os.kill(pid, signal.SIGHUP)
    rig.wait("the reload", lambda: hook(rig, "third") == 202)
    assert hook(rig, "second") == 403
    counted(rig, 1, 0)
    assert not stat.S_IMODE(rig.socket.stat().st_mode) & 0o006
    assert rig.pid("controller") == pid
    events = rig.saltern("events", "saltern/config/reload", "--since", "1h", "-n", "4", "--out", "json").stdout
    assert [json.loads(line)["data"]["ok"] for line in events.splitlines()] == [True, True, False, False]
