"""examples/python-api runs against a real controller, with a `systemctl` of the test's own."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from rig import Rig

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "python-api" / "rolling_restart.py"


@pytest.fixture
def rig():
    """Three minions."""
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    tree = ROOT / "tests" / "scenarios" / "tree"
    with Rig(folder, {"web1": {}, "web2": {}, "web3": {}}, tree, forked=True) as made:
        made.up()
        yield made
    shutil.rmtree(folder, ignore_errors=True)


def test_all_are_restarted_and_the_first_that_is_not_well_ends_it(rig, tmp_path):
    environment = {**os.environ, "SALTERN_CONFIG_DIR": str(rig.config), "PYTHONPATH": str(ROOT)}
    restarted = tmp_path / "restarted"
    name = f"x; echo restarted >> {restarted}"

    def run(check):
        words = [sys.executable, str(SCRIPT), "web*", name, "--batch", "1"]
        return subprocess.run(
            [*words, *(["--check", check] if check else [])],
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
        )

    done = run("")
    assert (done.returncode, done.stdout.count("is well")) == (0, 3), done.stderr
    assert restarted.read_text().count("restarted") == 3
    events = rig.ask("/history")
    assert [one["fun"] for one in events].count("cmd.run_all") == 3
    stopped = run("false")
    assert (stopped.returncode, stopped.stdout.count("is not well")) == (1, 1), stopped.stderr
