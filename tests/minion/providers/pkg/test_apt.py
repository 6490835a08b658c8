"""The apt provider: parsers on recorded output, Debian's version order against dpkg itself, names that are refused."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highstate.files import MemoryFiles
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.providers.pkg import apt
from minion.providers.pkg.apt import Apt, parse_packages, parse_policy, parse_simulation
from minion.providers.pkg.debversion import compare
from minion.providers.pkg.packages import InstallOptions, PackageTarget, TransactionStep

POLICY = """bash:
  Installed: 5.2.15-2+b8
  Candidate: 5.2.15-2+b13
  Version table:
     5.2.15-2+b13 500
        500 http://mirror.example.org/debian bookworm/main amd64 Packages
 *** 5.2.15-2+b8 100
        100 /var/lib/dpkg/status
awk:
  Installed: (none)
  Candidate: (none)
  Version table:
hello:
  Installed: (none)
  Candidate: 2.10-3
  Version table:
     2.10-3 500
        500 http://mirror.example.org/debian bookworm/main amd64 Packages
"""
SIMULATED = """NOTE: This is only a simulation!
Reading package lists...
Remv old [1.0-1]
Purg gone [2.0]
Inst bash [5.2.15-2+b8] (5.2.15-2+b13 Debian:12.12/oldstable [amd64])
Inst libx:i386 (1:2.3~rc1-4 Debian:12.12/oldstable [i386]) []
Conf bash (5.2.15-2+b13 Debian:12.12/oldstable [amd64])
"""
PACKAGES = (
    "dpkg\tamd64\t1.21.22\tinstall\tinstalled\t\n"
    "hello\tamd64\t2.10-3\thold\tinstalled\t\n"
    "libx\ti386\t1.0\tinstall\tinstalled\t\n"
    "tzdata\tall\t2025b\tinstall\tinstalled\ttzdata-trixie\n"
    "mawk\tamd64\t1.3.4\tinstall\tinstalled\tawk, other (= 1.0)\n"
    "left\tamd64\t3.0\tdeinstall\tconfig-files\t\n"
    "never\tamd64\t\tunknown\tnot-installed\t\n"
    "broken\tamd64\t1\tinstall\thalf-configured\t\n"
)
ORDERED = ("1.0~rc1", "1.0~rc1-1", "1.0", "1.0-0+b1", "1.0-1", "1.0-1+b1", "1.0a", "1.0+dfsg-1", "1.2", "1.10", "1:0.1")


def _machine() -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles({}))


def test_policy_gives_candidates_and_versions() -> None:
    found = parse_policy(POLICY)
    assert set(found) == {"bash", "hello"}
    assert found["bash"].candidate == "5.2.15-2+b13"
    assert found["bash"].versions == ("5.2.15-2+b13", "5.2.15-2+b8")


def test_simulation_gives_every_step() -> None:
    assert parse_simulation(SIMULATED) == [
        TransactionStep(name="bash", old="5.2.15-2+b8", new="5.2.15-2+b13"),
        TransactionStep(name="gone", old="2.0", new=""),
        TransactionStep(name="libx:i386", old="", new="1:2.3~rc1-4"),
        TransactionStep(name="old", old="1.0-1", new=""),
    ]


def test_packages_are_named_as_they_are_asked_for() -> None:
    found = parse_packages(PACKAGES)
    assert set(found) == {"dpkg", "hello", "libx:i386", "tzdata", "mawk", "left"}
    assert found["hello"].held
    assert found["left"].installed is False
    assert found["mawk"].provides == ("awk", "other")


def test_versions_are_in_debians_order() -> None:
    for number, version in enumerate(ORDERED):
        assert compare(version, version) == 0
        for later in ORDERED[number + 1 :]:
            assert (compare(version, later), compare(later, version)) == (-1, 1), (version, later)


_PART = st.text(alphabet="0123456789abz.+~", min_size=1, max_size=8)
_VERSIONS = st.builds(
    lambda epoch, upstream, revision: f"{epoch}0{upstream}{revision}",
    st.sampled_from(["", "1:", "0:"]),
    _PART,
    st.one_of(st.just(""), _PART.map(lambda text: f"-{text}")),
)


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="compares with dpkg, which is not here")
@settings(max_examples=100, deadline=None)
@given(_VERSIONS, _VERSIONS)
def test_the_order_is_dpkgs(left: str, right: str) -> None:
    sign = {-1: "lt", 0: "eq", 1: "gt"}[compare(left, right)]
    assert subprocess.run(["dpkg", "--compare-versions", left, sign, right], check=False).returncode == 0


@pytest.mark.parametrize(
    "name", ["-y", "--purge", "hello-", "a b", "x=1", "x/stable", "hel*", "", "x;y", "./x.deb", "é"]
)
def test_names_that_apt_would_take_for_something_else_are_refused(name: str) -> None:
    for ask in (
        lambda: Apt().check_name(name),
        lambda: Apt().available(_machine(), [name]),
        lambda: Apt().remove(_machine(), [name], purge=False),
        lambda: Apt().hold(_machine(), [name], held=True),
        lambda: Apt().install(_machine(), [PackageTarget(name=name)], InstallOptions()),
    ):
        with pytest.raises(StateFailed, match="Invalid package name"):
            ask()


@pytest.mark.parametrize("name", ["g++", "libstdc++6", "libc6:i386", "python3.11", "0ad"])
def test_names_that_packages_have_are_taken(name: str) -> None:
    Apt().check_name(name)


def test_versions_and_releases_are_checked() -> None:
    with pytest.raises(StateFailed, match="Invalid version"):
        Apt().check_version("x", "1 2")
    with pytest.raises(StateFailed, match="Invalid version"):
        Apt().check_version("x", "-o=x")
    with pytest.raises(StateFailed, match="Invalid fromrepo"):
        Apt().available(_machine(), ["xx"], "-o Evil=1")


@pytest.mark.skipif(shutil.which("apt-cache") is None, reason="asks apt, which is not here")
def test_this_machines_packages_are_seen() -> None:
    have = Apt().packages(_machine())
    assert have["dpkg"].installed
    assert "dpkg" in Apt().available(_machine(), ["dpkg", "no-such-package-at-all"])
    assert "no-such-package-at-all" not in Apt().available(_machine(), ["no-such-package-at-all"])


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="asks apt, which is not here")
def test_a_name_that_would_be_a_regular_expression_is_not_simulated() -> None:
    assert Apt().predict_install(_machine(), [PackageTarget(name="dpk.")], InstallOptions()) is None


LOCKED = {
    "update": "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 417 (apt-get)\n"
    "E: Unable to lock directory /var/lib/apt/lists/",
    "hold": "dpkg: error: dpkg frontend lock was locked by another process with pid 417\n"
    "E: Executing dpkg failed. Are you root?",
}
"""What apt says at once, however long it is to wait for the lock of dpkg's frontend."""


