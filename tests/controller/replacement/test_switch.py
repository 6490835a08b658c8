"""What is done on a machine whose agent is replaced, as far as it needs no machine of its own."""

import subprocess
import sys

import pytest

from controller.replacement.switch import processes


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "some-agent"
    path.write_text(f"#!{sys.executable}\nprint('up', flush=True)\ninput()\n")
    path.chmod(0o755)
    return path


def test_the_processes_of_a_program_are_found_until_they_have_ended(program):
    assert processes("some-agent") == set()
    with subprocess.Popen([program, "-c", "/etc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert processes("some-agent") == {process.pid}
        assert processes("agent") == set()
        process.communicate(b"\n")
        assert processes("some-agent") == set()
