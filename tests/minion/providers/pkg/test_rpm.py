"""The package managers of rpm systems: recorded output, and real ones, where they are installed, in their own root."""

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from predictions import assert_foretold

from highstate.files import MemoryFiles
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.machine.plan import FileStat
from minion.providers.pkg import dnf, rpm, zypper
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.dnf import Dnf
from minion.providers.pkg.packages import InstallOptions, Package, PackageManager, PackageTarget, TransactionStep
from minion.providers.pkg.rpmversion import compare, compare_pacman, compare_segments
from minion.providers.pkg.zypper import Zypper

HAVE = {"greeting": Package(name="greeting", version="1.0-1", installed=True)}
INSTALL = """Dependencies resolved.
================================================================================
 Package                 Architecture    Version           Repository      Size
================================================================================
Installing:
 greeting                noarch          0:2.0-1           local          5.4 k
 a-name-that-is-much-too-long-for-its-column
                         noarch          3.1-1             local          5.4 k
Installing dependencies:
 greeting-voice          noarch          1:1.5-1           local          5.4 k
Installing weak dependencies:
 greeting-doc            noarch          1.5-1             local          5.4 k
Skipping packages with broken dependencies:
 broken                  noarch          1.5-1             local          5.4 k

Transaction Summary
================================================================================
Install  2 Packages

Total size: 11 k
Operation aborted.
"""
REMOVE = """Dependencies resolved.
================================================================================
 Package                 Architecture    Version          Repository       Size
================================================================================
Removing:
 greeting                noarch          1.0-1            @local            0

Transaction Summary
================================================================================
Remove  1 Package
"""


def test_versions_are_ordered_as_rpm_orders_them() -> None:
    if shutil.which("rpm") is None:
        pytest.skip("rpm is not installed: its order cannot be asked for")
    versions = ["1.0", "1.0.0", "1.0a", "1.0rc1", "1.0~rc1", "1.0^git1", "1.0.1", "2", "10", "1a", "5.5p1", "5.5p10"]
    pairs = list(itertools.product([*versions, "01.0", "1.0.a", "a", "1.0^", "1.0~~"], repeat=2))
    asked = "\n".join(f"%{{lua:print(rpm.vercmp('{left}', '{right}'))}}" for left, right in pairs)
    said = subprocess.run(["rpm", "--eval", asked], capture_output=True, text=True, check=True).stdout.split()
    assert [compare_segments(left, right) for left, right in pairs] == [int(one) for one in said]


def test_epochs_and_releases_count() -> None:
    assert compare("1:1.0-1", "2.0-1") == 1
    assert compare("0:1.0-1", "1.0-1") == 0
    assert compare("1.0-2", "1.0-10") == -1
    assert compare("1.0", "1.0-5") == 0
    assert compare("1.0~rc1-1", "1.0-1") == -1
    assert compare("1.0^git2-1", "1.0-1") == 1


def test_pacman_has_letters_after_a_version_older() -> None:
    # from vercmp(8)
    ordered = ["1.0a", "1.0b", "1.0beta", "1.0p", "1.0pre", "1.0rc", "1.0", "1.0.a", "1.0.1"]
    assert all(compare_pacman(*pair) == -1 for pair in itertools.pairwise(ordered))
    assert [
        compare_pacman(*pair) for pair in itertools.pairwise(["1", "1.0", "1.1", "1.1.1", "1.2", "2.0", "3.0.0"])
    ] == [-1] * 6
    assert compare_pacman("1:1.0-1", "2.0-1") == 1
    assert compare_pacman("1.5", "1.5-2") == 0
    assert compare_pacman("1.5-1", "1.5-2") == -1


def test_rpms_list_is_read() -> None:
    text = "bash\t0\t5.1.8\t9.el9\tx86_64\tbash config(bash) /bin/bash sh \nglibc\t2\t2.34\t1\ti686\tglibc \n"
    text += "gpg-pubkey\t0\t8483c65d\t5ccc5b19\t(none)\t\nbroken line\n"
    found = list(rpm.parse_packages(text))
    assert [(one.name, one.version, one.provides) for one in found] == [
        ("bash", "5.1.8-9.el9", ("sh",)),
        ("glibc", "2:2.34-1", ()),
    ]
    assert [rpm.plain_name(one.name, one.arch, "x86_64") for one in found] == ["bash", "glibc.i686"]


