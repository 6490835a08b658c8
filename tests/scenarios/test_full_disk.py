"""The disk of the controller's or of a minion's state is full: nothing is lost, and all goes on when there is space."""

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from rig import Rig

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts are root's")

TREE = Path(__file__).parent / "tree"


@contextmanager
def small_disk(place):
    """A file system of 64 MiB."""
    place.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "none", str(place)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no mounts here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place):
    """Take all space that there is."""
    with (place / "ballast").open("ab", buffering=0) as ballast:
        for size in (1024 * 1024, 4096, 1):
            with pytest.raises(OSError, match="No space left"):
                while True:
                    ballast.write(b"x" * size)


@contextmanager
def rig_on(disk):
    """A rig; `disk` of its folder is small."""
    with (
        tempfile.TemporaryDirectory(prefix="saltern-", ignore_cleanup_errors=True) as folder,
        small_disk(Path(folder) / disk) as place,
        Rig(Path(folder), {"web1": {"roles": ["web"]}}, TREE, forked=True) as rig,
    ):
        rig.up()
        rig.wait_applied(rig.push("first"))
        yield rig, place


def number(value):
    return {"pillar/numbers.sls": ("number: 0", f"number: {value}")}


def test_a_push_and_a_result_while_the_controllers_disk_is_full():
    with rig_on("c") as (rig, place):
        go_on = rig.directory / "go-on"
        waits = f"\nwaits:\n  cmd.run:\n    - name: until test -e {go_on}; do sleep 0.1; done; touch {go_on}.seen\n"
        app = rig.work / "states/app.sls"
        app.write_text(app.read_text() + waits)
        second = rig.push("a command that waits")
        rig.wait("the run", lambda: any(not run["outcome"] for run in rig.history("web1")))
        run_id = next(run["run_id"] for run in rig.history("web1") if not run["outcome"])
        fill(place)
        third = rig.push("while it is full", number(3))
        go_on.touch()
        rig.wait("the end of the run", Path(f"{go_on}.seen").exists)
        rig.wait("it to be said", lambda: "disk is full" in rig.log("controller", 10_000))
        assert rig.status()["web1"]["connected"]
        assert next(run for run in rig.history("web1") if run["run_id"] == run_id)["outcome"] == ""
        (place / "ballast").unlink()
        rig.wait_applied(third)
        outcomes = [run["outcome"] for run in rig.history("web1") if run["run_id"] == run_id]
        assert outcomes == ["changed"]
        assert second != third
        assert psutil.pid_exists(rig.pid("controller"))


def test_a_push_while_the_minions_disk_is_full():
    with rig_on("web1/agent") as (rig, place):
        fill(place)
        second = rig.push("while it is full", number(2))
        said = "event=desired_not_stored"
        rig.wait("it to be said twice", lambda: rig.log("web1", 10_000).count(said) >= 2)
        assert "No space left" in rig.log("web1", 10_000)
        assert rig.log("web1", 10_000).count(said) < 10, "it is not tried without a pause"
        (place / "ballast").unlink()
        rig.wait_applied(second)
