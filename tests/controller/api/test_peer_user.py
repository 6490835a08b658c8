"""The name at the other end of a socket is the kernel's word, and can be shown."""

import os
import pwd
import socket
from types import SimpleNamespace

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
