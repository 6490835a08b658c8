"""Tests of software RAID that `test_raid.py` runs in a kernel that has arrays. They go on from one another's."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.execution import Context, Modules
from minion.machine.machine import LocalMachine

Converge = Callable[..., StateResult]
FIRST, SECOND, THIRD, FOURTH = (f"/dev/ubd{letter}" for letter in "abcd")
ARRAY = "/dev/md0"
CONFIGURATION = Path("/etc/mdadm/mdadm.conf")
INITRAMFS = Path("/run/bin/update-initramfs")
DEBIAN = LocalMachine(sources_port=MemoryFiles({}), grains={"os_family": "Debian", "os": "Debian"})
UBUNTU = LocalMachine(sources_port=MemoryFiles({}), grains={"os_family": "Debian", "os": "Ubuntu"})


def call(fun: str, *args: Any, **given: Any) -> Any:
    return Modules(Context(minion_id="x", make_grains=lambda: DEBIAN.grains)).call(f"raid.{fun}", args, given)


def initramfs(code: int = 0) -> None:
    INITRAMFS.write_text(f'#!/bin/sh\necho "$@" >> /run/initramfs\nexit {code}\n')
    INITRAMFS.chmod(0o755)


def test_an_array_is_made(converge: Converge) -> None:
    initramfs()
    given = {"level": 1, "devices": [FIRST, SECOND, "missing"], "machine": DEBIAN}
    made = converge("raid.present", ARRAY, **given)
    assert (made.result, made.changes) == (True, {"device": ARRAY})
    assert made.comment == f"Raid {ARRAY} created. Missing devices: ['missing']"
    assert call("list")[ARRAY].keys() >= {"device", "metadata", "name", "uuid"}
    detail = call("detail", ARRAY)
    assert (detail["raid_level"], detail["raid_devices"]) == ("raid1", "3")
    assert [one["device"] for one in detail["members"].values()] == [FIRST, SECOND]
    uuid = call("list")[ARRAY]["uuid"]
    assert call("examine", FIRST)["MD_UUID"] == uuid
    assert f"UUID={uuid}" in CONFIGURATION.read_text()
    assert Path("/run/initramfs").read_text() == "-u\n"


def test_devices_are_added_and_told_apart(converge: Converge) -> None:
    added = converge("raid.present", ARRAY, level=1, devices=[FIRST, SECOND, THIRD], machine=DEBIAN)
    assert added.changes == {"added": [THIRD]}
    assert added.comment == f"Raid {ARRAY} already present. Added new device {THIRD} to {ARRAY}.\n"
    Path("/dev/mine").symlink_to(ARRAY)
    assert converge("raid.present", "/dev/mine", level=1, devices=[FIRST]).comment == "Raid /dev/mine already present."


def test_an_array_is_put_together_again(converge: Converge) -> None:
    assert call("stop") is True
    assert call("list") == {}
    given = {"level": 1, "devices": [FIRST, SECOND, THIRD], "chunk": 64, "machine": UBUNTU}
    made = converge("raid.present", ARRAY, **given)
    assert (made.changes, made.comment) == ({"device": ARRAY}, f"Raid {ARRAY} assembled.")
    [line] = CONFIGURATION.read_text().splitlines()
    assert line.split()[:2] == ["ARRAY", ARRAY]
    assert "name=" not in line
    assert "metadata=" not in line


def test_devices_of_two_arrays(converge: Converge) -> None:
    other = converge("raid.present", "/dev/md5", level=0, devices=[FOURTH], force=True, machine=DEBIAN)
    assert other.changes == {"device": "/dev/md5"}
    assert len(CONFIGURATION.read_text().splitlines()) == 2
    mixed = converge("raid.present", "/dev/md9", level=1, devices=[FIRST, FOURTH])
    assert mixed.comment.startswith("Devices are a mix of RAID constituents with multiple MD_UUIDs: [")
    differs = converge("raid.present", ARRAY, level=1, devices=[FOURTH])
    assert f"differs from present RAID uuid {call('list')[ARRAY]['uuid']}." in differs.comment
    refused = converge("raid.present", "/dev/md8", level=5, devices=["missing", "/dev/null"])
    assert refused.comment.startswith("Raid /dev/md8 failed to be created: ")


def test_an_array_in_use_stays(converge: Converge) -> None:
    subprocess.run(["mkfs.ext4", "-q", "-F", ARRAY], check=True)
    Path("/run/mounted").mkdir()
    subprocess.run(["mount", ARRAY, "/run/mounted"], check=True)
    kept = converge("raid.absent", ARRAY, machine=DEBIAN)
    assert kept.result is False
    assert kept.comment.startswith(f"Raid {ARRAY} failed to be destroyed: ")
    subprocess.run(["umount", "/run/mounted"], check=True)


def test_an_array_goes(converge: Converge) -> None:
    gone = converge("raid.absent", ARRAY, machine=DEBIAN)
    assert (gone.changes, gone.comment) == ({ARRAY: "destroyed"}, f"Raid {ARRAY} has been destroyed")
    assert call("examine", FIRST) == {}
    [line] = CONFIGURATION.read_text().splitlines()
    assert line.split()[1] == "/dev/md5"
    assert call("destroy", "/dev/md5") is True
    assert call("list") == {}


def test_functions_and_an_initramfs_that_cannot_be_made(converge: Converge) -> None:
    said = call("create", ARRAY, 1, [FIRST, SECOND])
    assert f"array {ARRAY} started" in said
    call("stop")
    assert call("assemble", ARRAY, f"{FIRST},{SECOND}", test_mode=True) == ["mdadm", "-A", ARRAY, "-v", FIRST, SECOND]
    assert f"{ARRAY} has been started" in call("assemble", ARRAY, [FIRST, SECOND])
    assert call("add", ARRAY, THIRD) is True
    assert call("save_config") == ""
    initramfs(1)
    failed = converge("raid.present", "/dev/md5", level=0, devices=[FOURTH], force=True, machine=DEBIAN)
    assert (failed.result, failed.comment.startswith("update-initramfs failed")) == (False, True)
