"""`saltern migrate agent`, `status` and `shadow` against an API that answers: documents, exit codes, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from controller.schema.fleet.replacements import ReplacementView

COMMAND = [sys.executable, "-c", "from controller.cli import main; main()", "migrate"]
LOW = {name: [{"state": "test", "fun": "nop", "name": "x", "__id__": "x"}] for name in ("db1", "web1", "web2")}


def view(step, minion="web1", **more):
    return ReplacementView(minion=minion, to="saltern", step=step, **more)


def rows(done):
    """The steps of a document, each row of which has a version."""
    found = json.loads(done.out)
    assert all(row["schema_version"] == 1 for row in found)
    return [(row["minion"], row["to"], row["step"]) for row in found]


def test_each_form_is_one_document(served, saltern):
    done = saltern("migrate", "agent", "web1", "--out", "json")
    assert (done.code, rows(done)) == (0, [("web1", "saltern", "done")])
    assert json.loads(done.out)[0]["notes"] == ["returner: not taken"]
    done = saltern("migrate", "agent", "web*", "--test", "--to", "salt", "--out", "json")
    assert (done.code, rows(done)) == (0, [("web1", "salt", "planned"), ("web2", "salt", "planned")])
    done = saltern("migrate", "agent", "db1", "--to", "salt", "--out", "json")
    assert (done.code, rows(done)) == (1, [("db1", "salt", "refused")])
    assert json.loads(saltern("migrate", "status", "--out", "json").out) == []
    served.desk.replaced = {"web1": [view("failed", why="no python")]}
    done = saltern("migrate", "status", "--out", "json")
    assert (done.code, rows(done)) == (0, [("web1", "saltern", "failed")])


def test_a_replacement_is_watched_until_it_has_ended(served, saltern, monkeypatch):
    monkeypatch.setattr("controller.cli.verbs.migration.agents._WATCH_SECONDS", 0)
    steps = [view("installing"), view("installing"), view("starting", why="it is not connected yet"), view("done")]
    served.desk.replaced = {"web1": list(steps), "db1": [view("failed", "db1")]}
    done = saltern("migrate", "status", "--watch")
    assert done.code == 0, "db1 had failed before"
    assert done.out.splitlines() == [
        "web1: installing (to saltern-minion)",
        "db1: failed (to saltern-minion)",
        "web1: starting (to saltern-minion)",
        "    it is not connected yet",
        "web1: done (to saltern-minion)",
    ]
    served.desk.replaced = {"web1": [*steps[:3], view("failed")]}
    done = saltern("migrate", "status", "-w", "--out", "json")
    assert (done.code, rows(done)) == (1, [("web1", "saltern", "failed")])
    served.desk.replaced = {}
    done = saltern("migrate", "status", "--watch")
    assert (done.code, done.out, done.err.strip()) == (0, "", "no agent was replaced")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("agent", "web2"), "interrupted: what has begun goes on, and no other is begun"),
        (("agent", "web2", "--out", "json"), "interrupted: what has begun goes on, and no other is begun"),
        (("shadow", "web2", "--low-file", "low"), "interrupted"),
        (("shadow", "web2", "--low-file", "low", "--out", "json"), "interrupted"),
    ],
)
def test_ctrl_c_ends_what_waits_for_an_answer(served, config_dir, tmp_path, words, said):
    served.desk.endless = "web2"
    (tmp_path / "low").write_text(json.dumps(LOW))
    with interruptible([*words, "-c", str(config_dir)], tmp_path) as process:
        assert served.desk.stuck.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip().partition(";")[0]) == (130, said)
    assert "{" not in out, "no half of a document"


def test_ctrl_c_ends_what_is_watched(served, config_dir, tmp_path):
    served.desk.replaced = {"web1": [view("installing")]}
    with interruptible(["status", "--watch", "-c", str(config_dir)], tmp_path) as process:
        assert process.stdout.readline() == "web1: installing (to saltern-minion)\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, "interrupted")


def interruptible(words, folder):
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore it, and so all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
