"""Grains: recorded os-release files against what Salt 3008.3 says of them, parsers on recorded text, this machine."""

import json
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from minion.config.files import BadMinionSettings
from minion.config.groups import GrainsOptions
from minion.config.settings import load_settings
from minion.grains import collect, network
from minion.grains.freebsd import freebsd_grains_of, parse_values
from minion.grains.hardware import devicetree, gpu_of, parse_cpuinfo, parse_meminfo
from minion.grains.network import in_time, parse_resolv_conf, parse_route4, parse_route6
from minion.grains.osrelease import os_grains_of, parse
from minion.grains.process import identity_grains
from minion.grains.storage import parse_mdstat, parse_volumes
from minion.grains.system import init_of, parse_kernel_parameters, parse_systemctl_version, selinux_of
from minion.grains.virtual import Signs, virtual_of
from minion.machine.netlink import Interface, parse_links, with_addresses

SYSTEMS: dict[str, Any] = json.loads((Path(__file__).parent / "recorded/os-releases.json").read_text())
"""Name -> an os-release file, and the grains that Salt makes of it."""


@pytest.mark.parametrize("system", SYSTEMS)
def test_operating_systems_are_named_as_salt_names_them(system: str) -> None:
    recorded = SYSTEMS[system]
    ours = os_grains_of(recorded["text"], "x86_64", older=recorded.get("older", ""))
    architecture = ours.pop("osarch")
    assert ours == recorded["grains"]
    assert architecture == ("amd64" if ours["os_family"] == "Debian" else "x86_64")


def test_a_system_between_releases_is_called_by_the_next_one() -> None:
    text = 'NAME="Debian GNU/Linux"\nVERSION_CODENAME=forky\nID=debian\n'
    grains = os_grains_of(text, "aarch64", older="forky/sid")
    assert (grains["os"], grains["oscodename"], grains["osarch"]) == ("Debian", "forky", "arm64")
    assert (grains["osrelease"], grains["osfinger"]) == ("forky/sid", "Debian-forky/sid")
    assert os_grains_of(text, "aarch64")["osrelease"] == ""


def test_lsb_release_counts_where_there_is_one() -> None:
    lsb = 'DISTRIB_ID="Arch"\nDISTRIB_RELEASE="rolling"\nDISTRIB_DESCRIPTION="Arch Linux"\n'
    grains = os_grains_of(SYSTEMS["arch"]["text"], "x86_64", lsb=lsb)
    assert (grains["osrelease"], grains["osfinger"]) == ("rolling", "Arch Linux-rolling")
    assert grains["lsb_distrib_description"] == "Arch Linux"
    assert "osmajorrelease" not in grains


def test_an_unknown_system_takes_the_family_that_it_is_like() -> None:
    grains = os_grains_of('NAME="Frobnix Linux"\nID=frobnix\nID_LIKE="debian"\nVERSION_ID=3\n', "x86_64")
    assert (grains["os"], grains["os_family"]) == ("Frobnix", "Debian")


def test_os_release_that_is_no_such_file_still_gives_grains() -> None:
    assert os_grains_of("", "x86_64")["os"] == "Linux"
    assert os_grains_of("\0\xff=\n=\nID='x\n", "x86_64")["os"] == "Linux"
    assert parse("A=\"b c\"\n# D=e\nF='g'\n") == {"A": "b c", "F": "g"}


