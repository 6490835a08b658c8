"""Rosters of machines without an agent: what is read, and what is refused."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from controller.config.ssh import SshSettings
from controller.ssh.rosters import Rosters
from controller.ssh.target import BadRoster


def read(tmp_path, text=None, *, kind="", known=(), **settings):
    rosters = Rosters(settings=SshSettings(**settings), config_dir=tmp_path, known=lambda: known)
    return rosters.read(kind, text)


def refused(tmp_path, text):
    with pytest.raises(BadRoster) as failed:
        read(tmp_path, text)
    return str(failed.value)


def test_a_flat_roster_is_a_template_with_defaults(tmp_path):
    (tmp_path / "roster").write_text(
        "{% for number in range(2) %}\nweb{{ number }}: 192.0.2.{{ number }}\n{% endfor %}\n"
        "db1: {host: db, user: admin, sudo: true, port: 2222, minion_opts: {grains: {role: db}}}\n"
    )
    found = read(tmp_path, ssh_user="larry", roster_defaults={"timeout": 5})
    assert sorted(found) == ["db1", "web0", "web1"]
    assert (found["web1"].host, found["web1"].user, found["web1"].timeout) == ("192.0.2.1", "larry", 5)
    assert (found["db1"].user, found["db1"].sudo, found["db1"].port) == ("admin", True, 2222)
    assert found["db1"].minion_opts == {"grains": {"role": "db"}}


def test_a_roster_with_nobody_in_it(tmp_path):
    assert read(tmp_path, "") == {}
    assert read(tmp_path, "{}") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- web1", "a roster is a mapping of ids to machines"),
        ("web1: [x]", "an entry is a host, or a mapping with `host`"),
        ("web1: {user: x}", "there is no `host`"),
        ("'../web1': x", "is no id of a minion"),
        ("web1: {host: '-oProxyCommand=x'}", "does not begin with a dash"),
        ("web1: {host: x, user: '-x'}", "does not begin with a dash"),
        ('web1: {host: "a\\nb"}', "this is no value of one line"),
        ("web1: {host: x, port: 70000}", "out of its range"),
        ("web1: {host: x, port: ssh}", "port and timeout are numbers"),
        ("web1: {host: x, ssh_pre_hook: /x}", "ssh_pre_hook is not supported: run the command on the controller"),
        ("web1: {host: x, ssh_pre_flight: x.sh}", "ssh_pre_flight is the whole path of a script"),
        ("web1: {host: x, ssh_pre_flight: /x, ssh_pre_flight_args: 'a \"b'}", "No closing quotation"),
        ("web1: {{ nothing }}", "'nothing' is undefined"),
        ("web1: {{ ''.__class__.__mro__ }}", "unsafe"),
        ("web1: [", "did not find expected node content"),
        ("web1: !!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("a: {hsot: 192.0.2.1}", "roster: a: `hsot` is no key of an entry: did you mean host?"),
        ("a: {host: 192.0.2.1, sudoo: true}", "`sudoo` is no key of an entry: did you mean sudo?"),
        ("a: {host: 192.0.2.1}\na: {host: 192.0.2.2}", "roster:2: found conflicting ID 'a'"),
        ("a: {host: 192.0.2.1\n", "roster:2: "),
        ("a: b\n{% if %}", "roster:2: "),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path, text, said):
    assert said in refused(tmp_path, text)


def test_a_roster_that_is_not_there_says_what_to_write(tmp_path):
    assert f"No such file or directory: {tmp_path}/roster; it names machines: `web1: " in refused(tmp_path, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_roster_that_may_not_be_read(tmp_path):
    (tmp_path / "roster").touch(mode=0)
    assert "Permission denied" in refused(tmp_path, None)


def test_minions_that_were_seen_before(tmp_path):
    known = [("a", {"ipv4": ["127.0.0.1", "192.0.2.1"]}), ("b", {"ipv4": [], "fqdn": "b.example"}), ("c", {})]
    found = read(tmp_path, kind="cache", known=known)
    assert {name: target.host for name, target in found.items()} == {"a": "192.0.2.1", "b": "b.example"}


def test_hosts_of_an_ssh_config(tmp_path):
    (tmp_path / "config").write_text(
        "Host *\n  User nobody\nHost web1 web2\n  HostName 192.0.2.1\n  Port 2222\n  IdentityFile ~/.ssh/x\n"
    )
    found = read(tmp_path, kind="sshconfig", roster_file=str(tmp_path / "config"))
    assert sorted(found) == ["web1", "web2"]
    assert (found["web2"].host, found["web2"].port) == ("192.0.2.1", 2222)
    assert found["web2"].priv == str(Path("~/.ssh/x").expanduser())


def _path_with_ansible():
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


@pytest.mark.skipif(
    shutil.which("ansible-inventory", path=_path_with_ansible()) is None,
    reason="the program ansible-inventory is not there: pip install ansible-core",
)
def test_an_inventory_of_ansible(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", _path_with_ansible())
    monkeypatch.setenv("ANSIBLE_HOME", str(tmp_path / "ansible"))
    (tmp_path / "hosts.ini").write_text(
        "[web]\nweb1 ansible_host=192.0.2.1 ansible_port=2222\nweb2\n"
        "[db]\ndb1 ansible_user=postgres\n"
        "[all:vars]\nansible_user=admin\n[web:vars]\nansible_become=true\nansible_ssh_private_key_file=/keys/web\n"
    )
    found = read(tmp_path, kind="ansible", roster_file=str(tmp_path / "hosts.ini"))
    assert sorted(found) == ["db1", "web1", "web2"]
    assert (found["web1"].host, found["web1"].port, found["web1"].user) == ("192.0.2.1", 2222, "admin")
    assert (found["web2"].host, found["web2"].sudo, found["web2"].priv) == ("web2", True, "/keys/web")
    assert (found["db1"].user, found["db1"].sudo) == ("postgres", False)
    with pytest.raises(BadRoster, match=r"nothing\.ini: there is no such inventory"):
        read(tmp_path, kind="ansible", roster_file=str(tmp_path / "nothing.ini"))


def test_a_machine_without_ansible(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "roster").write_text("web1\n")
    with pytest.raises(BadRoster, match="install ansible-core, or write a flat roster"):
        read(tmp_path, kind="ansible")
