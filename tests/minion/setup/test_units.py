"""Units are put in place once, and systemctl is asked for what starts them; its failures say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from minion.setup.units import CannotStart, SystemdUnits

ROOT = Path(__file__).parents[3]
UNIT = "saltern-minion.service"


def manager(folder: Path, script: str = 'echo "$@" >> "$(dirname "$0")/asked"', **other) -> SystemdUnits:
    """One whose folders are below `folder`, with a program that notes what it is asked."""
    (folder / "units").mkdir(exist_ok=True)
    program = folder / "systemctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    plain = {
        "run": folder / "run",
        "folders": (folder / "units", folder / "packaged"),
        "shipped": (folder / "none", ROOT / "ops/systemd"),
        "program": Path("/opt/other/bin/saltern"),
        "systemctl": str(program),
    }
    return SystemdUnits(**{**plain, **other})


def test_a_unit_is_put_in_place_and_started(tmp_path):
    systemd = manager(tmp_path)
    systemd.enable(UNIT)
    assert (tmp_path / "asked").read_text() == f"daemon-reload\nenable --now {UNIT}\n"
    text = (tmp_path / "units" / UNIT).read_text()
    started = Path("/usr/local/bin/saltern") if Path("/usr/local/bin/saltern").exists() else systemd.program
    assert f"ExecStart={started} minion" in text


@pytest.mark.parametrize("folder", ["units", "packaged"])
def test_a_unit_that_is_there_stays(tmp_path, folder):
    systemd = manager(tmp_path)
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / UNIT).write_text("mine")
    systemd.enable(UNIT)
    assert [path.read_text() for path in tmp_path.glob(f"*/{UNIT}")] == ["mine"]


def test_whether_it_runs(tmp_path):
    assert not manager(tmp_path).runs
    (tmp_path / "run").mkdir()
    assert manager(tmp_path).runs


def test_what_systemctl_says_is_told(tmp_path):
    with pytest.raises(CannotStart, match="masked") as error:
        manager(tmp_path, "echo 'Unit is masked' >&2; exit 1").enable(UNIT)
    assert f"journalctl -u {UNIT}" in error.value.hint


def test_without_systemctl(tmp_path):
    with pytest.raises(CannotStart):
        manager(tmp_path, systemctl=str(tmp_path / "nothing")).enable(UNIT)


def test_a_program_in_a_home_folder_is_no_service(tmp_path):
    if Path("/usr/local/bin/saltern").exists():
        pytest.skip("a program is installed here, which the unit starts")
    with pytest.raises(CannotStart, match="home folder") as error:
        manager(tmp_path, program=Path("/home/me/venv/bin/saltern")).enable(UNIT)
    assert "/opt" in error.value.hint


def test_units_that_came_with_nothing(tmp_path):
    with pytest.raises(CannotStart, match="came with no installation"):
        manager(tmp_path, shipped=(tmp_path / "none",)).enable(UNIT)