def test_routes_resolvers_and_versions_are_read_from_recorded_text() -> None:
    four = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
    four += "eth1\t00000000\t0100A8C0\t0003\t0\t0\t200\t00000000\t0\t0\t0\n"
    four += "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    assert parse_route4(four) == "192.0.2.1"
    assert parse_route4("") is False
    zero = "0" * 32
    six = f"{zero} 00 {zero} 00 fd{'0' * 29}1 00000400 00000001 00000000 00000003     eth0\n"
    assert parse_route6(six) == "fd00::1"
    assert parse_route6(f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n") is False
    resolv = "# x\nnameserver 192.0.2.53\nnameserver fd00::53\nsearch a.example b.example\noptions ndots:2\n"
    found = parse_resolv_conf(resolv)
    assert found["ip4_nameservers"] == ["192.0.2.53"]
    assert found["ip6_nameservers"] == ["fd00::53"]
    assert found["search"] == ["a.example", "b.example"]
    assert parse_systemctl_version("systemd 252 (252.38-1~deb12u1)\n+PAM -GNUTLS\n") == {
        "version": "252",
        "features": "+PAM -GNUTLS",
    }
    assert parse_systemctl_version("") == {}


@pytest.mark.parametrize(
    ("text", "count", "model", "flags"),
    [
        ("processor\t: 0\nmodel name\t: Some\nflags\t\t: fpu vme\n\nprocessor\t: 1\n", 2, "Some", ["fpu", "vme"]),
        ("vendor_id       : IBM/S390\n# processors    : 4\n", 4, "IBM/S390", []),
        ("Processor\t: ARMv6-compatible rev 7\nFeatures\t: swp half\n", 1, "ARMv6", ["swp", "half"]),
        ("processor\t: 0\ncpu\t\t: POWER9\nprocessor\t: 1\ncpu\t\t: POWER9\n", 2, "POWER9", []),
        ("", 0, "Unknown", []),
    ],
)
def test_processors_are_read_from_recorded_text(text: str, count: int, model: str, flags: list[str]) -> None:
    assert parse_cpuinfo(text) == {"num_cpus": count, "cpu_model": model, "cpu_flags": flags}


def test_memory_arrays_volumes_and_boards_are_read_from_recorded_text() -> None:
    memory = "MemTotal:        8146772 kB\nMemFree: 1 kB\nSwapTotal:       2097148 kB\n"
    assert parse_meminfo(memory) == {"mem_total": 7955, "swap_total": 2047}
    arrays = (
        "Personalities : [raid1]\nmd1 : active raid1 sdb1[1]\n  97 blocks\nmd0 : active\n\nunused devices: <none>\n"
    )
    assert parse_mdstat(arrays) == ["md0", "md1"]
    assert parse_volumes("  data srv\n  data home\n  empty \n") == {"data": ["srv", "home"], "empty": []}
    assert devicetree("raspberrypi,4-model-b", "", "1000") == {
        "manufacturer": "raspberrypi",
        "productname": "4-model-b",
        "serialnumber": "1000",
    }
    assert devicetree("Some Board", "IBM,02", "") == {"productname": "Some Board", "serialnumber": "IBM,02"}
    assert devicetree("", "", "") == {}


def test_display_adapters_are_named_by_the_list_of_pci_devices() -> None:
    listed = (
        "# list\n1002  Advanced Micro Devices, Inc. [AMD/ATI]\n\t1638  Cezanne\n\t\t1043 1\n10de  NVIDIA Corporation\n"
    )
    listed += "\t2204  GA102 [Some 3090]\n"
    assert gpu_of(listed, "1002", "1638") == {"vendor": "amd", "model": "Cezanne"}
    assert gpu_of(listed, "10de", "2204") == {"vendor": "nvidia", "model": "GA102 [Some 3090]"}
    assert gpu_of(listed, "10de", "ffff") == {"vendor": "nvidia", "model": "Device ffff"}
    assert gpu_of("", "8086", "0046") == {"vendor": "intel", "model": "Device 0046"}


@pytest.mark.parametrize(
    ("signs", "virtual", "subtype"),
    [
        (Signs(), "physical", None),
        (Signs(product="VMware, Inc. VMware Virtual Platform Phoenix"), "VMware", None),
        (Signs(product="QEMU Standard PC (Q35 + ICH9, 2009) SeaBIOS"), "kvm", None),
        (Signs(product="innotek GmbH VirtualBox innotek GmbH"), "VirtualBox", None),
        (Signs(product="Microsoft Corporation Virtual Machine"), "VirtualPC", None),
        (Signs(product="Amazon EC2 m5.large Amazon EC2"), "Nitro", "Amazon EC2"),
        (Signs(product="Google Google Compute Engine Google"), "gce", None),
        (Signs(product="Red Hat RHEV Hypervisor"), "kvm", "rhev"),
        (Signs(product="Xen HVM domU Xen"), "xen", "Xen HVM DomU"),
        (Signs(product="Dell Inc. PowerEdge", changed_root=True), "virtual", "chroot"),
        (Signs(cpuinfo="flags\t\t: fpu hypervisor lahf_lm\n"), "kvm", None),
        (Signs(paths=frozenset({"/proc/vz", "/proc/vz/veinfo"})), "openvzve", None),
        (Signs(paths=frozenset({"/proc/xen"}), xen="control_d"), "xen", "Xen Dom0"),
        (Signs(paths=frozenset({"/sys/bus/xen", "/sys/bus/xen/drivers/xenconsole"})), "xen", "Xen PV DomU"),
        (Signs(product="QEMU", cgroup="12:cpu:/docker/abc\n"), "container", "Docker"),
        (Signs(product="QEMU", paths=frozenset({"/.dockerenv"})), "container", "Docker"),
        (Signs(paths=frozenset({"/run/.containerenv"})), "container", "Podman"),
        (Signs(container="lxc"), "container", "LXC"),
        (Signs(container="systemd-nspawn"), "systemd-nspawn", None),
        (Signs(cgroup="11:cpu:/kubepods/pod1/2\n"), "virtual", "kubernetes"),
        (Signs(product="QEMU", cgroup="11:cpu:/kubepods/pod1/2\n"), "kvm", "kubernetes"),
    ],
)
def test_virtual_machines_and_containers_are_known_by_their_signs(
    signs: Signs, virtual: str, subtype: str | None
) -> None:
    assert virtual_of(signs) == {"virtual": virtual, **({"virtual_subtype": subtype} if subtype else {})}


def test_init_kernel_parameters_and_selinux() -> None:
    assert init_of(["/sbin/init"], b"... sysvinit 2.96 ...") == "sysvinit"
    assert init_of(["/sbin/init"], b"busybox") == "unknown"
    assert init_of(["/usr/bin/tini", "--", "x"], b"") == "tini"
    assert init_of(["runit"], b"") == "runit"
    assert init_of([], b"") == "unknown"
    assert parse_kernel_parameters('ro root=/dev/sda1 a=b=c q="x"') == [
        ["ro", None],
        ["root", "/dev/sda1"],
        ["a", None],
        ["q", "x"],
    ]
    assert selinux_of(mounted=True, text="1") == {"enabled": True, "enforced": "Enforcing"}
    assert selinux_of(mounted=True, text="0") == {"enabled": True, "enforced": "Permissive"}
    assert selinux_of(mounted=False, text="") == {"enabled": False, "enforced": "Disabled"}


def test_freebsd_is_read_from_recorded_answers() -> None:
    values = parse_values("hw.ncpu: 4\nhw.machine: amd64\nhw.model: Some CPU\nhw.physmem: 8545267712\n", ": ")
    values |= parse_values("vm.swap_total: 2147483648\nhw.hv_vendor: bhyve\nsecurity.jail.jailed: 1\n", ": ")
    values |= parse_values('smbios.system.maker="Some Maker"\nsmbios.system.product="Some"\n', "=")
    boot = 'Copyright\nCPU: Some CPU (2000 MHz)\n  Origin="x"\n  Features=0x1<FPU,VME>\n  Features2=0x2<SSE3>\nreal\n'
    grains = freebsd_grains_of("14.1-RELEASE-p5", values, boot)
    assert (grains["os"], grains["os_family"], grains["osfullname"]) == ("FreeBSD", "FreeBSD", "FreeBSD 14.1")
    assert (grains["osrelease_info"], grains["osmajorrelease"], grains["osfinger"]) == ([14, 1], 14, "FreeBSD-14")
    assert (grains["num_cpus"], grains["mem_total"], grains["swap_total"]) == (4, 8149, 2048)
    assert grains["cpu_flags"] == ["FPU", "VME", "SSE3"]
    assert (grains["virtual"], grains["virtual_subtype"], grains["manufacturer"]) == ("bhyve", "jail", "Some Maker")


def _message(kind: int, body: bytes, *attributes: tuple[int, bytes]) -> bytes:
    for number, value in attributes:
        body += struct.pack("=HH", 4 + len(value), number) + value + b"\0" * (-len(value) % 4)
    return struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 1) + body


