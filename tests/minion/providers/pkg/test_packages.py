"""Package managers that this machine is not run by: recorded answers of programs that note how they were called."""

import io
import itertools
import os
import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.providers.pkg import apk, pacman, pkgng
from minion.providers.pkg.apk import Apk
from minion.providers.pkg.dnf import Dnf
from minion.providers.pkg.packages import InstallOptions, PackageManager, PackageTarget, TransactionStep
from minion.providers.pkg.pacman import Pacman
from minion.providers.pkg.pkgng import PkgNg
from minion.providers.pkg.yum import Yum
from minion.providers.pkg.zypper import Zypper

MACHINE = LocalMachine(sources_port=MemoryFiles({}), grains={"osarch": "x86_64"})
PLAIN = InstallOptions()
APK_POLICY = """zlib policy:
  1.2.13-r0:
    lib/apk/db/installed
  1.3.1-r2:
    https://packages.example.org/main
  1.3.1-r10:
    https://packages.example.org/main
    @edge https://packages.example.org/edge
own policy:
  1-r0:
    lib/apk/db/installed
"""
APK_ADD = """(1/3) Purging old (1-r0)
(2/3) Installing zlib (1.3.1-r2)
(3/3) Upgrading busybox (1.36-r1 -> 1.36-r2)
OK: 8 MiB in 20 packages
"""
PACMAN_INFO = """Repository      : core
Name            : zlib
Version         : 1:1.3.1-2
Description     : Version : of a library

Repository      : extra
Name            : zlib
Version         : 1:1.0-1
"""
PKG_INSTALL = """Updating repository catalogue...
The following 3 package(s) will be affected (of 0 checked):

New packages to be INSTALLED:
\tnginx: 1.26.2,3 [FreeBSD]

Installed packages to be UPGRADED:
\tpcre2: 10.42 -> 10.43 [FreeBSD]

Installed packages to be REMOVED:
\told: 1.0_1

Number of packages to be installed: 1
"""


