"""keyboard: files below a root of the test's own, a localectl that keeps what it is told, and an X server without a
screen."""

import os
import shutil
import subprocess

import pytest
from below_root import BelowRoot

LOCALECTL = """
case "$1" in
  status)
    echo "   System Locale: LANG=C.UTF-8"
    echo "       VC Keymap: $(cat {top}/keymap)"
    echo "      X11 Layout: us"
    ;;
  set-keymap) [ "$2" = none ] && {{ echo "no such keymap" >&2; exit 1; }}; echo "$2" > {top}/keymap ;;
  *) exit 9 ;;
esac
"""


def test_debian_has_a_file(converge, tmp_path):
    machine = BelowRoot.of(tmp_path, os_family="Debian")
    file = machine.put("/etc/default/keyboard", '# mine\nXKBMODEL="pc105"\nXKBLAYOUT="us"\nXKBVARIANT=""\n')
    done = converge("keyboard.system", "de", machine=machine)
    assert (done.changes, done.comment) == ({"layout": "de"}, "Set system keyboard layout de")
    assert file.read_text() == '# mine\nXKBMODEL="pc105"\nXKBLAYOUT="de"\nXKBVARIANT=""\n'
    file.write_text("XKBLAYOUT=de,us")
    assert converge("keyboard.system", "de,us", machine=machine).comment == "System layout de,us already set"
    file.unlink()
    converge("keyboard.system", "de", machine=machine)
    assert file.read_text() == 'XKBLAYOUT="de"\n'
    refused = converge("keyboard.system", 'de"; reboot', machine=machine)
    assert "is no layout" in refused.comment


@pytest.mark.parametrize(
    ("family", "path", "name"),
    [("RedHat", "/etc/sysconfig/keyboard", "LAYOUT"), ("Gentoo", "/etc/conf.d/keymaps", "keymap")],
)
def test_others_have_other_files(converge, tmp_path, family, path, name):
    machine = BelowRoot.of(tmp_path, os_family=family)
    file = machine.put(path, f'{name}="us"\n')
    converge("keyboard.system", "fr", machine=machine)
    assert file.read_text() == f'{name}="fr"\n'


def test_localectl_is_asked_where_it_is(converge, tmp_path, monkeypatch):
    machine = BelowRoot.of(tmp_path, os_family="RedHat")
    program = machine.put("/usr/bin/localectl", f"#!/bin/sh{LOCALECTL.format(top=tmp_path)}")
    program.chmod(0o755)
    (tmp_path / "keymap").write_text("us")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert converge("keyboard.system", "de-nodeadkeys", machine=machine).changes == {"layout": "de-nodeadkeys"}
    assert (tmp_path / "keymap").read_text() == "de-nodeadkeys\n"
    assert converge("keyboard.system", "none", machine=machine).comment == "localectl failed: no such keymap"


@pytest.fixture
def x_display(monkeypatch):
    """An X server that ends with the test."""
    for program in ("Xvfb", "setxkbmap"):
        if shutil.which(program) is None:
            pytest.skip("needs Debian's xvfb and x11-xkb-utils")
    told, telling = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-noreset", "-displayfd", str(telling)], pass_fds=[telling], stderr=subprocess.DEVNULL
    )
    os.close(telling)
    with os.fdopen(told) as number:
        monkeypatch.setenv("DISPLAY", f":{number.readline().strip()}")
        yield
    server.terminate()
    server.wait()


@pytest.mark.usefixtures("x_display")
def test_an_x_server_is_told(converge):
    assert converge("keyboard.xorg", "de").changes == {"layout": "de"}
    assert (
        subprocess.run(["setxkbmap", "-query"], capture_output=True, text=True, check=True).stdout.count(" de\n") == 1
    )
    assert "setxkbmap failed" in converge("keyboard.xorg", "no-such-layout").comment


def test_without_an_x_server_it_fails(converge, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    assert converge("keyboard.xorg", "de").result is False
