"""Quotas, on programs that hold what they are told: kernels of test machines have none."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highstate.types import StateResult
from minion.execution import CallFailed, Context, Modules

Converge = Callable[..., StateResult]
PROGRAMS = ("quotaon", "quotaoff", "repquota", "setquota")


@pytest.fixture
def kept(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the programs hold their state."""
    folder, program = tmp_path_factory.mktemp("bin"), Path(__file__).with_name("fake_quota.py")
    for name in PROGRAMS:
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {program} {tmp_path}/state.json {name} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    limits = {"user": {"root": ["0", "0", "0", "0"], "joe": ["10", "20", "0", "5"]}, "group": {}}
    state = {"mount": "/data", "modes": {"group": "off", "user": "on"}, "limits": limits}
    (tmp_path / "state.json").write_text(json.dumps(state))
    return tmp_path / "state.json"


def test_quotas_are_turned_on_and_off(converge: Converge, kept: Path) -> None:
    off = converge("quota.mode", "/data", mode=False, quotatype="user")
    assert (off.changes, off.comment) == ({"quota": "/data"}, "Set quota for /data to off")
    assert converge("quota.mode", "/data", mode="off", quotatype="user").comment == "Quota for /data already set to off"
    assert converge("quota.mode", "/data", mode=True, quotatype="group").changes
    assert json.loads(kept.read_text())["modes"] == {"group": "on", "user": "off"}
    assert "not mounted with quotas" in converge("quota.mode", "/other", mode=True, quotatype="user").comment
    assert "is no type of quotas" in converge("quota.mode", "/data", mode=True, quotatype="people").comment


@pytest.mark.usefixtures("kept")
def test_functions() -> None:
    def call(fun: str, *args: Any, **kwargs: Any) -> Any:
        return Modules(Context(minion_id="x")).call(f"quota.{fun}", args, kwargs)

    assert call("get_mode", "/data") == {"/data": {"device": "/dev/loop9", "group": "off", "user": "on"}}
    assert call("get_mode", "/other") == {"/other": "Not found"}
    report = call("report", "/data")["/data"]["User Quotas"]
    assert report["Block Grace Time"] == ["7days"]
    assert report["Users"]["joe"] == {
        "block-used": "20", "block-soft-limit": "10", "block-hard-limit": "20", "block-grace": "0",
        "file-used": "2", "file-soft-limit": "0", "file-hard-limit": "5", "file-grace": "0",
    }  # fmt: skip
    changed = call("set", "/data", user="joe", **{"block-hard-limit": 30})["User: joe"]
    assert (changed["block-soft-limit"], changed["block-hard-limit"]) == ("10", "30")
    assert call("set", "/data", group="team", **{"file-soft-limit": 9})["Group: team"]["block-soft-limit"] == "0"
    with pytest.raises(CallFailed, match="busy"):
        call("on", "/data")
    for given, said in (
        ({}, "valid user or group"),
        ({"user": "a", "group": "b"}, "not both"),
        ({"user": "joe", "speed": 3}, "no limits"),
        ({"user": "nobody-here"}, "does not exist"),
    ):
        with pytest.raises(CallFailed, match=said):
            call("set", "/data", **given)


@pytest.mark.skipif(shutil.which("quotastats") is None, reason="the package quota is not installed")
def test_the_kernels_own_counts() -> None:
    found = Modules(Context(minion_id="x")).call("quota.stats")
    assert found["Number of dquot lookups"].isdigit()
