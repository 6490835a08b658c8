"""Who changed a file or package: logs of dpkg, dnf, pacman and auditd, and a wtmp, as they stand on a machine."""

import os
import struct
import time

import pytest

from minion.worker.evidence import MOST_STATES, with_evidence

RECORD = struct.Struct("hi32s4s32s256shhiii4i20x")


def record(kind, line, user, host, at):
    return RECORD.pack(kind, 1, line, b"", user, host, 0, 0, 0, int(at), 0, 0, 0, 0, 0)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "var/log/audit").mkdir(parents=True)
    return tmp_path


def key(state, name):
    return f"{state}_|-one_|-{name}_|-managed"


def pending(name, changes):
    return {"name": name, "result": None, "changes": changes}


def local(at):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def test_a_file(root, tmp_path):
    conf = tmp_path / "app.conf"
    conf.write_text("edited")
    at = os.lstat(conf).st_ctime
    (root / "var/log/wtmp").write_bytes(
        record(7, b"pts/0", b"early", b"", at - 7200)
        + record(8, b"pts/0", b"", b"", at - 3600)
        + record(7, b"pts/1", b"admin", b"192.0.2.7", at - 60)
    )
    (root / "var/log/audit/audit.log").write_text(
        f'type=SYSCALL msg=audit({at:.3f}:77): arch=c000003e success=yes auid=1000 uid=0 comm="vi" exe="/usr/bin/vi"\n'
        f'type=PATH msg=audit({at:.3f}:77): item=1 name="{conf}" inode=1\n'
        f'type=PATH msg=audit({at:.3f}:78): item=1 name="/etc/other" inode=1\n'
    )
    (root / "var/log/dpkg.log").write_text(f"{local(at)} upgrade app:amd64 1.0 1.1\n{local(at - 9000)} install b 1 2\n")
    states = {key("file", conf): pending(str(conf), {"diff": "x"}), "other": {"result": True}}
    found = with_evidence(states, root)[key("file", conf)]["evidence"]
    assert found["changed"] == {str(conf): at}
    assert [(one["user"], one["host"]) for one in found["sessions"]] == [("admin", "192.0.2.7")]
    assert [(one["user"], one["program"]) for one in found["audit"]] == [("1000", "/usr/bin/vi")]
    assert [(one["verb"], one["name"]) for one in found["packages"]] == [("upgrade", "app")]
    assert "evidence" not in with_evidence(states, root)["other"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("dpkg.log", "2026-11-20 10:00:00 remove curl:amd64 8.1 <none>"),
        ("dnf.rpm.log", "2026-11-20T10:00:00+0000 SUBDEBUG Erase: curl-8.1-2.el9.x86_64"),
        ("pacman.log", "[2026-11-20T10:00:00+0000] [ALPM] removed curl (8.1-2)"),
    ],
)
def test_a_package(root, path, line):
    (root / "var/log" / path).write_text(f"garbage\n{line}\n")
    states = {key("pkg", "curl"): pending("curl", {"curl": {"old": "", "new": "8.1"}})}
    (entry,) = with_evidence(states, root)[key("pkg", "curl")]["evidence"]["packages"]
    assert entry["name"] == "curl"


def test_broken_logs_and_many_states_cost_little(root):
    (root / "var/log/wtmp").write_bytes(os.urandom(1_000_000))
    (root / "var/log/audit/audit.log").write_bytes(os.urandom(1_000_000))
    (root / "var/log/dpkg.log").mkdir()
    states = {key("file", f"/x{number}"): pending(f"/x{number}", {"diff": "x"}) for number in range(500)}
    began = time.monotonic()
    assert sum("evidence" in each for each in with_evidence(states, root).values()) <= MOST_STATES
    assert time.monotonic() - began < 5
