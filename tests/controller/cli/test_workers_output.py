"""What `saltern workers` prints, and what `saltern status` says of it."""

from __future__ import annotations

import json
import time

import pytest

from controller.cli.workers_output import complaint_of, show_workers
from controller.schema.minions import CompileWorker, ExecutorStatus


def worker(name, state="ready", **more):
    return CompileWorker(
        worker=f"tls://{name}:1", name=name, state=state, processes=4, minions=7, since=time.time(), **more
    )


def status(*workers, state="connected", **more):
    since = time.time() - 120
    return ExecutorStatus(executor="tls://dask:8786", state=state, since=since, workers=workers, **more)


def test_all_of_it_is_shown(capsys):
    silent = worker("w2", "silent", reason="no heartbeat\x1b[31m")
    fallbacks = {"fallbacks": 2, "fallback_at": time.time(), "fallback_reason": "there was no worker"}
    show_workers(status(worker("w1"), silent, minions_here=1, minions_on_workers=14, **fallbacks), "text")
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "executor  tls://dask:8786: connected, since 2m ago"
    assert lines[1] == "compiled  14 minions by workers, 1 here"
    assert lines[2].startswith("fallbacks 2 shares of compiles were done here instead, the last ")
    assert lines[2].endswith("ago: there was no worker")
    assert [line.split()[:5] for line in lines[4:]] == [
        ["WORKER", "NAME", "STATE", "PROCESSES", "MINIONS"],
        ["tls://w1:1", "w1", "ready", "4", "7"],
        ["tls://w2:1", "w2", "silent", "4", "7"],
    ]
    assert "\x1b" not in shown.out
    assert shown.err == "compile_executor tls://dask:8786: w2 silent (saltern workers)\n"


def test_as_a_document(capsys):
    show_workers(status(worker("w1", "refused", reason="another version")), "json")
    document = json.loads(capsys.readouterr().out)
    assert (document["state"], document["workers"][0]["reason"]) == ("connected", "another version")


@pytest.mark.parametrize(
    ("view", "wanted"),
    [
        (ExecutorStatus(executor="local", state="local"), ""),
        (status(worker("w1"), worker("w0", "gone"), worker("w2", "asked")), ""),
        (status(state="connecting"), ""),
        (status(), "no worker is ready, compiles are done here"),
        (status(worker("w1", "refused")), "no worker is ready, compiles are done here"),
        (status(state="unreachable", error="nobody listens"), "are done here: nobody listens"),
        (status(worker("w0"), worker("w1", "suspended"), worker("w2", "refused")), ": w1 suspended, w2 refused ("),
        (status(worker("w"), *(worker(f"w{n}", "silent") for n in range(9))), "w0 silent, w1 silent, w2 silent and 6"),
    ],
)
def test_what_an_operator_has_to_look_at(view, wanted):
    complaint = complaint_of(view)
    assert wanted in complaint
    assert bool(wanted) is bool(complaint)
