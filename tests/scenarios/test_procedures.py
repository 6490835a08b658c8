"""The lines of docs/runbooks/procedures.md that need no package manager, on a real controller and its minions.

tests/e2e/test_packages.py runs those that install and upgrade, on machines with the packages.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/runbooks/procedures.md").read_text()
SECONDS = 60.0


def lines_of(heading: str) -> list[str]:
    """The commands below a heading."""
    section = re.split(rf"^#+ {heading}$", PAGE, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, flags=re.MULTILINE)[0]
    return re.findall(r"^\$ (.+)$", section, re.MULTILINE)


class Operator:
    """Does what lines say, on a rig in place of a machine: its paths, and its processes for units."""

    def __init__(self, rig, archive: Path) -> None:
        self.rig, self.archive = rig, archive
        self.outputs: dict[str, str] = {}

    def follow(self, lines: list[str]) -> None:
        for line in lines:
            line = re.sub(r"/var/backups/[\w-]+\.tar\.gz", str(self.archive), line)
            match shlex.split(line):
                case ["saltern", "doctor"]:
                    done = self.rig.saltern("doctor", "--out", "json", check=False)
                    assert '"check": "store"' in done.stdout
                    assert not re.search(
                        r'"check": "(store|key|controller|remote|configuration)",\s+"verdict": "FAIL"', done.stdout
                    )
                case ["saltern", *words]:
                    self.outputs[words[0]] = self.rig.saltern(*words).stdout
                case ["systemctl", "stop", "saltern-controller"]:
                    self.rig.stop("controller")
                case ["systemctl", *_, "saltern-controller"]:
                    self.rig.start_controller()
                case ["tar", *_] | ["chmod", *_]:
                    here = line.replace("/etc/saltern", str(self.rig.config))
                    subprocess.run(here, shell=True, check=True)
                case ["chown", *_]:
                    pass  # the rig is one user's; the machines of tests/e2e have users
                case _:
                    raise AssertionError(f"nobody knows how to try: {line}")


@pytest.fixture
def operator(make_rig, tmp_path):
    rig = make_rig(minions={"web1": {"roles": ["web"]}})
    rig.wait_applied(rig.push("first"))
    return Operator(rig, tmp_path / "saltern.tar.gz")


def test_back_up_restore_and_a_lost_controller(operator):
    rig, store = operator.rig, operator.rig.directory / "c/var/lib/saltern/controller.sqlite"
    operator.follow(lines_of("Back up"))
    assert str(operator.archive) in operator.outputs["backup"]

    # A store that was damaged.
    store.write_bytes(b"no database")
    rig.stop("controller") if not rig.answers else None
    operator.follow(lines_of("Restore"))
    assert "web1" in operator.outputs["status"]
    connected(rig)

    # A machine that was lost: nothing is left of it but the archive, and it has the same address.
    rig.kill("controller", children=True)
    shutil.rmtree(rig.directory / "c")
    shutil.rmtree(rig.config)
    rig.config.mkdir()
    operator.follow(lines_of("With a backup"))
    connected(rig)
    (rig.work / "states/more.sls").write_text("more: {test.nop: []}\n")
    rig.wait_applied(rig.push("after the loss"))


def connected(rig) -> None:
    rig.wait("the minion", lambda: rig.status().get("web1", {}).get("connected"))


def test_each_procedure_is_tried():
    """Here, or on machines with packages."""
    from_here = {"Back up", "Restore", "With a backup"}
    on_machines = {"Install a controller", "Install a minion", "Upgrade", "Without a backup"}
    headings = {each for each in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE) if lines_of(re.escape(each))}
    assert headings == from_here | on_machines
