"""yum where there is no dnf, on output in the forms of CentOS 7, and holds of apk and pacman on files of their own."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.providers.pkg.apk import Apk, parse_world
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.dnf import parse_group
from minion.providers.pkg.packages import InstallOptions, PackageTarget, TransactionStep
from minion.providers.pkg.pacman import Pacman
from minion.providers.pkg.yum import Yum, parse_list

LIST = """Installed Packages
bash.x86_64                    4.2.46-34.el7              @anaconda
Available Packages
bash.x86_64                    4.2.46-35.el7_9            updates
bind-utils.x86_64              32:9.11.4-26.P2.el7_9.16   updates
java-1.8.0-openjdk-accessibility-debug.x86_64
                               1:1.8.0.412.b08-1.el7_9    updates
libx.i686                      1.0-1.el7                  base
"""
INSTALL = """Resolving Dependencies
--> Running transaction check
---> Package nginx.x86_64 1:1.20.1-10.el7 will be installed
--> Finished Dependency Resolution

Dependencies Resolved

================================================================================
 Package              Arch        Version                 Repository       Size
================================================================================
Installing:
 nginx                x86_64      1:1.20.1-10.el7         epel            588 k
Updating:
 openssl              x86_64      1:1.0.2k-26.el7_9       updates         494 k
Installing for dependencies:
 nginx-filesystem     noarch      1:1.20.1-10.el7         epel             24 k
Removing for dependencies:
 old                  x86_64      1.0-1                   @base            10 k

Transaction Summary
================================================================================
Install  1 Package (+1 Dependent package)

Exiting on user command
"""
RPM = "openssl\t1\t1.0.2k\t25.el7_9\tx86_64\t\nold\t0\t1.0\t1\tx86_64\t\n"
GROUP = """Group: Web
 Description: none
 Mandatory Packages:
   +httpd
 Default Packages:
   -mod_ssl
 Optional Packages:
   squid
"""


@dataclass(kw_only=True)
class Below(LocalMachine):
    """The machine with its root in a folder."""

    top: Path

    def _place(self, path):
        return f"{self.top}{path}" if not path.startswith(str(self.top)) else path

    def stat(self, path):
        return super().stat(self._place(path))

    def read(self, path):
        return super().read(self._place(path))

    def write(self, path, data, *, mode=None):
        super().write(self._place(path), data, mode=mode)


@pytest.fixture
def machine(tmp_path):
    return Below(sources_port=MemoryFiles({}), grains={"osarch": "x86_64"}, top=tmp_path / "root")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """program(name, body) puts a shell script on the path; it notes what it was called with in `calls`."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    (tmp_path / "bin").mkdir()

    def make(name, body):
        place = tmp_path / "bin" / name
        place.write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n{body}\n')
        place.chmod(0o755)
        return lambda: (tmp_path / "calls").read_text().splitlines()

    return make


def _put(machine, path, text):
    place = Path(f"{machine.top}{path}")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_where_there_is_yum_alone_it_is_taken(machine):
    _put(machine, "/usr/bin/yum", "")
    assert isinstance(package_manager(machine), Yum)
    _put(machine, "/usr/bin/dnf", "")
    assert not isinstance(package_manager(machine), Yum)


def test_lists_of_yum_are_read():
    found = parse_list(LIST, ["bash", "bind-utils", "java-1.8.0-openjdk-accessibility-debug", "libx.i686", "none"])
    assert found["bash"].versions == ("4.2.46-35.el7_9", "4.2.46-34.el7")
    assert found["bind-utils"].candidate == "32:9.11.4-26.P2.el7_9.16"
    assert found["java-1.8.0-openjdk-accessibility-debug"].candidate == "1:1.8.0.412.b08-1.el7_9"
    assert found["libx.i686"].candidate == "1.0-1.el7"
    assert "none" not in found


