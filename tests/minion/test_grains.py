"""Grains: recorded os-release files against what Salt 3008.3 says of them, parsers on recorded text, this machine."""

import time

import pytest

from minion.grains import collect
from minion.grains.hardware import parse_cpuinfo, virtual_of
from minion.grains.network import parse_resolv_conf, parse_route4, parse_route6
from minion.grains.osrelease import os_grains_of, parse
from minion.grains.system import parse_systemctl_version

DEBIAN = """PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
"""
UBUNTU = """PRETTY_NAME="Ubuntu 24.04.1 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.1 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
"""
ROCKY = """NAME="Rocky Linux"
VERSION="9.4 (Blue Onyx)"
ID="rocky"
ID_LIKE="rhel centos fedora"
VERSION_ID="9.4"
"""
ALMA = """NAME="AlmaLinux"
VERSION="9.4 (Seafoam Ocelot)"
ID="almalinux"
ID_LIKE="rhel centos fedora"
VERSION_ID="9.4"
"""
SLES = """NAME="SLES"
VERSION="15-SP5"
VERSION_ID="15.5"
PRETTY_NAME="SUSE Linux Enterprise Server 15 SP5"
ID="sles"
ID_LIKE="suse"
"""
ALPINE = """NAME="Alpine Linux"
ID=alpine
VERSION_ID=3.20.2
PRETTY_NAME="Alpine Linux v3.20"
"""
ARCH = """NAME="Arch Linux"
PRETTY_NAME="Arch Linux"
ID=arch
BUILD_ID=rolling
"""
MINT = """NAME="Linux Mint"
VERSION="22 (Wilma)"
ID=linuxmint
ID_LIKE="ubuntu debian"
VERSION_ID="22"
VERSION_CODENAME=wilma
"""
SYSTEMS = {
    "debian": (DEBIAN, ("Debian", "Debian", "Debian GNU/Linux", "12", [12], 12, "bookworm", "Debian-12", "amd64")),
    "ubuntu": (UBUNTU, ("Ubuntu", "Debian", "Ubuntu", "24.04", [24, 4], 24, "noble", "Ubuntu-24.04", "amd64")),
    "rocky": (ROCKY, ("Rocky", "RedHat", "Rocky Linux", "9.4", [9, 4], 9, "Blue Onyx", "Rocky Linux-9", "x86_64")),
    "alma": (ALMA, ("AlmaLinux", "RedHat", "AlmaLinux", "9.4", [9, 4], 9, "Seafoam Ocelot", "AlmaLinux-9", "x86_64")),
    "sles": (
        SLES,
        ("SUSE", "Suse", "SLES", "15.5", [15, 5], 15, "SUSE Linux Enterprise Server 15 SP5", "SLES-15", "x86_64"),
    ),
    "alpine": (
        ALPINE,
        ("Alpine", "Alpine", "Alpine Linux", "3.20.2", [3, 20, 2], 3, "", "Alpine Linux-3", "x86_64"),
    ),
    "arch": (
        ARCH,
        ("Arch", "Arch", "Arch Linux", "rolling", ["rolling"], "rolling", "", "Arch Linux-rolling", "x86_64"),
    ),
    "mint": (MINT, ("Mint", "Debian", "Linux Mint", "22", [22], 22, "wilma", "Linux Mint-22", "amd64")),
}
NAMES = (
    "os",
    "os_family",
    "osfullname",
    "osrelease",
    "osrelease_info",
    "osmajorrelease",
    "oscodename",
    "osfinger",
    "osarch",
)


@pytest.mark.parametrize("system", SYSTEMS)
def test_operating_systems_are_named_as_salt_names_them(system: str) -> None:
    text, expected = SYSTEMS[system]
    assert tuple(os_grains_of(text, "x86_64")[name] for name in NAMES) == expected


def test_a_system_without_a_release_has_no_osrelease() -> None:
    grains = os_grains_of('NAME="Debian GNU/Linux"\nVERSION_CODENAME=forky\nID=debian\n', "aarch64")
    assert grains["os"] == "Debian"
    assert grains["oscodename"] == "forky"
    assert grains["osarch"] == "arm64"
    assert "osrelease" not in grains


def test_an_unknown_system_takes_the_family_that_it_is_like() -> None:
    grains = os_grains_of('NAME="Frobnix Linux"\nID=frobnix\nID_LIKE="debian"\nVERSION_ID=3\n', "x86_64")
    assert (grains["os"], grains["os_family"]) == ("Frobnix", "Debian")


def test_os_release_that_is_no_such_file_still_gives_grains() -> None:
    assert os_grains_of("", "x86_64")["os"] == "linux"
    assert os_grains_of("\0\xff=\n=\nID='x\n", "x86_64")["os"] == "x"
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


def test_processors_and_hypervisors_are_read_from_recorded_text() -> None:
    cpu = parse_cpuinfo("processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu vme\n\nprocessor\t: 1\n", 2)
    assert cpu == {"num_cpus": 2, "cpu_model": "Some CPU", "cpu_flags": ["fpu", "vme"]}
    assert virtual_of("VMware, Inc. VMware Virtual Platform", hypervisor=True) == "VMware"
    assert virtual_of("QEMU Standard PC", hypervisor=True) == "kvm"


def test_this_machine_has_the_grains_that_formulas_use() -> None:
    grains = collect()
    for name in (
        *NAMES,
        "kernel",
        "host",
        "fqdn",
        "ip4_interfaces",
        "ipv4",
        "mem_total",
        "num_cpus",
        "init",
        "virtual",
    ):
        assert name in grains or name.startswith("osrelease"), name
    assert "127.0.0.1" in grains["ipv4"]
    assert grains["saltversioninfo"] == [3008, 3]
    assert "id" not in grains


def test_static_grains_win() -> None:
    assert collect({"os": "Own", "role": "db"})["os"] == "Own"
    assert collect({"role": "db"})["role"] == "db"


def test_grains_are_plain_values_and_the_same_each_time() -> None:
    import msgspec

    first, second = collect(), collect()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(first)) == first
    assert first == second


def test_a_resolver_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket
    import threading

    from minion.grains import network

    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: release.wait(60) and [])
    started = time.monotonic()
    grains = network.host_grains()
    release.set()
    assert grains["fqdn"] == socket.gethostname()
    assert grains["fqdn_ip4"] == []
    assert time.monotonic() - started < 30
