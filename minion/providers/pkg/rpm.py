"""What dnf and zypper have in common: the packages that rpm knows, and how rpm packages are named and ordered.

Called by `minion.providers.pkg.dnf` and `minion.providers.pkg.zypper`. A package has its plain name when it is of the
machine's own architecture or of none, and `name.arch` otherwise; its version is `[epoch:]version-release`, the epoch
where it is not 0. Both are Salt's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from minion.machine.plan import Reader
from minion.providers.commands import asked
from minion.providers.pkg.packages import Package
from minion.providers.pkg.rpmversion import compare

FIELDS = "%{NAME}\\t%{EPOCHNUM}\\t%{VERSION}\\t%{RELEASE}\\t%{ARCH}\\t[%{PROVIDES} ]\\n"
_KEYS = "gpg-pubkey"
"""Not packages, but the keys that rpm trusts."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A line of rpm's list."""

    name: str
    arch: str
    version: str
    provides: tuple[str, ...]


def packages(machine: Reader, held: Collection[str]) -> dict[str, Package]:
    """What is installed; `held` are the names of those on hold. Of several versions (kernels) the newest is listed."""
    native = str(machine.grains.get("osarch") or machine.grains.get("cpuarch") or "") or _native(machine)
    found: dict[str, Package] = {}
    for one in parse_packages(asked(machine, ["rpm", "-qa", "--queryformat", FIELDS])):
        name = plain_name(one.name, one.arch, native)
        if name in found and compare(found[name].version, one.version) >= 0:
            continue
        found[name] = Package(
            name=name, version=one.version, installed=True, held=one.name in held, provides=one.provides
        )
    return found


def parse_packages(text: str) -> Iterator[Installed]:
    """The packages in rpm's output in the format `FIELDS`."""
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 6 or fields[0] == _KEYS:
            continue
        name, epoch, version, release, arch, provides = fields
        # Sonames and files are provided by the thousand, and nobody asks for them by a state.
        names = tuple(dict.fromkeys(word for word in provides.split() if "(" not in word and "/" not in word))
        yield Installed(name, arch, evr(epoch, version, release), tuple(one for one in names if one != name))


def evr(epoch: str, version: str, release: str) -> str:
    """As Salt writes a version."""
    return f"{version}-{release}" if epoch in ("", "0", "(none)") else f"{epoch}:{version}-{release}"


def plain_name(name: str, arch: str, native: str) -> str:
    """The name that a package is asked for by."""
    return name if arch in (native, "noarch", "(none)", "") else f"{name}.{arch}"


def _native(machine: Reader) -> str:
    return asked(machine, ["rpm", "--eval", "%{_host_cpu}"]).strip()
