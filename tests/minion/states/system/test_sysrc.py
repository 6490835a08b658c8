"""sysrc: a stand-in for FreeBSD's program, which keeps variables in a file and checks what it is told."""

import os

import pytest

from minion.execution import CallFailed, Context, Modules

SYSRC = """#!/usr/bin/env python3
import json, pathlib, sys
kept = pathlib.Path({kept!r})
words, place = sys.argv[1:], "/etc/rc.conf"
assert words.pop(0) == "-v"
while words[0] in ("-f", "-j"):
    option, value = words.pop(0), words.pop(0)
    place = value if option == "-f" else "/jails/" + value + place
files = json.loads(kept.read_text())
mine = files.setdefault(place, {{}})
word = words.pop(0)
if word in ("-a", "-A"):
    print("\\n".join(place + ": " + name + ": " + value for name, value in mine.items()))
elif word == "-x" or "=" not in word:
    name = words.pop(0) if word == "-x" else word
    if name not in mine:
        sys.exit("sysrc: unknown variable '" + name + "'")
    if word == "-x":
        del mine[name]
    else:
        print(place + ": " + name + ": " + mine[name])
else:
    name, _, value = word.partition("=")
    if place == "/read/only":
        sys.exit("sysrc: permission denied")
    print(place + ": " + name + ": " + mine.get(name, "") + " -> " + value)
    mine[name] = value
kept.write_text(json.dumps(files))
"""


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Where it keeps them."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/sysrc"
    program.write_text(SYSRC.format(kept=str(tmp_path / "kept")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "kept").write_text('{"/etc/rc.conf": {"hostname": "old"}}')
    return tmp_path / "kept"


def test_variables_are_set_and_removed(converge, kept):
    done = converge("sysrc.managed", "sshd_enable", value=True)
    assert done.changes == {"old": None, "new": {"/etc/rc.conf": {"sshd_enable": "YES"}}}
    assert done.comment == 'The value of "sshd_enable" was changed!'
    done = converge("sysrc.managed", "hostname", value="a b: c")
    assert done.changes["old"] == {"/etc/rc.conf": {"hostname": "old"}}
    done = converge("sysrc.absent", "hostname")
    assert done.changes == {"old": {"/etc/rc.conf": {"hostname": "a b: c"}}, "new": "hostname removed"}
    converge("sysrc.managed", "cloned", value=1, file="/etc/rc.conf.local")
    converge("sysrc.managed", "x", value="y", jail="web")
    assert '"/etc/rc.conf.local": {"cloned": "1"}' in kept.read_text()
    assert '"/jails/web/etc/rc.conf": {"x": "y"}' in kept.read_text()


@pytest.mark.usefixtures("kept")
def test_what_sysrc_refuses_is_an_error(converge, monkeypatch):
    assert (
        converge("sysrc.managed", "a", value=1, file="/read/only").comment == "sysrc failed: sysrc: permission denied"
    )
    assert "is no name" in converge("sysrc.managed", "-x", value=1).comment
    monkeypatch.setenv("PATH", "/nowhere")
    assert "FreeBSD's" in converge("sysrc.managed", "a", value=1).comment


@pytest.mark.usefixtures("kept")
def test_the_module():
    modules = Modules(Context(minion_id="m"))
    assert modules.call("sysrc.get") == {"/etc/rc.conf": {"hostname": "old"}}
    assert modules.call("sysrc.get", (), {"name": "none"}) is None
    assert modules.call("sysrc.set", ("a", False)) == {"/etc/rc.conf": {"a": "NO"}}
    assert modules.call("sysrc.remove", ("a",)) == "a removed"
    with pytest.raises(CallFailed, match="unknown variable"):
        modules.call("sysrc.remove", ("a",))