def test_yum_is_asked_and_told(machine, program):
    program("rpm", f"printf '%s' '{RPM}'")
    calls = program(
        "yum", f"case \"$*\" in *--assumeno*) cat <<'END'\n{INSTALL}END\nexit 1;; *list*) cat <<'END'\n{LIST}END\nesac"
    )
    yum = Yum()
    assert yum.available(machine, ["bash"], "updates")["bash"].candidate == "4.2.46-35.el7_9"
    steps = yum.predict_install(machine, [PackageTarget(name="nginx")], InstallOptions(recommends=False))
    assert steps == [
        TransactionStep(name="nginx", old="", new="1:1.20.1-10.el7"),
        TransactionStep(name="nginx-filesystem", old="", new="1:1.20.1-10.el7"),
        TransactionStep(name="old", old="1.0-1", new=""),
        TransactionStep(name="openssl", old="1:1.0.2k-25.el7_9", new="1:1.0.2k-26.el7_9"),
    ]
    yum.install(machine, [PackageTarget(name="nginx", version="1.20.1-10.el7")], InstallOptions(fromrepo="epel"))
    yum.upgrade(machine, [], whole=True)
    assert yum.refresh(machine, older_than=None) == ""
    assert [call for call in calls() if call.startswith("yum")] == [
        "yum --quiet --cacheonly --disablerepo=* --enablerepo=updates list --showduplicates bash",
        "yum --assumeno --cacheonly install -- nginx",
        "yum --assumeyes --disablerepo=* --enablerepo=epel install -- nginx-1.20.1-10.el7",
        "yum --assumeyes --obsoletes upgrade",
        "yum --quiet clean expire-cache",
        "yum --quiet --assumeyes makecache fast",
    ]


def test_nothing_of_that_name_is_no_failure(machine, program):
    program("yum", "echo 'Error: No matching Packages to list' >&2; exit 1")
    assert Yum().available(machine, ["none"]) == {}
    program("yum", "echo 'Cannot retrieve metadata' >&2; exit 1")
    with pytest.raises(StateFailed, match="Cannot retrieve metadata"):
        Yum().available(machine, ["none"])


def test_locks_of_yum_go_by_their_lines(machine, program):
    _put(machine, "/etc/yum/pluginconf.d/versionlock.list", "0:vim-enhanced-8.2-16.el7.*\n0:vim-8.2-16.el7.*\n")
    calls = program("yum", "")
    Yum().hold(machine, ["vim"], held=False)
    Yum().hold(machine, ["bash"], held=True)
    Yum().hold(machine, ["absent"], held=False)
    assert calls() == ["yum --quiet versionlock delete 0:vim-8.2-16.el7.*", "yum --quiet versionlock add bash"]


def test_groups_of_yum():
    assert parse_group(GROUP) == ["httpd", "mod_ssl"]


def test_apk_holds_by_the_version_in_its_world(machine, program):
    _put(machine, "/lib/apk/db/installed", "P:zlib\nV:1.3.1-r2\n\nP:curl\nV:8-r0\n")
    _put(machine, "/etc/apk/world", "zlib=1.3.1-r2\ncurl\nbusybox>1.0\nedge@testing=1-r0\n")
    calls = program("apk", "")
    assert {name: one.held for name, one in Apk().packages(machine).items()} == {"zlib": True, "curl": False}
    assert parse_world("a=1 b b>2 c@edge=3") == {"a": "1", "c": "3"}
    Apk().hold(machine, ["curl"], held=True)
    Apk().hold(machine, ["zlib"], held=False)
    assert calls() == ["apk add curl=8-r0", "apk add zlib"]
    with pytest.raises(StateFailed, match="is not installed"):
        Apk().hold(machine, ["none"], held=True)


def test_pacman_holds_in_its_settings(machine, program):
    _put(machine, "/etc/pacman.conf", "# c\n[options]\nColor\n")
    program("pacman", "echo 'linux 6.1-1'")
    Pacman().hold(machine, ["linux"], held=True)
    assert Path(f"{machine.top}/etc/pacman.conf").read_text() == "# c\n[options]\nIgnorePkg = linux\nColor\n"
    assert Pacman().packages(machine)["linux"].held
    Pacman().hold(machine, ["linux"], held=False)
    assert not Pacman().packages(machine)["linux"].held
