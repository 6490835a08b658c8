"""What shells offer, asked by the shells themselves: bash always, zsh and fish where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controller.cli import kept_ids
from controller.cli.main import VERBS

BASH = """
saltern() { :; }
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_saltern_completion saltern
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shell_home(tmp_path):
    """Has `saltern` on its PATH, and a cache of its own."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script = programs / "saltern"
    script.write_text(f"#!{sys.executable}\nfrom controller.cli import main; main()\n")
    script.chmod(0o755)
    return {"HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(Path.cwd())}


@pytest.fixture
def complete(shell_home, config_dir, tmp_path, saltern):
    """What bash offers for the last of these words."""
    script = tmp_path / "completion.bash"
    script.write_text(saltern("completion", "bash").out)

    def offered(*words):
        env = {**shell_home, "SALTERN_CONFIG_DIR": str(config_dir)}
        done = subprocess.run(
            ["bash", "--norc", "-c", BASH, "bash", str(script), "saltern", *words],
            env=env, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout.split()

    return offered


def test_bash_completes_verbs_options_and_their_values(complete):
    assert complete("sta") == ["status"]
    assert "--watch" in complete("status", "--wa")
    assert complete("status", "--by", "en") == ["environment"]
    assert complete("rollout", "wat") == ["watch"]


def test_bash_completes_what_the_controller_knows(served, complete):
    assert complete("status", "we") == ["web1", "web2"]
    assert complete("run", "-L", "db1,web") == ["db1,web1", "db1,web2"]
    assert complete("run", "-G", "os") == []  # a grain is no id
    assert complete("show", "run-") == [f"run-{number}" for number in range(5)]
    assert complete("cat", "--env", "env") == ["environment"]


def test_bash_completes_what_replaces_agents(served, complete):
    assert complete("migrate", "st") == ["status"]
    assert complete("migrate", "agent", "we") == ["web1", "web2"]
    assert complete("migrate", "agent", "web1", "--to", "") == ["saltern", "salt"]
    assert complete("migrate", "agent", "web1", "--ba") == ["--batch"]
    assert complete("migrate", "agent", "-L", "db1,web") == ["db1,web1", "db1,web2"]
    assert complete("migrate", "shadow", "we") == ["web1", "web2"]
    assert complete("migrate", "status", "--wa") == ["--watch"]


def test_bash_completes_functions_and_imports_one_module_for_them(complete):
    assert complete("run", "*", "test.pi") == ["test.ping"]
    assert "pip." in complete("run", "*", "pi")
    assert "pillar." in complete("call", "pi")
    probe = (
        "import os, sys; os.environ |= {'_SALTERN_COMPLETE': 'bash_complete', 'COMP_WORDS': 'saltern run x test.p',"
        " 'COMP_CWORD': '3'}\nfrom controller.cli.main import run\ntry: run([])\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith('minion.modules.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert "test.ping" in done.stdout
    assert done.stderr.strip() == "['minion.modules.test']"


def test_ids_are_kept_for_a_moment_and_offered_while_nobody_answers(desk, serve_desk, config_dir, complete, tmp_path):
    from controller.config.settings import load_settings

    assert complete("status", "we") == []
    with serve_desk(desk, load_settings(config_dir)):
        assert complete("status", "we") == ["web1", "web2"]
    assert complete("status", "we") == ["web1", "web2"]
    file = tmp_path / ".cache/saltern/minions.json"
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("[" * 10_000)
    assert complete("status", "we") == []


def test_what_is_kept_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept_ids.keep_ids("/a", ["web1"])
    assert kept_ids.kept_ids("/a", 60) == ("web1",)
    assert kept_ids.kept_ids("/another", 60) is None
    kept_ids.keep_ids("/a", ["x" * kept_ids.MOST_BYTES])
    assert kept_ids.kept_ids("/a", 60) == ("web1",)
    later = time.time() + 100
    monkeypatch.setattr(kept_ids.time, "time", lambda: later)
    assert kept_ids.kept_ids("/a", 60) is None


def test_a_controller_that_is_silent_is_not_waited_for(complete, config_dir):
    import socket

    from controller.config.settings import load_settings

    path = load_settings(config_dir).socket
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()  # takes connections, and says nothing
        assert complete("status", "we") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(shell, saltern, tmp_path):
    text = saltern("completion", shell).out
    assert "_SALTERN_COMPLETE" in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(text)
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_verb_is_offered(complete):
    assert set(complete("")) >= set(VERBS)