def test_interfaces_are_read_from_the_kernels_messages() -> None:
    links = _message(16, struct.pack("=BxHiII", 0, 1, 2, 0, 0), (3, b"eth0\0"), (1, bytes.fromhex("020000000001")))
    four = _message(20, struct.pack("=BBBBI", 2, 24, 0, 0, 2), (1, bytes([192, 0, 2, 9])), (2, bytes([192, 0, 2, 7])))
    six = _message(20, struct.pack("=BBBBI", 10, 64, 0, 0, 2), (1, bytes.fromhex("fd00" + "0" * 27 + "7")))
    elsewhere = _message(20, struct.pack("=BBBBI", 2, 24, 0, 0, 9), (2, bytes([198, 51, 100, 1])))
    found = with_addresses(parse_links(links), four + six + elsewhere)
    assert found == {"eth0": Interface(ip4=("192.0.2.7",), ip6=("fd00::7",), hardware="02:00:00:00:00:01")}
    assert parse_links(links + b"\x01\0\0\0") == parse_links(links)


def test_who_the_minion_is() -> None:
    assert identity_grains("", GrainsOptions()) == {}
    grains = collect({"role": "db"}, minion_id="vm", options=GrainsOptions(master="salt.example.org"))
    assert (grains["id"], grains["server_id"]) == ("vm", 2067164805)  # as Salt counts it
    assert (grains["master"], grains["role"]) == ("salt.example.org", "db")


