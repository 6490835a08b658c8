"""A controller whose compiles go to a Dask cluster: scheduler and workers are real processes of this machine."""

from __future__ import annotations

import json
import urllib.request

import pytest

pytest.importorskip("distributed", reason="compiles on several machines need Dask: pip install 'saltern[dask]'")

from dask_machines import DaskMachines


def value(rig, name):
    with urllib.request.urlopen(rig.http + "/metrics") as answer:
        lines = [line.rpartition(" ") for line in answer.read().decode().splitlines()]
    return float(next(number for series, _, number in lines if series == name))


def status_of(rig):
    shown = json.loads(rig.saltern("workers", "--out", "json").stdout)
    assert json.loads(rig.saltern("status", "--out", "json").stdout)["executor"].keys() == shown.keys() - {
        "schema_version"
    }
    return shown


def test_without_a_cluster_the_machine_compiles(make_rig):
    rig = make_rig()
    rig.wait_applied(rig.push("first"))
    shown = status_of(rig)
    assert (shown["executor"], shown["state"], shown["workers"], shown["fallbacks"]) == ("local", "local", [], 0)
    assert shown["minions_here"] >= 3
    compiled = f"compiled  0 minions by workers, {shown['minions_here']} here"
    assert rig.saltern("workers").stdout.splitlines() == ["executor  local: local", compiled]


@pytest.mark.timeout(400)
def test_pushes_are_compiled_on_the_cluster_and_survive_its_end(make_rig, tmp_path):
    with DaskMachines(tmp_path / "dask") as machines:
        machines.start_scheduler()
        for name in ("w1", "w2"):
            machines.start_worker(name)
        rig = make_rig(compile_executor=machines.address)
        rig.wait("both workers", lambda: value(rig, 'saltern_compile_workers{state="ready"}') == 2)
        rig.wait_applied(rig.push("first"))
        by_dask = 'saltern_compile_minions_total{executor="dask"}'
        rig.wait("the page of metrics to count them", lambda: value(rig, by_dask) >= 3)
        assert "number 0" in (rig.root("web1") / "app.conf").read_text()
        shown = status_of(rig)
        assert (shown["executor"], shown["state"], shown["minions_here"]) == (machines.address, "connected", 0)
        assert [(each["name"], each["state"], each["processes"]) for each in shown["workers"]] == [
            ("w1", "ready", 1),
            ("w2", "ready", 1),
        ]
        assert sum(each["minions"] for each in shown["workers"]) == shown["minions_on_workers"] >= 3
        assert "compile_executor" not in rig.saltern("status").stderr
        machines.kill("w1")
        rig.wait_applied(rig.push("on one worker", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}))
        rig.wait("the page of metrics to count them", lambda: value(rig, by_dask) >= 6)
        assert [(each["name"], each["state"]) for each in status_of(rig)["workers"]] == [
            ("w2", "ready"),
            ("w1", "gone"),
        ]
        before = value(rig, by_dask)
        machines.kill("scheduler")
        machines.kill("w2")
        rig.wait("their end", lambda: value(rig, 'saltern_compile_workers{state="ready"}') == 0)
        rig.wait_applied(rig.push("on none", {"pillar/numbers.sls": ("number: 1\n", "number: 2\n")}))
        assert "number 2" in (rig.root("web1") / "app.conf").read_text()
        local = 'saltern_compile_minions_total{executor="local"}'
        rig.wait("the page of metrics to count these", lambda: value(rig, local) >= 3)
        assert value(rig, by_dask) == before
        assert value(rig, "saltern_compile_fallbacks_total") >= 1
        rig.wait("the connection's end", lambda: status_of(rig)["state"] == "unreachable")
        shown = status_of(rig)
        assert (shown["state"], shown["fallback_reason"]) == ("unreachable", "there was no worker")
        assert shown["minions_here"] >= 3
        assert {each["state"] for each in shown["workers"]} == {"gone"}
        text = rig.saltern("workers").stdout
        assert f"executor  {machines.address}: unreachable, since " in text
        assert "were done here instead" in text
        complaint = f"compile_executor {machines.address} cannot be reached, compiles are done here: "
        assert complaint in rig.saltern("status").stderr
        assert "connected to the Dask scheduler" in rig.log("controller", lines=1000)
