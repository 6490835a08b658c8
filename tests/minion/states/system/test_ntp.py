"""ntp: the files of the programs that keep the time, below a root of the test's own."""

import os

import pytest
from below_root import BelowRoot

from minion.execution import Context, Modules

CHRONY = "# mine\npool 2.debian.pool.ntp.org iburst\nserver a.example.org prefer\ndriftfile /var/lib/chrony/drift\n"
SYSTEMCTL = """#!/bin/sh
[ "$1" = restart ] && echo "$*" >> {top}/log
[ "$1" = show ] && printf 'LoadState=loaded\\nActiveState=active\\nSubState=running\\nUnitFileState=enabled\\n'
exit 0
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose systemd is a stand-in."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").write_text(SYSTEMCTL.format(top=tmp_path))
    (tmp_path / "bin/systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    made = BelowRoot.of(tmp_path / "root", os_family="Debian")
    made.put("/run/systemd/system/.keep", "")
    return made


def test_servers_of_chrony(converge, machine, tmp_path):
    file = machine.put("/etc/chrony/chrony.conf", CHRONY)
    done = converge("ntp.managed", "x", machine=machine, servers=["b.example.org", "a.example.org"])
    assert done.changes == {
        "old": ["2.debian.pool.ntp.org", "a.example.org"], "new": ["a.example.org", "b.example.org"],
    }  # fmt: skip
    assert file.read_text() == (
        "# mine\nserver a.example.org prefer\ndriftfile /var/lib/chrony/drift\nserver b.example.org iburst\n"
    )
    assert "chrony" in (tmp_path / "log").read_text()


def test_servers_of_timesyncd(converge, machine):
    file = machine.put("/etc/systemd/timesyncd.conf", "[Time]\n#NTP=\nFallbackNTP=x\n")
    converge("ntp.managed", "x", machine=machine, servers=["b.example.org", "2001:db8::1"])
    assert file.read_text() == "[Time]\nNTP=2001:db8::1 b.example.org\n#NTP=\nFallbackNTP=x\n"
    context = Context(minion_id="m")
    vars(context)["machine"] = machine
    assert Modules(context).call("ntp.set_servers", ("a.example.org",)) is True
    assert Modules(context).call("ntp.get_servers") == ["a.example.org"]


def test_what_is_no_server_is_an_error(converge, machine):
    assert "install one of them" in converge("ntp.managed", "x", machine=machine, servers=["a"]).comment
    machine.put("/etc/ntp.conf", "")
    assert "is no name" in converge("ntp.managed", "x", machine=machine, servers=["a\nserver b"]).comment
    assert "list of strings" in converge("ntp.managed", "x", machine=machine, servers=[1]).comment