def test_static_grains_have_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "grains").write_text("role: web\nrack: 3\n")
    (tmp_path / "minion").write_text("id: web1\ngrains:\n  role: db\n")
    assert load_settings(tmp_path).grains == {"role": "db", "rack": 3}
    (tmp_path / "grains").write_text("- no mapping\n")
    with pytest.raises(BadMinionSettings, match="grains:1: must hold"):
        load_settings(tmp_path)


def test_this_machine_has_the_grains_that_formulas_use() -> None:
    grains = collect()
    for name in (
        "os",
        "os_family",
        "osfullname",
        "oscodename",
        "osarch",
        "osrelease",
        "kernel",
        "host",
        "fqdn",
        "fqdns",
    ):
        assert name in grains, name
    for name in ("ip4_interfaces", "ipv4", "mem_total", "num_cpus", "num_gpus", "init", "virtual", "disks", "path"):
        assert name in grains, name
    assert "127.0.0.1" in grains["ipv4"]
    assert grains["saltversioninfo"] == [3008, 3]
    assert "id" not in grains


def test_static_grains_win() -> None:
    assert collect({"os": "Own", "role": "db"})["os"] == "Own"


def test_grains_are_plain_values_and_the_same_each_time() -> None:
    first = collect(minion_id="vm")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(first)) == first
    assert first == collect(minion_id="vm", before=first)


def test_a_resolver_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: release.wait(60) and [])
    monkeypatch.setattr(socket, "gethostbyaddr", lambda *_args, **_kwargs: release.wait(60) and ("", [], []))
    hostname = socket.gethostname()
    started = time.monotonic()
    grains = network.name_grains(["192.0.2.1"], {})
    before = {"localhost": hostname, "fqdn": "a.example.org", "fqdn_ip4": ["192.0.2.1"], "fqdns": ["a.example.org"]}
    remembered = network.name_grains(["192.0.2.1"], before)
    moved = network.name_grains(["192.0.2.1"], {**before, "localhost": "another"})
    release.set()
    assert (grains["fqdn"], grains["fqdn_ip4"], grains["fqdns"]) == (hostname, [], [])
    assert (remembered["domain"], remembered["fqdn_ip4"]) == ("example.org", ["192.0.2.1"])
    assert remembered["fqdns"] == ["a.example.org"]
    assert moved["fqdns"] == []
    assert time.monotonic() - started < 30


def test_an_answer_that_is_none_is_no_late_one() -> None:
    def unknown() -> str:
        raise OSError("no such host")

    assert in_time({"a": unknown, "b": lambda: "x"}, 30.0) == {"a": None, "b": "x"}