ZYPPER_FORCED = (
    *("--non-interactive", "--no-refresh", "install"),
    *("--auto-agree-with-licenses", "--force", "--name", "--", "zlib"),
)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], list[str]]]:
    """programs("apk", {"policy": answer}): an executable that gives the answer to a call that holds the word; gives
    what it was called with."""

    def make(name: str, answers: Mapping[str, str] | None = None, code: int = 0) -> Callable[[], list[str]]:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        log = tmp_path / f"{name}.log"
        log.touch()
        cases = ""
        for number, (word, answer) in enumerate((answers or {}).items()):
            (tmp_path / f"{name}.{number}").write_text(answer)
            pattern = f'*" {word} "*' if word else "*"
            cases += f'case " $* " in {pattern}) cat {tmp_path}/{name}.{number};; esac\n'
        (folder / name).write_text(f'#!/bin/sh\necho "$*" >> {log}\n{cases}exit {code}\n')
        (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return lambda: log.read_text().splitlines()

    return make


def test_apk_is_asked_and_read(programs: Callable[..., Callable[[], list[str]]]) -> None:
    called = programs("apk", {"policy": APK_POLICY, "--simulate": APK_ADD})
    offered = Apk().available(MACHINE, ["zlib", "own"])
    assert offered["zlib"].versions == ("1.3.1-r10", "1.3.1-r2")
    assert "own" not in offered
    assert Apk().predict_install(MACHINE, [PackageTarget(name="zlib", version="1.3.1-r2")], PLAIN) == [
        TransactionStep(name="busybox", old="1.36-r1", new="1.36-r2"),
        TransactionStep(name="old", old="1-r0", new=""),
        TransactionStep(name="zlib", old="", new="1.3.1-r2"),
    ]
    Apk().install(
        MACHINE,
        [PackageTarget(name="zlib", version="1.3.1-r2"), PackageTarget(name="curl")],
        InstallOptions(fromrepo="edge"),
    )
    Apk().remove(MACHINE, ["zlib"], purge=True)
    Apk().upgrade(MACHINE, [], whole=False)
    Apk().upgrade(MACHINE, ["zlib"], whole=False)
    assert Apk().refresh(MACHINE, older_than=60) == ""
    assert called() == [
        "policy zlib own",
        "add --simulate zlib=1.3.1-r2",
        "add zlib@edge=1.3.1-r2 curl@edge",
        "del --purge zlib",
        "upgrade",
        "add --upgrade zlib",
        "update --cache-max-age 60",
    ]


@pytest.mark.parametrize(
    ("manager", "program", "command"),
    [
        (Apk(), "apk", "fix --reinstall zlib"),
        (Pacman(), "pacman", "--noprogressbar --noconfirm -S -- zlib"),
        (PkgNg(), "pkg", "install -y -f zlib"),
        (Dnf(program="dnf"), "dnf", "--assumeyes reinstall -- zlib"),
        (Yum(), "yum", "--assumeyes reinstall -- zlib"),
        (Zypper(), "zypper", " ".join(ZYPPER_FORCED)),
    ],
)
def test_what_is_there_is_installed_once_more(
    programs: Callable[..., Callable[[], list[str]]], manager: PackageManager, program: str, command: str
) -> None:
    called = programs(program)
    manager.install(MACHINE, [PackageTarget(name="zlib")], InstallOptions(reinstall=True))
    assert called() == [command]


def test_apks_database_is_read() -> None:
    found = apk.parse_database(
        "C:Q1x\nP:busybox\nV:1.36.1-r2\np:cmd:sh=1 so:x=1 /bin/sh=1.36\n\nP:mail\nV:1\np:mta=1\n\n"
    )
    assert (found["busybox"].version, found["mail"].provides) == ("1.36.1-r2", ("mta",))


@pytest.mark.parametrize(
    "ordered",
    [
        [
            "1.0_alpha1-r0",
            "1.0_alpha2",
            "1.0_beta",
            "1.0_pre1",
            "1.0_rc1",
            "1.0_rc1_p1",
            "1.0-r0",
            "1.0-r1",
            "1.0_git1",
        ],
        ["1.0_p1", "1.0a", "1.0b", "1.0.1", "1.9", "1.10-r0", "2"],
    ],
)
def test_apk_orders_versions(ordered: list[str]) -> None:
    for number, older in enumerate(ordered):
        assert apk.compare(older, older) == 0
        for newer in ordered[number + 1 :]:
            assert (apk.compare(older, newer), apk.compare(newer, older)) == (-1, 1)


def test_pacman_is_asked_and_read(programs: Callable[..., Callable[[], list[str]]]) -> None:
    listed = "zlib 1:1.3.1-2\nnew 1-1\n"
    called = programs(
        "pacman", {"-Si": PACMAN_INFO, "-Q": "zlib 1:1.0-1\nbash 5-1\n", "--print": listed, "-Sgq": "gcc\nmake\n"}
    )
    assert Pacman().packages(MACHINE)["zlib"].version == "1:1.0-1"
    assert Pacman().available(MACHINE, ["zlib"], "core")["zlib"].versions == ("1:1.3.1-2",)
    assert Pacman().predict_install(MACHINE, [PackageTarget(name="zlib")], PLAIN) == [
        TransactionStep(name="new", old="", new="1-1"),
        TransactionStep(name="zlib", old="1:1.0-1", new="1:1.3.1-2"),
    ]
    assert Pacman().predict_remove(MACHINE, ["zlib"], purge=True) == [
        TransactionStep(name="zlib", old="1:1.0-1", new="")
    ]
    Pacman().install(MACHINE, [PackageTarget(name="zlib", version="1:1.3.1-2")], PLAIN)
    Pacman().upgrade(MACHINE, [], whole=True)
    assert Pacman().groups(MACHINE, "base-devel") == ["gcc", "make"]
    assert [line for line in called() if "-Q" not in line and "--print" not in line] == [
        "-Si -- core/zlib",
        "-Si -- zlib",
        "--noprogressbar --noconfirm -S --needed -- zlib",
        "--noprogressbar --noconfirm -Su",
        "-Sgq -- base-devel",
    ]
    with pytest.raises(StateFailed, match=r"version 0\.9 of zlib is not offered"):
        Pacman().install(MACHINE, [PackageTarget(name="zlib", version="0.9")], PLAIN)
    assert (
        pacman.with_ignored("[options]\nIgnorePkg = a b\n", ["b", "c"], held=True) == "[options]\nIgnorePkg = a b c\n"
    )
    assert pacman.with_ignored("[options]\nIgnorePkg = a\nIgnorePkg = b\n", ["a"], held=False) == (
        "[options]\nIgnorePkg = b\n"
    )
    assert pacman.with_ignored("# c\n[options]\nColor\n", ["a"], held=True) == "# c\n[options]\nIgnorePkg = a\nColor\n"
    assert pacman.with_ignored("", ["a"], held=True) == "[options]\nIgnorePkg = a\n"
    assert pacman.parse_ignored("[options]\nIgnorePkg = linux glibc\n#IgnorePkg = no\n IgnorePkg=x\n") == {
        "linux",
        "glibc",
        "x",
    }


def test_pkg_is_asked_and_read(programs: Callable[..., Callable[[], list[str]]]) -> None:
    answers = {
        "query": "nginx\t1.26.2,3\t1\npcre2\t10.42\t0\n",
        "rquery": "nginx\t1.26.2,3\nnginx\t1.27.0,3\n",
        "-n": PKG_INSTALL,
    }
    called = programs("pkg", answers)
    assert {name: one.held for name, one in PkgNg().packages(MACHINE).items()} == {"nginx": True, "pcre2": False}
    assert PkgNg().available(MACHINE, ["nginx"], "latest")["nginx"].candidate == "1.27.0,3"
    assert PkgNg().predict_install(MACHINE, [PackageTarget(name="nginx")], PLAIN) == [
        TransactionStep(name="nginx", old="", new="1.26.2,3"),
        TransactionStep(name="old", old="1.0_1", new=""),
        TransactionStep(name="pcre2", old="10.42", new="10.43"),
    ]
    PkgNg().install(MACHINE, [PackageTarget(name="nginx", version="1.26.2,3")], InstallOptions(fromrepo="latest"))
    PkgNg().hold(MACHINE, ["nginx"], held=False)
    PkgNg().remove(MACHINE, ["nginx"], purge=False)
    assert called()[1:] == [
        "rquery -U -r latest %n\t%v nginx",
        "install -n -y nginx",
        "install -y -r latest nginx-1.26.2,3",
        "unlock -y nginx",
        "delete -y nginx",
    ]


PKG_UPGRADE = """Checking for upgrades (4 candidates): .... done
The following 4 package(s) will be affected (of 0 checked):

Installed packages to be DOWNGRADED:
\tcurl: 8.11.0 -> 8.10.1 [own]

Installed packages to be REINSTALLED:
\tperl5-5.36.3_2 [FreeBSD] (options changed)
\tp5-URI-5.28 (direct dependency changed: perl5)

Installed packages to be UPGRADED:
\tvim: 9.1.0862 -> 9.1.0866 [FreeBSD] (2 MiB: 100.00% of the 2 MiB to download)

Number of packages to be upgraded: 1
"""
PKG_DELETE = """Checking integrity... done (0 conflicting)
Deinstallation has been requested for the following 2 packages (of 0 packages in the universe):

Installed packages to be REMOVED:
\tnginx: 1.26.2_1,3
\tp5-URI: 5.28

Number of packages to be removed: 2
The operation will free 4 MiB.
"""


@pytest.mark.parametrize(
    ("shown", "steps"),
    [
        (PKG_UPGRADE, [("curl", "8.11.0", "8.10.1"), ("vim", "9.1.0862", "9.1.0866")]),
        (PKG_DELETE, [("nginx", "1.26.2_1,3", ""), ("p5-URI", "5.28", "")]),
        ("The most recent versions of packages are already installed\n", []),
        ("Checking integrity... done (0 conflicting)\n1 packages requested for removal: 0 locked, 1 missing\n", []),
    ],
)
def test_what_pkg_would_do_is_read(shown: str, steps: list[tuple[str, str, str]]) -> None:
    assert pkgng.parse_steps(shown) == [TransactionStep(name=name, old=old, new=new) for name, old, new in steps]


def test_pkg_is_asked_for_the_rest_of_the_port(programs: Callable[..., Callable[[], list[str]]]) -> None:
    called = programs("pkg", {"upgrade": PKG_UPGRADE, "delete": PKG_DELETE})
    assert [one.name for one in PkgNg().predict_upgrade(MACHINE, [], whole=True)] == ["curl", "vim"]
    removed = PkgNg().predict_remove(MACHINE, ["nginx"], purge=True)
    assert removed is not None
    assert [one.name for one in removed] == ["nginx", "p5-URI"]
    PkgNg().upgrade(MACHINE, ["vim"], whole=False)
    PkgNg().hold(MACHINE, ["vim"], held=True)
    PkgNg().install_files(MACHINE, ["/tmp/x.pkg"])
    assert PkgNg().refresh(MACHINE, older_than=None) == PkgNg().refresh(MACHINE, older_than=60) == ""
    assert PkgNg().groups(MACHINE, "any") is None
    with pytest.raises(StateFailed, match="not available on this platform"):
        PkgNg().downloaded(MACHINE)
    assert called() == [
        "upgrade -n -y",
        "delete -n -y nginx",
        "upgrade -y vim",
        "lock -y vim",
        "add /tmp/x.pkg",
        "update -f",
        "update",
    ]


def test_pkg_orders_versions() -> None:
    ordered = ["1.0.1", "1.2", "1.2_1", "1.2.1", "1.10", "2", "0.1,1"]
    pairs = [
        ("1.0", "1.0_1"),
        ("1.0", "1.0.1"),
        ("1.9", "1.10"),
        ("9.9", "0.1,1"),
        ("1.2_2", "1.2_10"),
        ("1.0a", "1.0b"),
    ]
    for older, newer in [*pairs, *itertools.pairwise(ordered)]:
        assert (pkgng.compare(older, newer), pkgng.compare(newer, older)) == (-1, 1)
    assert pkgng.compare("1.0", "1.0") == 0


@pytest.mark.parametrize(("name", "manager"), [("apk", Apk()), ("pacman", Pacman()), ("pkg", PkgNg())], ids=str)
def test_a_transaction_that_fails_says_why(
    name: str, manager: PackageManager, programs: Callable[..., Callable[[], list[str]]]
) -> None:
    programs(name, {"": "it is broken"}, code=99)
    with pytest.raises(StateFailed, match=r"(?s)Problem encountered installing package.*errors:\n    - it is broken"):
        manager.install(MACHINE, [PackageTarget(name="x")], PLAIN)
    assert manager.predict_install(MACHINE, [PackageTarget(name="x")], PLAIN) is None
    assert manager.refresh(MACHINE, older_than=None) == "it is broken"
    assert manager.groups(MACHINE, "x") is None


@pytest.mark.parametrize("manager", [Apk(), Dnf(), Pacman(), PkgNg(), Zypper()], ids=lambda one: type(one).__name__)
def test_nothing_that_is_an_option_gets_through(manager: PackageManager) -> None:
    for name in ("-y", "--root=/x", "", "a b", "x\n", "$(x)"):
        with pytest.raises(StateFailed, match="Invalid package name"):
            manager.check_name(name)
        with pytest.raises(StateFailed, match="Invalid package name"):
            manager.install(MACHINE, [PackageTarget(name=name)], PLAIN)
        with pytest.raises(StateFailed, match="Invalid package name"):
            manager.remove(MACHINE, [name], purge=True)
    with pytest.raises(StateFailed, match="Invalid version"):
        manager.check_version("x", "-1")
    with pytest.raises(StateFailed, match="absolute paths"):
        manager.install_files(MACHINE, ["x.rpm"])


@pytest.mark.skipif(os.geteuid() != 0, reason="pacman changes its root as root only")
def test_a_real_pacman_in_a_root_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("pacman") is None:
        pytest.skip("pacman is not installed")
    for folder in ("root", "db", "cache", "bin", "repo"):
        (tmp_path / folder).mkdir()
    packages = {"greeting": ("1.0-1", "depend = voice\n", "%DEPENDS%\nvoice\n\n"), "voice": ("1:2-1", "", "")}
    index = {}
    for name, (version, inside, outside) in packages.items():
        about = f"pkgname = {name}\npkgver = {version}\narch = any\nsize = 0\n{inside}"
        file = f"{name}-{version}-any.pkg.tar.gz"
        _archive(tmp_path / "repo" / file, {".PKGINFO": about})
        fields = {
            "FILENAME": file,
            "NAME": name,
            "VERSION": version,
            "CSIZE": str((tmp_path / "repo" / file).stat().st_size),
            "ISIZE": "0",
            "ARCH": "any",
        }
        index[f"{name}-{version}/desc"] = "".join(f"%{key}%\n{value}\n\n" for key, value in fields.items()) + outside
    _archive(tmp_path / "repo/ours.db", index)
    settings = tmp_path / "pacman.conf"
    settings.write_text(f"[options]\nSigLevel = Never\nArchitecture = auto\n[ours]\nServer = file://{tmp_path}/repo\n")
    places = f"--root {tmp_path}/root --dbpath {tmp_path}/db --cachedir {tmp_path}/cache --config {settings}"
    program = tmp_path / "bin/pacman"
    program.write_text(f'#!/bin/sh\nexec /usr/bin/pacman {places} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    manager = Pacman()
    assert manager.refresh(MACHINE, older_than=None) == ""
    assert manager.available(MACHINE, ["voice", "nosuch"])["voice"].candidate == "1:2-1"
    predicted = manager.predict_install(MACHINE, [PackageTarget(name="greeting")], PLAIN)
    assert predicted == [
        TransactionStep(name="greeting", old="", new="1.0-1"),
        TransactionStep(name="voice", old="", new="1:2-1"),
    ]
    manager.install(MACHINE, [PackageTarget(name="greeting")], PLAIN)
    assert {name: one.version for name, one in manager.packages(MACHINE).items()} == {
        "greeting": "1.0-1",
        "voice": "1:2-1",
    }
    assert manager.predict_upgrade(MACHINE, [], whole=True) == []
    assert manager.predict_remove(MACHINE, ["greeting"], purge=False) == [
        TransactionStep(name="greeting", old="1.0-1", new="")
    ]
    manager.remove(MACHINE, ["greeting"], purge=False)
    assert list(manager.packages(MACHINE)) == ["voice"]


def _archive(path: Path, files: Mapping[str, str]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
