"""LVM on real loop devices. Its metadata is real; without device-mapper in the kernel no volume becomes a device."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from predictions import assert_foretold

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine
from minion.providers.storage.lvm import LvSize

Converge = Callable[..., StateResult]
Devices = Callable[[], str]
MIB = 1 << 20
GROUP = "salterncase"
CONFIGURATION = """
global { activation = 0 }
activation { udev_sync = 0 udev_rules = 0 }
backup { backup = 0 archive = 0 }
devices { filter = [ "a|^/dev/loop|", "r|.*|" ] }
"""


@pytest.fixture(autouse=True)
def system(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, loop: Devices) -> Iterator[None]:
    """LVM with a configuration of its own; what is left of groups goes."""
    if shutil.which("lvm") is None:
        pytest.skip("the package lvm2 is not installed")
    folder = tmp_path_factory.mktemp("lvm")
    (folder / "lvm.conf").write_text(CONFIGURATION)
    monkeypatch.setenv("LVM_SYSTEM_DIR", str(folder))
    monkeypatch.setenv("LVM_SUPPRESS_FD_WARNINGS", "1")
    yield
    for name in (GROUP, f"{GROUP}2"):
        subprocess.run(["vgremove", "--yes", name], capture_output=True, check=False)


def size_of(name: str) -> int:
    words = ["lvs", "--reportformat", "json", "--units", "b", "--nosuffix", "-o", "lv_size", f"{GROUP}/{name}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)["report"][0]["lv"][0]["lv_size"])


def test_physical_volumes(converge: Converge, loop: Devices, tmp_path: Path) -> None:
    device = loop()
    made = converge("lvm.pv_present", device, metadatasize="2m")
    assert (made.changes, made.comment) == ({"created": True}, f"Created Physical Volume {device}")
    assert converge("lvm.pv_present", device).comment == f"Physical Volume {device} already present"
    (tmp_path / "link").symlink_to(device)
    assert converge("lvm.pv_present", device, dataalignment="1m").changes == {}
    assert converge("lvm.pv_absent", device).changes == {"removed": True}
    assert converge("lvm.pv_absent", device).comment == f"Physical Volume {device} does not exist"
    assert "does not exist" in converge("lvm.pv_present", "/dev/saltern-none").comment
    assert "cannot be the name" in converge("lvm.pv_present", "--all").comment
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    kept = converge("lvm.pv_present", device, force=False)
    assert kept.result is False
    assert kept.comment.startswith(f"Failed to create Physical Volume {device}")


def test_groups(converge: Converge, loop: Devices) -> None:
    first, second, third = loop(), loop(), loop()
    made = converge("lvm.vg_present", GROUP, devices=f"{first},{second}", physicalextentsize="8M")
    assert made.changes == {"created": f'Volume group "{GROUP}" successfully created'}
    assert converge("lvm.vg_present", GROUP, devices=[first]).comment == (
        f"Volume Group {GROUP} already present\n{first} is part of Volume Group"
    )
    assert "is not present" in converge("lvm.vg_present", GROUP, devices=[third]).comment
    assert converge("lvm.pv_present", third).changes
    assert converge("lvm.vg_present", GROUP, devices=[first, third]).changes == {third: f"added to {GROUP}"}
    assert f"part of the Volume Group {GROUP}" in converge("lvm.pv_absent", third).comment
    assert f"{first} is part of {GROUP}" in converge("lvm.vg_present", f"{GROUP}2", devices=[first]).comment
    assert "no devices" in converge("lvm.vg_present", f"{GROUP}2").comment
    assert converge("lvm.vg_absent", GROUP).changes == {"removed": f'Volume group "{GROUP}" successfully removed'}
    assert converge("lvm.vg_absent", GROUP).comment == f"Volume Group {GROUP} already absent"


def test_logical_volumes(converge: Converge, loop: Devices) -> None:
    converge("lvm.vg_present", GROUP, devices=[loop()])
    made = converge("lvm.lv_present", "data", vgname=GROUP, size="10M")
    assert made.changes == {"created": 'Logical volume "data" created.'}
    assert size_of("data") == 12 * MIB
    assert converge("lvm.lv_present", "data", vgname=GROUP, size=10).comment == "Logical Volume data already present"
    grown = converge("lvm.lv_present", "data", vgname=GROUP, size="0.02g")
    assert grown.changes == {"resized": f'Logical volume "/dev/{GROUP}/data" successfully resized.'}
    assert size_of("data") == 24 * MIB
    assert "'force' must be True" in converge("lvm.lv_present", "data", vgname=GROUP, extents=2).comment
    assert converge("lvm.lv_present", "data", vgname=GROUP, extents=7).changes
    assert converge("lvm.lv_present", "data", vgname=GROUP, extents="50%FREE").comment == (
        "Logical Volume data already present, 50%FREE won't be resized."
    )
    assert converge("lvm.lv_present", "more", vgname=GROUP, extents="50%FREE", contiguous=True).changes
    refused = converge("lvm.lv_present", "huge", vgname=GROUP, size="5T")
    assert "Failed to create Logical Volume huge. Error" in refused.comment
    assert "insufficient free space" in refused.comment
    assert converge("lvm.lv_absent", "data", vgname=GROUP).changes
    assert converge("lvm.lv_absent", "data", vgname=GROUP).comment == "Logical Volume data already absent"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size": "1G", "extents": 3}, "Only one of extents or size"),
        ({"size": "+1G"}, "Size +1G is invalid"),
        ({"extents": "half"}, "Extents half are invalid"),
        ({}, "Either size or extents must be specified"),
        ({"size": 1, "thinpool": True, "thinvolume": True}, "only one of thinvolume or thinpool"),
        ({"extents": 1, "thinvolume": True}, "cannot be specified as extents"),
        ({"size": 1, "vgname": "none"}, "there is no group none"),
    ],
)
def test_volumes_that_cannot_be(converge: Converge, loop: Devices, given: dict[str, Any], said: str) -> None:
    converge("lvm.vg_present", GROUP, devices=[loop()])
    assert said in converge("lvm.lv_present", "bad", **{"vgname": GROUP, **given}).comment


def test_what_earlier_states_would_make_is_waited_for(loop: Devices) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}))
    device = loop()
    assert_foretold(
        machine,
        ("lvm.pv_present", device, {}),
        ("lvm.vg_present", GROUP, {"devices": [device]}),
        ("lvm.lv_present", "data", {"vgname": GROUP, "size": 8}),
        not_known=frozenset((2,)),
    )


def test_sizes() -> None:
    assert [LvSize.of(one, None).size for one in ("1", "2s", "1GB", "1.5GiB", "3k")] == [
        MIB, 1024, 1024 * MIB, 1536 * MIB, 3072,
    ]  # fmt: skip


def test_functions(loop: Devices) -> None:
    def call(fun: str, *args: Any, **kwargs: Any) -> Any:
        return Modules(Context(minion_id="x")).call(f"lvm.{fun}", args, kwargs)

    device, other = loop(), loop()
    assert call("version").startswith("2.")
    assert call("pvcreate", f"{device},{other}") is True
    with pytest.raises(CallFailed, match="already an LVM physical volume"):
        call("pvcreate", device, override=False)
    assert call("pvdisplay", device)[device]["Volume Group Name"] in ("", "#orphans_lvm2")
    assert call("pvdisplay", device, real=True)[device]["Real Physical Volume Device"] == device
    assert call("pvresize", device) is True
    assert call("vgcreate", GROUP, device, physicalextentsize="8m")[GROUP]["Current Physical Volumes"] == "1"
    assert "extended" in call("vgextend", GROUP, other)["Output from vgextend"]
    path = f"/dev/{GROUP}/data"
    made = call("lvcreate", "data", GROUP, size="16M")
    assert made[path]["Current Logical Extents Associated"] == "2"
    assert "extended" in call("lvextend", "+8M", path)["Output from lvextend"]
    assert size_of("data") == 24 * MIB
    assert "resized" in call("lvresize", lvpath=path, extents=4)["Output from lvresize"]
    assert size_of("data") == 32 * MIB
    with pytest.raises(CallFailed, match="one of size and extents"):
        call("lvresize", lvpath=path)
    assert "removed" in call("lvremove", "data", GROUP)
    assert call("lvdisplay", path) == {}
    assert "removed" in call("vgremove", GROUP)
    assert call("pvremove", [device, other]) is True
    with pytest.raises(CallFailed, match="is not a physical volume"):
        call("pvremove", device, override=False)
