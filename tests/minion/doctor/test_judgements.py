"""Each check of a machine: what is well, and what is not with what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from minion.doctor import judgements as j
from minion.doctor.looks import FileLook, HandshakeLook

KEY = Path("/etc/saltern/pki/minion/minion.key")
FOLDER = Path("/etc/saltern")
MIB = 1024 * 1024

CASES = [
    ("OK", j.python_version((3, 11))),
    ("FAIL", j.python_version((3, 10))),
    ("OK", j.libzmq_version((4, 3, 5), True)),
    ("FAIL", j.libzmq_version((4, 3, 5), False)),
    ("FAIL", j.libzmq_version((4, 3, 2), True)),
    ("OK", j.configuration("/etc/saltern/minion", ())),
    ("WARN", j.configuration("/etc/saltern/minion", (), ("unknown option x",))),
    ("FAIL", j.configuration("/etc/saltern/minion", ("/etc/saltern/minion:1: master_port",))),
    ("OK", j.key_file(KEY, FileLook(mode=0o600, uid=0), 0)),
    ("WARN", j.key_file(KEY, None, 0)),
    ("FAIL", j.key_file(KEY, FileLook(mode=0o640, uid=0), 0)),
    ("FAIL", j.key_file(KEY, FileLook(mode=0o600, uid=1000), 0)),
    ("FAIL", j.key_file(KEY, FileLook(mode=0o600, is_link=True, is_file=False), 0)),
    ("FAIL", j.key_file(KEY, FileLook(error="Permission denied"), 0)),
    ("OK", j.configuration_files({KEY: FileLook(mode=0o664, uid=0), FOLDER: None}, 1000)),
    ("OK", j.configuration_files({KEY: FileLook(mode=0o644, uid=1000)}, 1000)),
    ("FAIL", j.configuration_files({KEY: FileLook(mode=0o644, uid=1001)}, 1000)),
    ("FAIL", j.configuration_files({KEY: FileLook(mode=0o646, uid=0)}, 0)),
    ("FAIL", j.configuration_files({FOLDER: FileLook(mode=0o777, uid=0, is_file=False)}, 0)),
    ("OK", j.disk_space("cache", KEY, 10_000 * MIB, 100_000)),
    ("OK", j.disk_space("cache", KEY, 10_000 * MIB, None)),
    ("WARN", j.disk_space("cache", KEY, 100 * MIB, 100_000)),
    ("WARN", j.disk_space("cache", KEY, 10_000 * MIB, 100)),
    ("WARN", j.disk_space("cache", KEY, None, None)),
    ("FAIL", j.disk_space("cache", KEY, 0, 100_000)),
    ("FAIL", j.disk_space("cache", KEY, 10_000 * MIB, 0)),
    ("OK", j.open_files(1024, 512, "it")),
    ("WARN", j.open_files(1024, 2512, "it")),
    ("OK", j.random_numbers(True)),
    ("FAIL", j.random_numbers(False)),
    ("OK", j.inotify(65536, 128)),
    ("WARN", j.inotify(1024, 128)),
    ("WARN", j.inotify(65536, 8)),
    ("WARN", j.inotify(None, None)),
    ("OK", j.unit_active("saltern-minion.service", "active")),
    ("WARN", j.unit_active("saltern-minion.service", None)),
    ("FAIL", j.unit_active("saltern-minion.service", "failed")),
    ("FAIL", j.unit_active("saltern-minion.service", "")),
    ("OK", j.controller_port("c port 4506", "curve", "")),
    *[
        ("FAIL", j.controller_port("c port 4506", outcome, "why"))
        for outcome in ("unresolved", "refused", "silent", "unreachable", "foreign", "plain")
    ],
    ("OK", j.controller_key("c", HandshakeLook(proved=True), "f")),
    ("FAIL", j.controller_key("c", HandshakeLook(proved=False), "f")),
    ("OK", j.own_key("aa:bb", True)),
    ("WARN", j.own_key("aa:bb", None)),
    ("FAIL", j.own_key("aa:bb", False)),
    ("OK", j.clock_skew(0.5)),
    ("WARN", j.clock_skew(-5.0)),
    ("FAIL", j.clock_skew(120.0)),
    ("WARN", j.clock_skew(None)),
]


@pytest.mark.parametrize(("verdict", "found"), CASES)
def test_the_verdict(verdict, found):
    assert found.verdict == verdict
    assert found.text
    assert bool(found.todo) == (verdict != "OK")


def test_each_check_has_a_good_and_a_bad_outcome():
    outcomes: dict[str, set[str]] = {}
    for verdict, found in CASES:
        outcomes.setdefault(found.check, set()).add(verdict)
    assert all("OK" in found and len(found) > 1 for found in outcomes.values()), outcomes


def test_what_to_do_can_be_typed():
    assert j.key_file(KEY, FileLook(mode=0o644, uid=0), 0).todo == f"chmod 600 {KEY}"
    assert "ahead of" in j.clock_skew(120.0).text
    assert "behind" in j.clock_skew(-120.0).text
