"""Settings of real block devices, the file systems on them, and how full one is."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from highstate.types import StateResult

Converge = Callable[..., StateResult]
Devices = Callable[[], str]


@pytest.fixture
def mounted(loop: Devices, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 300 MiB that is nearly empty."""
    device, place = loop(), tmp_path_factory.mktemp("mounted")
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", device], check=True)
    subprocess.run(["mount", device, place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_settings(converge: Converge, loop: Devices, tmp_path: Path) -> None:
    device = loop()
    subprocess.run(["blockdev", "--setra", "256", device], check=True)
    tuned = converge("blockdev.tuned", device, **{"read-ahead": 1027, "read-only": True})
    assert tuned.changes == {"read-ahead": "Changed from 256 to 1024", "read-only": "Changed from False to True"}
    assert tuned.comment == f"Block device {device} successfully modified "
    assert converge("blockdev.tuned", device, **{"read-ahead": 1024}).comment == (
        f"Block device {device} already in correct state"
    )
    assert converge("blockdev.tuned", device, **{"read-write": True, "filesystem-read-ahead": "512"}).changes == {
        "read-write": "Changed from False to True", "filesystem-read-ahead": "Changed from 1024 to 512",
    }  # fmt: skip
    assert (
        "Invalid keyword arguments: read-only=False"
        in converge("blockdev.tuned", device, **{"read-only": False}).comment
    )
    assert "Invalid keyword arguments: speed=9" in converge("blockdev.tuned", device, speed=9).comment
    (tmp_path / "f").write_text("x")
    assert "Not a block device" in converge("blockdev.tuned", tmp_path / "f").comment


def test_file_systems(converge: Converge, loop: Devices) -> None:
    device = loop()
    made = converge("blockdev.formatted", device, inode_size=256, lazy_itable_init=1)
    assert made.changes == {"new": "ext4", "old": ""}
    assert made.comment == f"{device} has been formatted with ext4"
    assert converge("blockdev.formatted", device, fs_type="ext2", force=True).changes == {"new": "ext2", "old": "ext4"}
    assert converge("blockdev.formatted", device, fs_type="nonefs").comment == "Invalid fs_type: nonefs"
    assert converge("blockdev.formatted", "/dev/saltern-none").comment == "/dev/saltern-none does not exist"
    if shutil.which("mkfs.xfs"):
        refused = converge("blockdev.formatted", device, fs_type="xfs")
        assert refused.result is False
        assert refused.comment.startswith(f"Failed to format {device}: ")
        assert converge("blockdev.formatted", device, fs_type="xfs", force=True).changes["old"] == "ext2"


def test_how_full_a_file_system_is(converge: Converge, mounted: Path) -> None:
    assert converge("disk.status", mounted, maximum="50%").comment == "Disk used space in acceptable range"
    below = converge("disk.status", mounted, minimum=50)
    assert below.result is False
    assert below.comment.startswith("Disk used space is below minimum of 50 % at ")
    assert "Disk available space is above maximum of 50 % at" in converge(
        "disk.status", mounted, maximum=50, free=True
    ).comment  # fmt: skip
    assert "is below minimum of 999999 KB" in converge(
        "disk.status", mounted, minimum="999999 KB", absolute=True
    ).comment  # fmt: skip
    (mounted / "folder").mkdir()
    assert converge("disk.status", mounted / "folder", maximum=50).result is True
    assert converge("disk.status", mounted / "folder", minimum="200000", absolute=True, free=True).result is True
    assert "does not exist" in converge("disk.status", "/saltern-none").comment
    assert converge("disk.status", "/", maximum=101).comment == "maximum must be in the range [0, 100] "
    assert converge("disk.status", "/", maximum=1, minimum=2).comment == "minimum must be less than maximum "
    assert converge("disk.status", "/", maximum="much").comment == "maximum must be an integer "
