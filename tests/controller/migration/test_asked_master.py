"""What a Salt master has said of its minions; a real one is asked in tests/scenarios/test_gateway_shadow.py."""

import json
from pathlib import Path

import pytest

from controller.migration import asked_master
from controller.migration.asked_master import MasterFailed, ask_master, read_master
from controller.migration.salt_install import SaltInstall

CHUNK = {"state": "test", "fun": "nop", "name": "x", "__id__": "x"}


def written(path, data):
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_who_compiles_who_does_not_and_who_is_silent(tmp_path):
    low = written(
        tmp_path / "low",
        {"a": [CHUNK], "b": ["Rendering SLS failed"], "c": False, "d": "Minion did not return.", "other": [CHUNK]},
    )
    pillar = written(tmp_path / "pillar", {"a": {"k": 1}, "b": False})
    found = read_master(["a", "b", "c", "d", "e"], low, pillar)
    assert found.keys() == {"a", "b"}
    assert (found["a"].low, found["a"].pillar) == ((CHUNK,), {"k": 1})
    assert (found["b"].low, found["b"].errors, found["b"].pillar) == (None, ("Rendering SLS failed",), None)
    assert read_master(["a"], low, None)["a"].pillar is None


@pytest.mark.parametrize("data", ["no json", "[1]", "[" * 100_000])
def test_files_that_are_something_else(tmp_path, data):
    with pytest.raises(MasterFailed):
        read_master(["a"], written(tmp_path / "low", data), None)


def test_files_that_are_too_large_or_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(asked_master, "ANSWER_BYTES", 5)
    with pytest.raises(MasterFailed, match="MiB"):
        read_master(["a"], written(tmp_path / "low", {"a": [CHUNK]}), None)
    with pytest.raises(MasterFailed, match="No such file"):
        read_master(["a"], tmp_path / "none", None)


def test_a_salt_that_does_not_answer(tmp_path):
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\necho 'no master here' >&2\nexit 2\n")
    silent.chmod(0o755)
    with pytest.raises(MasterFailed, match="no master here"):
        ask_master(SaltInstall(python=silent, version="3008.1"), Path("/none"), ["a"], 1.0)
