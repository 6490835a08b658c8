"""Branches with submodules at a controller: one that answers goes live at once, slow ones delay nothing."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hostile_git import hangs, hostile
from rig import Rig

TREE = Path(__file__).resolve().parents[2] / "examples" / "quickstart"
PROMPT = 5.0
"""Seconds; far below on a machine that does nothing else, and far below a poll."""


@pytest.fixture
def rig(tmp_path):
    with hostile(hangs) as server:
        url = {"gitfs_submodule_hosts": ["127.0.0.1"], "gitfs_update_interval": 3600}
        with Rig(tmp_path / "rig", {}, TREE, url) as rig:
            rig.make_remote()
            rig.slow = server.url
            yield rig


def add_submodule(rig, url, commit):
    (rig.work / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = sub\n\turl = {url}\n')
    rig.git("add", ".gitmodules")
    rig.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    rig.git("commit", "-qm", "a submodule")


def seconds_until_live(rig, commit):
    began = time.monotonic()
    rig.wait("the push to be live", lambda: commit in str(rig.ask("/remotes")))
    return time.monotonic() - began


@pytest.mark.alone
def test_a_submodule_that_answers_is_live_at_once_among_slow_ones(rig, tmp_path):
    rig.push("first")
    rig.start_controller()
    for number in range(3):
        rig.git("checkout", "-q", "-b", f"a-foreign-{number}", "main")
        add_submodule(rig, f"{rig.slow}/{number}", "12" * 20)
        rig.push_head(f"a-foreign-{number}")
        rig.git("rm", "-q", "--cached", "sub")
        rig.git("checkout", "-qf", "main")
    child = tmp_path / "child"
    rig.git("init", "-q", "-b", "main", str(child), cwd=tmp_path)
    rig.git("commit", "-q", "--allow-empty", "-m", "child", cwd=child)
    inner = rig.git("rev-parse", "HEAD", cwd=child)
    (rig.work / "states" / "counter.txt").write_text("1")
    assert seconds_until_live(rig, rig.push("plain")) < PROMPT
    add_submodule(rig, str(child), inner)
    rig.push_head()
    assert seconds_until_live(rig, rig.head()) < PROMPT
    assert subprocess.run(["kill", "-0", str(rig.pid("controller"))], check=False).returncode == 0
