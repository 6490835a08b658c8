"""Sample minions that a tree is checked for: grains of the families of systems that trees distinguish. Data alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from highstate.types import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Grains of one kind of machine."""

    name: str
    grains: Mapping[str, Value] = field(default_factory=dict)

    @property
    def minion_id(self) -> str:
        """The grain `id`, or the sample's name."""
        return str(self.grains.get("id") or self.name)


_COMMON: dict[str, Value] = {
    "cpuarch": "x86_64",
    "osarch": "x86_64",
    "num_cpus": 4,
    "mem_total": 7900,
    "swap_total": 1024,
    "virtual": "kvm",
    "host": "sample",
    "nodename": "sample",
    "localhost": "sample",
    "fqdn": "sample.example.org",
    "domain": "example.org",
    "fqdn_ip4": ["192.0.2.10"],
    "fqdn_ip6": ["2001:db8::10"],
    "ipv4": ["127.0.0.1", "192.0.2.10"],
    "ipv6": ["::1", "2001:db8::10"],
    "ip4_interfaces": {"lo": ["127.0.0.1"], "eth0": ["192.0.2.10"]},
    "ip6_interfaces": {"lo": ["::1"], "eth0": ["2001:db8::10"]},
    "ip_interfaces": {"lo": ["127.0.0.1", "::1"], "eth0": ["192.0.2.10", "2001:db8::10"]},
    "hwaddr_interfaces": {"lo": "00:00:00:00:00:00", "eth0": "02:00:00:00:00:10"},
    "path": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "ps": "ps -efHww",
    "roles": [],
    "saltversion": "3008.3",
    "saltversioninfo": [3008, 3],
    "pythonversion": [3, 11, 2, "final", 0],
    "pythonexecutable": "/usr/bin/python3",
    "username": "root",
    "groupname": "root",
    "uid": 0,
    "gid": 0,
    "shell": "/bin/sh",
    "locale_info": {"defaultlanguage": "en_US", "defaultencoding": "UTF-8", "detectedencoding": "utf-8"},
    "dns": {"nameservers": ["192.0.2.1"], "domain": "", "search": ["example.org"]},
    "biosversion": "1.0",
    "manufacturer": "QEMU",
    "productname": "Standard PC",
    "server_id": 1000,
    "master": "salt",
    "SSDs": [],
    "disks": ["vda"],
}


def _system(name: str, family: str, release: str, codename: str, init: str = "systemd", **more: Value) -> Sample:
    major = release.split(".")[0]
    grains = {
        **_COMMON,
        "id": name.lower(),
        "os": name,
        "os_family": family,
        "osfullname": name,
        "osrelease": release,
        "osrelease_info": [int(part) for part in release.split(".")],
        "osmajorrelease": int(major),
        "oscodename": codename,
        "osfinger": f"{name}-{major}",
        "kernel": "Linux",
        "kernelrelease": "6.1.0",
        "init": init,
        "lsb_distrib_id": name,
        "lsb_distrib_release": release,
        "lsb_distrib_codename": codename,
        **more,
    }
    return Sample(name=name, grains=grains)


SAMPLES: tuple[Sample, ...] = (
    _system("Debian", "Debian", "12", "bookworm", osarch="amd64", systemd={"version": "252", "features": ""}),
    _system("Rocky", "RedHat", "9.4", "Blue Onyx", systemd={"version": "252", "features": ""}),
    _system("SUSE", "Suse", "15.6", "Leap", systemd={"version": "254", "features": ""}),
    _system(
        "FreeBSD",
        "FreeBSD",
        "14.1",
        "14.1-RELEASE",
        "rc",
        kernel="FreeBSD",
        kernelrelease="14.1-RELEASE",
        osarch="amd64",
    ),
)
"""The families that most public trees tell apart."""