def test_dnfs_tables_are_read() -> None:
    assert dnf.parse_transaction(INSTALL, HAVE) == [
        TransactionStep(name="a-name-that-is-much-too-long-for-its-column", old="", new="3.1-1"),
        TransactionStep(name="greeting", old="1.0-1", new="2.0-1"),
        TransactionStep(name="greeting-doc", old="", new="1.5-1"),
        TransactionStep(name="greeting-voice", old="", new="1:1.5-1"),
    ]
    assert dnf.parse_transaction(REMOVE, HAVE) == [TransactionStep(name="greeting", old="1.0-1", new="")]
    assert dnf.parse_transaction("Nothing to do.\n", HAVE) == []


def test_what_dnf_offers_locks_and_groups_is_read() -> None:
    text = "greeting\t0\t1.0\t1\tnoarch\ngreeting\t0\t10.0\t1\tnoarch\n\nlibx\t1\t2\t3\ti686\nother\n"
    offered = dnf.parse_available(text, ["greeting", "libx.i686"])
    assert offered["greeting"].versions == ("10.0-1", "1.0-1")
    assert offered["libx.i686"].candidate == "1:2-3"
    assert dnf.parse_locks("# lock\nvim-enhanced-2:8.2-16.el9.*\n0:yum-3-4.*\n") == {"vim-enhanced", "yum"}
    assert dnf.parse_locks('version = "1.0"\n[[packages]]\nname = "bash"\n') == {"bash"}
    group = "Group: Tools\n Description: x\n Mandatory Packages:\n   gcc\n   make\n Default Packages:\n   gdb\n"
    assert dnf.parse_group(group + " Optional Packages:\n   cmake\n") == ["gcc", "gdb", "make"]


def test_zyppers_xml_is_read() -> None:
    found = """<?xml version='1.0'?>
<stream><message type="info">Loading</message><search-result version="0.0"><solvable-list>
<solvable status="other-version" name="greeting" kind="package" edition="2.0-1" arch="noarch" repository="local"/>
<solvable status="installed" name="greeting" kind="package" edition="1.0-1" arch="noarch" repository="local"/>
<solvable status="installed" name="own" kind="package" edition="1" arch="noarch" repository="(System Packages)"/>
</solvable-list></search-result></stream>"""
    offered = zypper.parse_available(found)
    assert offered["greeting"].versions == ("2.0-1", "1.0-1")
    assert "own" not in offered
    summary = """Some words before it
<stream><install-summary><to-upgrade>
<solvable type="package" name="greeting" edition="2.0-1" arch="noarch" edition-old="1.0-1"><description/></solvable>
</to-upgrade><to-install><solvable type="package" name="voice" edition="1" arch="noarch"/>
<solvable type="patch" name="p" edition="1"/></to-install>
<to-remove><solvable type="package" name="old" edition="3"/></to-remove></install-summary></stream>Aborted."""
    assert zypper.parse_summary(summary) == [
        TransactionStep(name="greeting", old="1.0-1", new="2.0-1"),
        TransactionStep(name="old", old="3", new=""),
        TransactionStep(name="voice", old="", new="1"),
    ]
    assert zypper.parse_summary("no document") == []
    assert zypper.parse_summary("<stream><broken></stream>") == []
    assert zypper.parse_locks("type: package\nsolvable_name: greeting\n\nsolvable_name: b\n") == {"greeting", "b"}
    assert zypper.parse_pattern(
        "S | Name | Type    | Dependency\n--+-+-+-\n  | gcc  | package |\n  | x | pattern |\n"
    ) == ["gcc"]


class Rooted(LocalMachine):
    """This machine, whose /etc, /usr and /var are looked for below a folder."""

    root: Path

    def stat(self, path: str) -> FileStat | None:
        return super().stat(f"{self.root}{path}")

    def read(self, path: str) -> bytes:
        return super().read(f"{self.root}{path}")


