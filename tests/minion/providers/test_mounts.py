"""The kernel's tables of mounts and swap space, and the escapes of white space in them and in fstab."""

from collections.abc import Callable
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.execution import Context, Modules
from minion.machine.machine import LocalMachine
from minion.machine.plan import FileStat
from minion.providers.mounts import decoded, encoded, mounts, swaps

MOUNTS = (
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "40 22 8:2 /a\\040b /srv/my\\040disk\\134x ro - fuse //host/my\\040share ro,user_id=0\n"
)
SWAPS = (
    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    "/var/swap\\040file                      file\t\t1048572\t\t12\t\t-2\n"
    "/dev/sda2                               partition\t2097148\t\t0\t\t-3\n"
)


class Recorded(LocalMachine):
    """The machine, with tables of /proc and an fstab of the test."""

    top: Path

    def _at(self, path: str) -> str:
        return f"{self.top}{path}" if path.startswith(("/proc/", "/etc/")) else path

    def stat(self, path: str) -> FileStat | None:
        return super().stat(self._at(path))

    def read(self, path: str) -> bytes:
        return super().read(self._at(path))

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        super().write(self._at(path), data, mode=mode)


@pytest.fixture
def machine(tmp_path: Path) -> Recorded:
    made = Recorded(sources_port=MemoryFiles({}))
    made.top = tmp_path
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS)
    (tmp_path / "proc/swaps").write_text(SWAPS)
    (tmp_path / "etc/fstab").write_text("/dev/sda2 /srv/my\\040disk ext4 defaults 0 2\n")
    return made


@pytest.mark.parametrize(
    ("plain", "escaped"), [("/a b", "/a\\040b"), ("/a\tb", "/a\\011b"), ("/a", "/a"), ("/a\\040b", "/a\\040b")]
)
def test_white_space_is_escaped(plain: str, escaped: str) -> None:
    assert encoded(plain) == escaped
    assert decoded(escaped) == plain.replace("\\040", " ")


def test_mounts_and_swap_space_have_their_plain_names(machine: Recorded) -> None:
    root, bound = mounts(machine)
    assert (root.point, root.device, root.super_options) == ("/", "/dev/sda1", ("rw", "errors=remount-ro"))
    assert (bound.point, bound.root, bound.device) == ("/srv/my disk\\x", "/a b", "//host/my share")
    assert [(one.path, one.type, one.used) for one in swaps(machine)] == [
        ("/var/swap file", "file", "12"),
        ("/dev/sda2", "partition", "0"),
    ]


def test_there_may_be_no_swap_space(machine: Recorded) -> None:
    (machine.top / "proc/swaps").unlink()
    assert list(swaps(machine)) == []


def test_functions_show_plain_names(machine: Recorded) -> None:
    context = Context(minion_id="m")
    context.machine = machine
    modules = Modules(context)
    assert set(modules.call("mount.swaps")) == {"/var/swap file", "/dev/sda2"}
    assert modules.call("mount.swapon", ["/var/swap file"])["new"] is False
    assert modules.call("mount.active", [True])["/srv/my disk\\x"] == {
        "device": "//host/my share", "alt_device": "//host/my share", "fstype": "fuse", "opts": ["ro"],
        "mountid": "40", "parentid": "22", "root": "/a b", "superopts": ["ro", "user_id=0"],
    }  # fmt: skip
    assert set(modules.call("mount.fstab")) == {"/srv/my disk"}


def test_a_swap_file_whose_name_has_a_space_is_found_again(
    converge: Callable[..., StateResult], machine: Recorded
) -> None:
    assert converge("mount.swap", "/var/swap file", machine=machine).changes == {"persist": "new"}
    assert (machine.top / "etc/fstab").read_text().endswith("/var/swap\\040file\tnone\tswap\tdefaults\t0\t0\n")