def _busy(folder: Path, word: str, times: int) -> None:
    """An apt that finds somebody else's lock so many times."""
    for name in ("apt-get", "apt-mark"):
        program = folder / name
        program.write_text(
            f"#!/bin/sh\necho call >> {folder}/calls\n"
            f"[ $(wc -l < {folder}/calls) -gt {times} ] && exit 0\ncat >&2 <<'END'\n{LOCKED[word]}\nEND\nexit 100\n"
        )
        program.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(apt, "_LOCK_PAUSE", 0.0)
    return tmp_path


def test_somebody_elses_lock_is_waited_for(programs: Path) -> None:
    _busy(programs, "update", 2)
    assert Apt().refresh(_machine(), older_than=None) == ""
    assert (programs / "calls").read_text().count("call") == 3


def test_holding_waits_for_dpkgs_lock(programs: Path) -> None:
    _busy(programs, "hold", 1)
    Apt().hold(_machine(), ["hello"], held=True)
    assert (programs / "calls").read_text().count("call") == 2


def test_a_lock_that_stays_is_told_of(programs: Path) -> None:
    _busy(programs, "update", 1000)
    said = Apt(lock_seconds=0).refresh(_machine(), older_than=None)
    assert "held by process 417" in said
    assert "another package manager was waited for 0 s" in said
    with pytest.raises(StateFailed, match="held by process 417"):
        Apt(lock_seconds=0).upgrade(_machine(), [], whole=False)
