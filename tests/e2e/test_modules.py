"""Execution functions that change this machine: accounts, packages, crontabs, its file of hosts. All is put back."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules

USER, GROUP = "saltern-e2e-user", "saltern-e2e-group"
PACKAGE = "hello"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("apt-get") is None, reason="needs root and apt"),
]


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    return Modules(Context(minion_id="m", cachedir=str(tmp_path), config_dir=str(tmp_path / "etc")))


@pytest.fixture
def account(modules: Modules) -> Iterator[None]:
    yield
    if modules.call("user.info", [USER]):
        modules.call("user.delete", [USER], {"remove": True})
    for name in (GROUP, USER):
        if modules.call("group.info", [name]):
            modules.call("group.delete", [name])


@pytest.mark.usefixtures("account")
def test_accounts(modules: Modules) -> None:
    assert modules.call("group.add", [GROUP]) is True
    assert modules.call("user.add", [USER], {"home": "/tmp/saltern-e2e-home", "fullname": "A User"}) is True
    assert modules.call("user.add", [USER]) is False
    assert modules.call("user.info", [USER])["fullname"] == "A User"
    assert modules.call("user.chshell", [USER, "/bin/sh"]) is True
    assert modules.call("user.chroomnumber", [USER, "7"]) is True
    assert modules.call("user.info", [USER])["roomnumber"] == "7"
    assert modules.call("user.chgroups", [USER, GROUP], {"append": True}) is True
    assert GROUP in modules.call("user.list_groups", [USER])
    assert modules.call("group.deluser", [GROUP, USER]) is True
    assert modules.call("group.members", [GROUP, USER]) is True
    assert modules.call("group.info", [GROUP])["members"] == [USER]
    hashed = modules.call("shadow.gen_password", ["secret"], {"crypt_salt": "saltsalt"})
    assert modules.call("shadow.set_password", [USER, hashed]) is True
    assert modules.call("shadow.info", [USER])["passwd"] == hashed
    assert modules.call("shadow.lock_password", [USER]) is True
    assert modules.call("shadow.unlock_password", [USER]) is True
    assert modules.call("shadow.set_maxdays", [USER, 90]) is True
    assert modules.call("shadow.info", [USER])["max"] == 90
    assert modules.call("user.delete", [USER], {"remove": True}) is True
    with pytest.raises(CallFailed, match="does not exist"):
        modules.call("user.delete", [USER])
    for bad in ("-x", "a:b", "a b"):
        with pytest.raises(CallFailed, match="Invalid user name"):
            modules.call("user.add", [bad])


def test_packages(modules: Modules) -> None:
    if modules.call("pkg.version", [PACKAGE]):
        pytest.skip(f"{PACKAGE} is installed")
    try:
        changes = modules.call("pkg.install", [PACKAGE])
        version = modules.call("pkg.version", [PACKAGE])
        assert changes == {PACKAGE: {"old": "", "new": version}}
        assert modules.call("pkg.install", [PACKAGE]) == {}
        assert modules.call("pkg.info_installed", [PACKAGE])[PACKAGE]["version"] == version
        assert modules.call("pkg.owner", ["/usr/bin/hello"]) == PACKAGE
        assert "/usr/bin/hello" in modules.call("pkg.file_list", [PACKAGE])["files"]
        held = modules.call("pkg.hold", [PACKAGE])[PACKAGE]
        assert (held["result"], held["changes"]) == (True, {"old": "install", "new": "hold"})
        assert modules.call("pkg.list_holds") == [PACKAGE]
        assert modules.call("pkg.unhold", [PACKAGE])[PACKAGE]["changes"] == {"old": "hold", "new": "install"}
        assert modules.call("pkg.remove", [PACKAGE]) == {PACKAGE: {"old": version, "new": ""}}
        assert modules.call("pkg.remove", [PACKAGE]) == {}
    finally:
        modules.call("pkg.purge", [PACKAGE])
    with pytest.raises(CallFailed):
        modules.call("pkg.install", ["no-such-package-at-all"])


def test_hosts(modules: Modules) -> None:
    kept = Path("/etc/hosts").read_bytes()
    try:
        assert modules.call("hosts.add_host", ["192.0.2.77", "e2e.example.org"]) is True
        assert modules.call("hosts.get_ip", ["e2e.example.org"]) == "192.0.2.77"
        assert modules.call("hosts.set_host", ["192.0.2.77", "a.example.org b.example.org"]) is True
        assert modules.call("hosts.get_alias", ["192.0.2.77"]) == ["a.example.org", "b.example.org"]
        assert modules.call("hosts.rm_host", ["192.0.2.77", "a.example.org"]) is True
        assert modules.call("hosts.has_pair", ["192.0.2.77", "a.example.org"]) is False
    finally:
        Path("/etc/hosts").write_bytes(kept)


@pytest.mark.usefixtures("account")
@pytest.mark.skipif(shutil.which("crontab") is None, reason="there is no cron here")
def test_crontabs(modules: Modules) -> None:
    modules.call("user.add", [USER])
    job = [USER, "5", "*", "*", "*", "*", "echo hi"]
    assert modules.call("cron.set_job", job) == "new"
    assert modules.call("cron.set_job", job) == "present"
    assert modules.call("cron.set_job", [USER, "6", *job[2:]]) == "updated"
    assert modules.call("cron.list_tab", [USER])["crons"][0]["minute"] == "6"
    assert modules.call("cron.get_entry", [USER], {"cmd": "echo hi"})["cmd"] == "echo hi"
    assert modules.call("cron.set_special", [USER, "@daily", "echo day"]) == "new"
    assert modules.call("cron.set_env", [USER, "MAILTO", "x"]) == "new"
    assert modules.call("cron.rm_env", [USER, "MAILTO"]) == "removed"
    assert modules.call("cron.rm_job", [USER, "echo hi"]) == "removed"
    assert modules.call("cron.rm_job", [USER, "echo hi"]) == "absent"
    modules.call("cmd.run", [f"crontab -u {USER} -r"])
