"""Programs in the place of Salt that hang, die, flood and babble: each is told, and the next minion goes on."""

import sys
import time
from pathlib import Path

import pytest

from controller.migration import salt_process as module
from controller.migration.salt_install import SaltInstall, SaltMissing, find_salt
from controller.migration.salt_process import SaltFailed, SaltProcess, SaltWorld

STARTED = 'import sys, time\nsys.stdin.readline()\nprint(\'{"version": "1"}\', flush=True)\n'


@pytest.fixture
def salt(tmp_path):
    """A process that runs these lines in place of Salt's."""

    def make(lines, **how):
        script, python = tmp_path / "script.py", tmp_path / "python3"
        script.write_text(lines)
        python.write_text(f"#!/bin/sh\nexec {sys.executable} {script}\n")
        python.chmod(0o755)
        world = SaltWorld(folder="", master="", root="/", file_roots={}, pillar_roots={}, live=[], pure=[], watched=[])
        return SaltProcess(install=SaltInstall(python=python, version="1"), world=world, **{"timeout": 30.0, **how})

    return make


def failure(process):
    with pytest.raises(SaltFailed) as caught:
        process.ask("web1", {})
    return str(caught.value)


def test_each_line_is_answered(salt):
    with salt(STARTED + 'for line in sys.stdin: print(\'{"low": [], "asked": ["a.b"]}\', flush=True)') as process:
        process.start()
        answer = process.ask("web1", {"os": "Debian"})
        assert (answer.low, answer.errors, answer.asked) == ([], [], ["a.b"])


def test_what_hangs_is_ended_and_the_next_minion_has_a_new_process(salt):
    lines = STARTED + (
        "for line in sys.stdin:\n    if 'slow' in line: time.sleep(600)\n    print('{\"low\": []}', flush=True)\n"
    )
    with salt(lines, timeout=1.0) as process:
        begun = time.monotonic()
        with pytest.raises(SaltFailed, match="took more than 1 s"):
            process.ask("slow", {})
        assert time.monotonic() - begun < 60
        assert process.ask("web1", {}).low == []


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ('print(\'{"fatal": "ImportError: no salt"}\', flush=True)', "does not start: ImportError: no salt"),
        ("", "has ended"),
        (STARTED, "has ended"),
        (STARTED + "sys.stdin.readline(); print('not json', flush=True)", "cannot be read"),
        (STARTED + "sys.stdin.readline(); print('[1]', flush=True)", "cannot be read"),
        (STARTED + "sys.stdin.readline(); print('[' * 100000, flush=True)", "cannot be read"),
        (STARTED + "while True: print('x' * 65536, end='', flush=True)", "more than 1 MiB"),
    ],
)
def test_whatever_comes_is_told(salt, monkeypatch, lines, text):
    monkeypatch.setattr(module, "ANSWER_BYTES", 1 << 20)
    with salt(lines) as process:
        assert text in failure(process)


def test_memory_is_bounded(salt):
    with salt(STARTED + "x = 'x' * (1 << 31)", memory=1 << 30) as process:
        assert "has ended" in failure(process)


def test_a_process_is_replaced_after_so_many_minions(salt, monkeypatch):
    monkeypatch.setattr(module, "SALT_MINIONS", 2)
    lines = STARTED + 'import os\nfor line in sys.stdin: print(\'{"errors": ["%d"]}\' % os.getpid(), flush=True)'
    with salt(lines) as process:
        seen = [process.ask("web1", {}).errors[0] for _ in range(5)]
    assert [seen.count(each) for each in dict.fromkeys(seen)] == [2, 2, 1]


def test_where_salt_is_looked_for(tmp_path):
    with pytest.raises(SaltMissing, match="has no Salt"):
        find_salt(tmp_path)
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python3"
    python.write_text("#!/bin/sh\necho 3008.3\n")
    python.chmod(0o755)
    assert find_salt(tmp_path) == find_salt(python) == SaltInstall(python=python, version="3008.3")
    program = tmp_path / "salt-call"
    program.write_text(f"#!{python}\n")
    assert find_salt(program).python == python


def test_a_python_without_salt_is_none():
    with pytest.raises(SaltMissing, match="No module named 'salt'"):
        find_salt(Path(sys.executable))
