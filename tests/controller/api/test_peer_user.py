"""The name at the other end of a socket is the kernel's word, and can be shown."""

import json
import os
import pwd
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from controller.access.principals import NOBODY
from controller.api import peer_user


def test_the_kernel_says_who_it_is():
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        found = peer_user.peer_user(ours)
        assert found.name == pwd.getpwuid(os.geteuid()).pw_name
        assert found.everything
        assert found.groups == {peer_user.group_name(gid) for gid in {os.getegid(), *os.getgroups()}}
    with socket.socket(socket.AF_INET) as other:
        assert peer_user.peer_user(other) == peer_user.peer_user(None) == NOBODY
    assert not NOBODY.everything


@pytest.mark.skipif(os.geteuid() != 0, reason="changes the groups of a process, which needs root")
@pytest.mark.parametrize("count", [1, 300])
def test_the_kernel_says_which_groups(count):
    """In a process of its own, whose groups are others than its own first one."""
    program = f"""
import json, os, socket
from controller.api import peer_user
os.setgroups(range(50_000, 50_000 + {count}))
ours, theirs = socket.socketpair(socket.AF_UNIX)
print(json.dumps(sorted(peer_user.peer_user(ours).groups)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {f"gid {gid}" for gid in range(50_000, 50_000 + count)} < set(json.loads(done.stdout))


def test_names_are_asked_for_once_bounded_and_escaped(monkeypatch):
    asked = []

    def getpwuid(uid):
        asked.append(uid)
        if uid == 77:
            raise KeyError(uid)
        return SimpleNamespace(pw_name="a\x1b[31m\n" + "b" * 100)

    monkeypatch.setattr(pwd, "getpwuid", getpwuid)
    peer_user.user_name.cache_clear()
    names = [peer_user.user_name(uid) for uid in (5, 5, 77, 77)]
    peer_user.user_name.cache_clear()
    assert names[0] == names[1] == "a\\x1b[31m\\n" + "b" * (64 - 11)
    assert names[2:] == ["uid 77", "uid 77"]
    assert asked == [5, 77]
