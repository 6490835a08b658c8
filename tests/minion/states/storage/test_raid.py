"""Software RAID: what can be asked anywhere, and `on_arrays.py` in a kernel that has arrays."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from own_kernel import run_in_own_kernel
from predictions import NOT_KNOWN, Low, foretold_and_done

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine

Converge = Callable[..., StateResult]
needs_mdadm = pytest.mark.skipif(shutil.which("mdadm") is None, reason="the package mdadm is not installed")


@needs_mdadm
def test_arrays_of_a_real_kernel(tmp_path: Path) -> None:
    said = run_in_own_kernel(
        Path(__file__).with_name("on_arrays.py"), tmp_path,
        modules=("raid0", "raid1"), disks=4, written=("/etc/mdadm",),
    )  # fmt: skip
    assert "7 passed" in said


@needs_mdadm
def test_where_there_are_no_arrays(converge: Converge, tmp_path: Path) -> None:
    assert converge("raid.absent", "/dev/md77").comment == "Raid /dev/md77 already absent"
    none = converge("raid.present", "/dev/md77", level=1, devices=["missing", "/dev/saltern-none"])
    assert none.comment == "All devices are missing: ['missing', '/dev/saltern-none']."
    assert "cannot be the name" in converge("raid.present", "--scan", level=1, devices=["missing"]).comment
    plain = tmp_path / "plain"
    plain.write_bytes(bytes(4096))
    odd = converge("raid.present", "/dev/md77", level=1, devices=[str(plain)], **{"--config": "/x"})
    assert odd.comment == "'--config' is no option of mdadm"
    modules = Modules(Context(minion_id="x"))
    assert modules.call("raid.list") == {}
    assert modules.call("raid.examine", (str(plain),)) == {}
    assert modules.call("raid.destroy", ("/dev/md77",)) is False
    made = modules.call("raid.create", ("/dev/md77", 5, ["/dev/a", "/dev/b"]), {"chunk": 256, "test_mode": True})
    assert made == "mdadm -C /dev/md77 -R -v -l 5 --chunk 256 -e default -n 2 /dev/a /dev/b"
    with pytest.raises(CallFailed, match="doesn't exist"):
        modules.call("raid.detail")


@needs_mdadm
def test_devices_that_an_earlier_state_may_bring(tmp_path: Path) -> None:
    array = {"level": 1, "devices": [str(tmp_path / "later")]}
    states: tuple[Low, ...] = (("cmd.run", "true", {}), ("raid.present", "/dev/md77", array))
    [_, (foretold, done)] = foretold_and_done(LocalMachine(sources_port=MemoryFiles({})), *states)
    assert foretold.result is None
    assert foretold.comment.startswith(NOT_KNOWN)
    assert done.comment.startswith("All devices are missing")


def test_mdadm_is_not_there(converge: Converge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert converge("raid.absent", "/dev/md7").comment == "There is no mdadm program: install the package mdadm"
