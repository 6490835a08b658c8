"""Each check of a controller: what is well, and what is not with what to do about it."""

from __future__ import annotations

import pytest

from controller.doctor import judgements as j

CASES = [
    ("OK", j.store("sqlite:///x", "0026", "0026", "")),
    ("WARN", j.store("sqlite:///x", "0025", "0026", "")),
    ("WARN", j.store("sqlite:///x", "", "0026", "")),
    ("FAIL", j.store("sqlite:///x", "0027", "0026", "")),
    ("FAIL", j.store("postgresql://db/x", "", "0026", "connection refused")),
    ("OK", j.port("ret_port", "127.0.0.1:4506", True, True)),
    ("OK", j.port("ret_port", "127.0.0.1:4506", False, False)),
    ("FAIL", j.port("ret_port", "127.0.0.1:4506", True, False)),
    ("FAIL", j.port("ret_port", "127.0.0.1:4506", False, True)),
    ("OK", j.running("/run/saltern/controller.sock", True)),
    ("WARN", j.running("/run/saltern/controller.sock", False)),
    ("OK", j.remote("states", "")),
    ("FAIL", j.remote("states", "authentication failed")),
    ("WARN", j.no_remotes()),
    ("OK", j.sandbox(True, "")),
    ("WARN", j.sandbox(True, "the kernel has no Landlock")),
    ("WARN", j.sandbox(False, "")),
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