def _machine(root: Path) -> Rooted:
    machine = Rooted(sources_port=MemoryFiles({}), grains={"osarch": "x86_64"})
    machine.root = root
    return machine


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("usr/bin/dnf", "Dnf"),
        ("usr/bin/dnf5", "Dnf"),
        ("usr/bin/zypper", "Zypper"),
        ("sbin/apk", "Apk"),
        ("usr/bin/pacman", "Pacman"),
        ("usr/local/sbin/pkg", "PkgNg"),
    ],
)
def test_the_manager_is_the_one_that_is_there(tmp_path: Path, program: str, kind: str) -> None:
    with pytest.raises(StateFailed, match="apt, dnf, yum, zypper, apk, pacman and pkg are known"):
        package_manager(_machine(tmp_path))
    (tmp_path / program).parent.mkdir(parents=True)
    (tmp_path / program).touch()
    assert type(package_manager(_machine(tmp_path))).__name__ == kind
    for name in ("dpkg-query", "apt-get"):
        (tmp_path / "usr/bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / "usr/bin" / name).touch()
    assert type(package_manager(_machine(tmp_path))).__name__ == "Apt"


SPEC = """Name: {name}
Version: {version}
Release: 1
Summary: empty
License: none
BuildArch: noarch
{more}
%description
empty
%files
"""


@pytest.fixture
def rooted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rooted:
    """A root with nothing in it, a repository with greeting 1.0 and 2.0 and what they need, and programs that work
    there and nowhere else."""
    for program in ("rpm", "rpmbuild", "createrepo_c"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: there is no real repository")
    for folder in ("root/etc/zypp", "bin", "repos.d", "build", "log", "cache", "repo"):
        (tmp_path / folder).mkdir(parents=True)
    needs = "Requires: greeting-voice"
    voice = ("greeting-voice", "1.5", "Provides: voice")
    for name, version, more in (("greeting", "1.0", needs), ("greeting", "2.0", needs), voice, ("anchor", "1", "")):
        spec = tmp_path / f"build/{name}-{version}.spec"
        spec.write_text(SPEC.format(name=name, version=version, more=more))
        folders = ["--define", f"_topdir {tmp_path}/build", "--define", f"_rpmdir {tmp_path}/repo"]
        subprocess.run(["rpmbuild", "-bb", "--quiet", *folders, str(spec)], check=True, capture_output=True)
    subprocess.run(["createrepo_c", "-q", str(tmp_path / "repo")], check=True)
    repository = f"[local]\nname=local\nbaseurl=file://{tmp_path}/repo\nenabled=1\ngpgcheck=0\n"
    (tmp_path / "repos.d/local.repo").write_text(repository)
    settings = " ".join(
        f"--setopt={name}={tmp_path}/{folder}"
        for name, folder in (("reposdir", "repos.d"), ("cachedir", "cache"), ("logdir", "log"))
    )
    options = {
        "dnf": f"--installroot={tmp_path}/root {settings} --releasever=1",
        "zypper": f"--root {tmp_path}/root --reposd-dir {tmp_path}/repos.d --no-gpg-checks",
        "rpm": f"--root={tmp_path}/root",
    }
    for program, given in options.items():
        path = tmp_path / "bin" / program
        path.write_text(f'#!/bin/sh\nexec {shutil.which(program) or "false"} {given} "$@"\n')
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "root/usr/bin").mkdir(parents=True)
    return _machine(tmp_path / "root")


def _manager(program: str, machine: Rooted) -> PackageManager:
    if shutil.which(program, path="/usr/bin") is None:
        pytest.skip(f"{program} is not installed")
    (machine.root / "usr/bin" / program).touch()
    manager = package_manager(machine)
    assert isinstance(manager, Dnf | Zypper)
    assert manager.refresh(machine, older_than=None) == ""
    # Zypper does not bear a root that has had packages and has none any more.
    manager.install(machine, [PackageTarget(name="anchor")], InstallOptions())
    return manager


@pytest.mark.parametrize("program", ["dnf", "zypper"])
@pytest.mark.skipif(os.geteuid() != 0, reason="rpm changes its root as root only")
def test_real_packages_come_are_upgraded_and_go(program: str, rooted: Rooted) -> None:
    manager = _manager(program, rooted)
    offered = manager.available(rooted, ["greeting", "nosuch"])
    assert list(offered) == ["greeting"]
    assert offered["greeting"].versions == ("2.0-1", "1.0-1")

    older = [PackageTarget(name="greeting", version="1.0-1")]
    predicted = manager.predict_install(rooted, older, InstallOptions())
    assert predicted == [
        TransactionStep(name="greeting", old="", new="1.0-1"),
        TransactionStep(name="greeting-voice", old="", new="1.5-1"),
    ]
    manager.install(rooted, older, InstallOptions())
    have = manager.packages(rooted)
    assert (have["greeting"].version, have["greeting-voice"].version) == ("1.0-1", "1.5-1")
    assert have["greeting-voice"].provides == ("voice",)

    assert manager.predict_upgrade(rooted, [], whole=False) == [
        TransactionStep(name="greeting", old="1.0-1", new="2.0-1")
    ]
    manager.upgrade(rooted, ["greeting"], whole=False)
    assert manager.packages(rooted)["greeting"].version == "2.0-1"
    assert manager.predict_upgrade(rooted, [], whole=True) == []

    assert manager.predict_remove(rooted, ["greeting-voice"], purge=False) == [
        TransactionStep(name="greeting", old="2.0-1", new=""),
        TransactionStep(name="greeting-voice", old="1.5-1", new=""),
    ]
    manager.remove(rooted, ["greeting-voice"], purge=False)
    assert list(manager.packages(rooted)) == ["anchor"]
    with pytest.raises(StateFailed, match="Problem encountered installing package"):
        manager.install(rooted, [PackageTarget(name="nosuch")], InstallOptions())
    paths = [str(path) for path in (rooted.root.parent / "repo").rglob("greeting-voice*.rpm")]
    manager.install_files(rooted, paths)
    assert "greeting-voice" in manager.packages(rooted)


@pytest.mark.parametrize("program", ["dnf", "zypper"])
@pytest.mark.skipif(os.geteuid() != 0, reason="rpm changes its root as root only")
def test_states_work_on_real_rpm_packages(program: str, rooted: Rooted) -> None:
    _manager(program, rooted)
    run = _runner(rooted)
    predicted = run("installed", "x", pkgs=[{"greeting": "<2"}], refresh=False, test=True)
    done = run("installed", "x", pkgs=[{"greeting": "<2"}], refresh=False)
    assert (predicted.result, done.result, done.changes) == (None, True, predicted.changes)
    assert done.changes["greeting"] == {"old": "", "new": "1.0-1"}
    assert run("installed", "x", pkgs=["voice"], refresh=False).changes == {}
    assert run("latest", "greeting", refresh=False).changes == {"greeting": {"old": "1.0-1", "new": "2.0-1"}}
    purged = run("purged", "greeting")
    assert purged.result is True
    assert purged.changes["installed"]["greeting"] == {"old": "2.0-1", "new": ""}
    assert run("uptodate", "x").comment == "System is already up-to-date"


@pytest.mark.parametrize("program", ["dnf", "zypper"])
@pytest.mark.skipif(os.geteuid() != 0, reason="rpm changes its root as root only")
def test_what_is_foretold_of_packages_is_what_is_done(program: str, rooted: Rooted) -> None:
    _manager(program, rooted)
    old, fresh = {"pkgs": [{"greeting": "<2"}], "refresh": False}, {"refresh": False}
    assert_foretold(
        rooted,
        ("pkg.installed", "greeting", old),
        ("pkg.installed", "greeting", old),
        ("pkg.installed", "greeting", fresh),
        ("pkg.latest", "greeting", fresh),
        ("pkg.uptodate", "x", {}),
        ("pkg.installed", "greeting", {"version": "2.0-1", **fresh}),
        ("pkg.removed", "greeting", {}),
        not_known=frozenset({6}),
    )
    assert _runner(rooted)("installed", "greeting", refresh=False).result is True
    assert_foretold(
        rooted,
        ("pkg.removed", "greeting", {}),
        ("pkg.removed", "greeting", {}),
        ("pkg.purged", "greeting", {}),
        ("pkg.latest", "greeting", fresh),
        not_known=frozenset({3} if program == "dnf" else ()),  # dnf would bring back what it takes along
    )


def _runner(machine: Rooted) -> Callable[..., StateResult]:
    def run(fun: str, name: str, *, test: bool = False, **arguments: object) -> StateResult:
        chunk = Chunk(state="pkg", fun=fun, id=name, name=name, sls="packages", arguments=arguments)
        engine = StateEngine(machine, test=test)
        prepared = engine.plan(chunk, arguments, watched=False)
        assert prepared is not None
        return engine.act(prepared)

    return run
