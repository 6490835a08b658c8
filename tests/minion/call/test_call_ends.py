"""How `saltern call` ends: exit codes of commands, a reader that has seen enough, a full disk, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minion.call.arguments import parse

MAIN = "import sys; from controller.cli import main; sys.exit(main())"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "minion").write_text(f"id: web1\nroot_dir: {tmp_path}/root\nfile_client: local\n")
    return tmp_path


def command(config: Path, *words: str) -> list[str]:
    return [sys.executable, "-c", MAIN, "call", "-c", str(config), *words]


@pytest.mark.parametrize("fun", ["cmd.run", "cmd.run_stdout", "cmd.shell", "cmd.run_all", "cmd.retcode"])
def test_the_exit_code_is_the_commands(config, fun):
    assert subprocess.run(command(config, fun, "exit 7", "--retcode-passthrough", "--out", "quiet")).returncode == 7
    assert subprocess.run(command(config, fun, "exit 7", "--out", "quiet")).returncode == 1


def test_an_event_that_nobody_takes_is_an_error(config):
    done = subprocess.run(command(config, "event.send", "a/b"), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: event a/b not sent: no agent runs on this machine")
    assert "saltern run web1 event.send a/b" in done.stderr


def test_a_command_whose_code_does_not_count(config):
    words = command(config, "cmd.run", "exit 7", "ignore_retcode=True", "--retcode-passthrough")
    assert subprocess.run(words, capture_output=True).returncode == 0


def test_a_reader_that_has_seen_enough(config):
    done = subprocess.Popen(
        command(config, "test.echo", "x" * 100_000), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip
    assert done.stdout
    assert done.stderr
    done.stdout.close()
    assert (done.wait(30), done.stderr.read()) == (0, b"")
    done.stderr.close()


def test_a_full_disk(config):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command(config, "test.echo", "x"), stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"error: standard output: No space left on device\n")


def test_ctrl_c_ends_the_command_too(config, tmp_path):
    pid = tmp_path / "pid"
    done = subprocess.Popen(
        command(config, "cmd.run", f"echo $$ > {pid}; exec sleep 300"),
        stderr=subprocess.PIPE,
        # A shell that runs the tests in the background has them ignore it, and so all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 30
    while not (pid.exists() and pid.read_text().strip()):
        assert time.monotonic() < until
        time.sleep(0.02)
    done.send_signal(signal.SIGINT)
    assert done.wait(30) == 130
    while Path("/proc", pid.read_text().strip()).exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    assert done.stderr
    assert done.stderr.read() == b""
    done.stderr.close()


ODD = {  # what salt-call makes of each, but for those that would lose what was typed
    "1": 1, "-1": -1, "1.0": 1.0, ".5": 0.5, "5.": 5.0, "+1": 1, "0x1F": 31, "0b11": 3, "1e3": "1e3", "1_000": "1_000",
    "0o17": "0o17", "-5x": "-5x", "-": "-", "": "", " ": " ", "'a b'": "a b", '"1"': "1", "TRUE": True, "off": False,
    "y": "y", "null": None, "None": None, "none": "none", "~": None, "{a: 1}": {"a": 1}, "[1, 2]": [1, 2],
    "a: b": "a: b", "- a": "- a", "a==b": "a==b", "=a": "=a", "1a=2": "1a=2", "2026-11-21": "2026-11-21", "ü": "ü",
    "#a": "#a", "a #b": "a #b", "!!python/x": "!!python/x", "*a": "*a", "%x": "%x", "@x": "@x", "|": "|", "[]": [],
    "a\nb": "a\nb", "a,b": "a,b", "*.txt": "*.txt", "salt://a": "salt://a", "]": "]", "--x=1": "--x=1", "\\x": "\\x",
    "12345678901234567890123": 12345678901234567890123, "1e400": "1e400", "'[1]'": "[1]", "a:1": "a:1",
    "0644": "0644", "3007.10": "3007.10", "12:30": "12:30",
}  # fmt: skip


@pytest.mark.parametrize("word", ODD)
def test_odd_words(word):
    assert parse([word]) == ((ODD[word],), {})


@pytest.mark.parametrize(
    ("word", "kwargs"),
    [
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": ""}),
        ("a={b: {c: [1]}}", {"a": {"b": {"c": [1]}}}),
        ("a='1'", {"a": "1"}),
        ("a-b=1", {"a-b": 1}),
        ("a=#b", {"a": "#b"}),
        ("a=- b", {"a": "- b"}),
        ("a=0644", {"a": "0644"}),
        ("__pub_x=1", {}),
    ],
)
def test_odd_pairs(word, kwargs):
    assert parse([word]) == ((), kwargs)


def test_the_log_goes_to_the_file_that_was_named(config, tmp_path):
    """Not below root_dir, as the option of the configuration does; its level is its own."""
    words = ("--log-file", str(tmp_path / "log"), "--log-file-level", "debug", "-l", "error", "_said.out")
    (tmp_path / "mods/modules").mkdir(parents=True)
    (tmp_path / "mods/modules/_said.py").write_text("import logging\ndef out():\n    logging.info('two\\nlines')\n")
    done = subprocess.run(command(config, "-m", str(tmp_path / "mods"), *words), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert 'level=info at=root msg="two\\nlines"' in (tmp_path / "log").read_text()


def test_a_log_that_cannot_be_written(config):
    done = subprocess.run(command(config, "--log-file", "/proc/no", "test.ping"), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: /proc/no: ")


def test_hard_crash_shows_where(config):
    words = command(config, "network.reverse_ip", "x")
    assert "Traceback" not in subprocess.run(words, capture_output=True, text=True).stderr
    done = subprocess.run([*words, "--hard-crash"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
