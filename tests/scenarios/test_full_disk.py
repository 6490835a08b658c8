"""The disk of the controller's or of a minion's state is full: nothing is lost, and all goes on when there is space."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from ledger import Ledger, add_module
from rig import Rig
from small_disk import fill, small_disk

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts are root's")

TREE = Path(__file__).parent / "tree"


@contextmanager
def rig_on(disk):
    """A rig; `disk` of its folder is small."""
    with (
        tempfile.TemporaryDirectory(prefix="saltern-", ignore_cleanup_errors=True) as folder,
        small_disk(Path(folder) / disk) as place,
        Rig(Path(folder), {"web1": {"roles": ["web"]}}, TREE, forked=True) as rig,
    ):
        rig.up()
        add_module(rig)
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


def test_jobs_while_the_controllers_disk_is_full():
    """Nobody is asked for what cannot be kept; what was asked before is done once, and its result comes when it can."""
    with rig_on("c") as (rig, place):
        ledger = Ledger(rig)
        before = [ledger.ask(seconds=seconds) for seconds in (0.1, 2.0, 3.0)]
        rig.wait("the last to begin", lambda: ledger.done("web1", "job3")[0])
        fill(place)
        refused = [ledger.ask() for _ in range(3)]
        assert [jid for jid, _ in refused] == ["", "", ""]
        said = rig.saltern("run", "*", "test.ping", check=False)
        assert said.returncode == 1
        assert "disk is full" in said.stderr or "No space" in said.stderr, said.stderr
        rig.wait("all to be done", lambda: ledger.done("web1", "job3") == (1, 1))
        rig.kill("web1", children=True)
        rig.start_minion("web1")
        (place / "ballast").unlink()
        assert ledger.reconcile_all(before) == {"ok": 3}
        assert ledger.reconcile_all(refused) == {}
        assert ledger.reconcile_all([ledger.ask()]) == {"ok": 1}


def test_jobs_while_the_minions_disk_is_full():
    """A job that the minion cannot note is not begun, and the controller is told so."""
    with rig_on("web1/agent") as (rig, place):
        ledger = Ledger(rig)
        before = [ledger.ask(seconds=seconds) for seconds in (2.0, 3.0)]
        rig.wait("both to begin", lambda: ledger.done("web1", "job1")[0] and ledger.done("web1", "job2")[0])
        fill(place)
        meanwhile = [ledger.ask() for _ in range(3)]
        rig.wait("both to be done", lambda: ledger.done("web1", "job2")[1])
        assert rig.status()["web1"]["connected"]
        (place / "ballast").unlink()
        ledger.reconcile_all(before)
        came_to = ledger.reconcile_all(meanwhile)
        assert came_to["ok"] + came_to["failed"] + came_to["refused"] == 3, came_to
        assert ledger.reconcile_all([ledger.ask()]) == {"ok": 1}
