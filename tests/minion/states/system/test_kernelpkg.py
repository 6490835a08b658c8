"""kernelpkg: a package manager in memory, and stand-ins for apt-cache, rpm and shutdown."""

import os
from types import MappingProxyType

import pytest
from below_root import BelowRoot

from minion.execution import CallFailed, Context, Modules
from minion.providers import kernels
from minion.providers.pkg.debversion import compare
from minion.providers.pkg.packages import Available, Package, TransactionStep

DEPENDS = "linux-image-amd64\\n  Depends: linux-image-6.1.0-20-amd64\\n"


class InMemory:
    """A package manager that has these packages, and takes no others than kernels."""

    def __init__(self, *names, candidate=""):
        self.have = list(names)
        self.candidate = candidate

    def packages(self, machine):
        return {name: Package(name=name, version="1", installed=True) for name in self.have}

    def available(self, machine, names, fromrepo=""):
        return {name: Available(candidate=self.candidate) for name in names}

    def compare(self, left, right):
        return compare(left, right)

    def predict_install(self, machine, targets, options):
        (target,) = targets
        return [TransactionStep(name=target.name, old="", new=target.version or "6.1.76-1"),
                TransactionStep(name="linux-base", old="4.8", new="4.9")]  # fmt: skip

    def install(self, machine, targets, options):
        machine.begin_elsewhere()
        self.have += [target.name for target in targets]

    def remove(self, machine, names, *, purge):
        for name in names:
            self.have.remove(name)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """machine(manager, **grains): a machine with that package manager."""
    (tmp_path / "bin").mkdir()
    for name, script in {
        "apt-cache": f'[ "$2" = linux-image-amd64 ] && printf "{DEPENDS}"',
        "rpm": 'printf "4.18.0-80.el8\\n4.18.0-147.el8\\n"',
        "shutdown": f'echo "$*" > {tmp_path}/down',
    }.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    def make(manager, **grains):
        monkeypatch.setattr(kernels, "package_manager", lambda machine: manager)
        return BelowRoot.of(tmp_path / "root", **grains)

    return make


DEBIAN = MappingProxyType({"os_family": "Debian", "kernelrelease": "6.1.0-9-amd64"})


def test_the_newest_kernel_is_installed(converge, machine):
    manager = InMemory("linux-image-6.1.0-9-amd64", "linux-image-6.1.0-18-amd64", "linux-image-6.1.0-30-cloud-amd64")
    here = machine(manager, **DEBIAN)
    done = converge("kernelpkg.latest_installed", "x", machine=here)
    assert done.changes == {
        "linux-image-6.1.0-20-amd64": {"old": "", "new": "6.1.76-1"}, "linux-base": {"old": "4.8", "new": "4.9"},
    }  # fmt: skip
    assert done.comment == "The latest kernel package has been installed, but not activated."
    said = converge("kernelpkg.latest_installed", "x", machine=here).comment
    assert said == "The latest kernel package is already installed: 6.1.0-20-amd64"


def test_the_machine_is_booted_for_a_newer_one(converge, machine, tmp_path):
    here = machine(InMemory("linux-image-6.1.0-9-amd64"), **DEBIAN)
    said = converge("kernelpkg.latest_active", "x", machine=here).comment
    assert said == "The latest installed kernel package is active: 6.1.0-9-amd64"
    assert converge("kernelpkg.latest_wait", "x", machine=here, at_time=5).changes == {}
    assert not (tmp_path / "down").exists()


def test_releases_of_red_hat(machine, tmp_path):
    context = Context(minion_id="m")
    vars(context)["machine"] = machine(
        InMemory(candidate="4.18.0-193.el8"), os_family="RedHat", cpuarch="x86_64",
        kernelrelease="4.18.0-80.el8.x86_64",
    )  # fmt: skip

    def call(fun, *args, **given):
        return Modules(context).call(f"kernelpkg.{fun}", args, given)

    assert call("active") == "4.18.0-80.el8"
    assert call("list_installed") == ["4.18.0-80.el8", "4.18.0-147.el8"]
    assert (call("latest_installed"), call("latest_available")) == ("4.18.0-147.el8", "4.18.0-193.el8")
    assert (call("needs_reboot"), call("upgrade_available")) == (True, True)
    told = call("upgrade", reboot=True, at_time="+5")
    assert told["upgrades"]["kernel"] == {"old": "", "new": "4.18.0-193.el8"}
    assert (told["reboot_required"], (tmp_path / "down").read_text()) == (True, "-r +5\n")


def test_old_ones_are_removed(machine):
    manager = InMemory(*(f"linux-image-6.1.0-{number}-amd64" for number in (9, 18, 20)))
    context = Context(minion_id="m")
    vars(context)["machine"] = machine(manager, **DEBIAN)

    def call(fun, *args):
        return Modules(context).call(f"kernelpkg.{fun}", args)

    with pytest.raises(CallFailed, match="Active kernel"):
        call("remove", "6.1.0-9-amd64")
    with pytest.raises(CallFailed, match="not installed"):
        call("remove", "6.1.0-1-amd64")
    assert call("cleanup") == {"removed": ["linux-image-6.1.0-18-amd64"]}
    assert manager.have == ["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-20-amd64"]
