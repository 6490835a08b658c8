"""A machine that is visited over ssh and answers what no machine would: it has its own visit fail, and nothing else."""

from __future__ import annotations

import json
import os
import stat
import sys
import time

import pytest
import yaml
from ssh_server import SSHD, SshServer

pytestmark = pytest.mark.skipif(
    SSHD is None or os.geteuid() != 0, reason="it needs root and sshd: apt install openssh-server"
)

ANSWERS = """
import json, sys
out = sys.stdout.buffer

def say(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    out.write(len(data).to_bytes(4, "big") + data)
    out.flush()

def hear():
    sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4), "big"))

def begin(**other):
    out.write(b"\\0saltern-ssh 1\\0")
    say({"python": [3, 11], "magic": "", "machine": "x86_64", "libc": "glibc", **other})
"""
LIES = {
    "endless output": ("while True: out.write(b'x' * 65536)", "prints more than 64 KiB"),
    "endless errors": ("while True: sys.stderr.write('x' * 65536)", "no Python answers there within 12 s"),
    "no version": ("begin(python=5)", "does not say which Python it has"),
    "a path for a processor": ("begin(machine='../../x')", "does not say which Python it has"),
    "deep nesting": ("begin(); say(b'[' * 60000)", "sends what is no message"),
    "a long message": ("begin(); out.write(b'\\x7f' * 8); out.flush()", "sends a message of 2139062143 bytes"),
    "escapes": ("begin(); say({'error': '\\x1b[2J\\x1b]0;x\\x07'})", "]0;x"),
    "no key": ("begin(); hear(); say({'need': False}); say({'public': [1]})", "is no public key"),
    "the key of another": (
        "begin(); hear(); say({'need': False}); say({'public': KEY})",
        "belongs to the minion 'web1'",
    ),
}


@pytest.fixture
def rig(make_rig, made_workers):
    rig = make_rig(minions={"web1": {}})
    (rig.directory / "c/var/cache/saltern/controller/ssh").symlink_to(made_workers)
    return rig


@pytest.fixture
def hostile(rig, tmp_path, monkeypatch):
    """Makes a roster whose `evil` answers a visit by this text of Python, and `good` as a machine does."""
    answer = tmp_path / "answer"
    with SshServer(tmp_path / "good") as good, SshServer(tmp_path / "evil", f"ForceCommand {answer}") as evil:
        roster = {
            "evil": {"host": "127.0.0.1", "port": evil.port, "timeout": 2},
            "good": {"host": "127.0.0.1", "port": good.port, "thin_dir": str(tmp_path / "thin")},
        }
        (rig.config / "roster").write_text(yaml.safe_dump(roster))
        rig.saltern("ssh", "*", "-i", "-r", "true", check=False)  # makes the key pair, and knows the hosts
        public = rig.directory / "c/etc/saltern/pki/controller/ssh" / "salt-ssh.rsa.pub"
        for each in (good, evil):
            each.authorized_keys.write_text(public.read_text())

        def make(text):
            answer.write_text(f"#!{sys.executable}\n{ANSWERS}\n{text}\n")
            answer.chmod(answer.stat().st_mode | stat.S_IXUSR)

        yield make


@pytest.mark.timeout(300)
def test_what_a_hostile_machine_answers_fails_its_visit_alone(rig, hostile):
    (own,) = [each["public_key"] for each in rig.ask("/keys") if each["minion"] == "web1"]
    for name, (text, said) in LIES.items():
        hostile(text.replace("KEY", repr(own)))
        began = time.monotonic()
        with_good = name in ("no version", "the key of another")
        done = rig.saltern("ssh", "*" if with_good else "evil", "test.ping", "--out", "json", check=False)
        found = json.loads(done.stdout)
        assert found.get("good") is (True if with_good else None), name
        assert said in found["evil"], name
        assert done.returncode == 1
        assert time.monotonic() - began < 60, name
    hostile(f"begin(); hear(); say({{'wiped': True, 'public': {own!r}}})")
    rig.saltern("ssh", "evil", "-w")
    assert "web1" in rig.keys("accepted"), "the key of another is not forgotten"
    hostile(LIES["escapes"][0])
    assert "\x1b" not in rig.saltern("ssh", "evil", "test.ping", check=False).stdout
    assert rig.status()["web1"]["connected"]
    assert rig.keys("accepted") == ["good", "web1"]


def test_an_endless_answer_of_a_command_ends_with_its_time(rig, hostile):
    hostile("while True: out.write(b'x' * 65536)")
    done = rig.saltern("ssh", "evil", "-r", "true", "--timeout", "2", "--out", "json", check=False)
    assert "no end within 4 s" in str(json.loads(done.stdout)["evil"])
