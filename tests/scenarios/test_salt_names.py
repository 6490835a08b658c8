"""Programs of Salt's documentation run unchanged with saltern-salt-names; a tree's modules do not see it.

The programs are written anew after the forms of Salt's pages "Python client API" and "Salt event system".
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.oracle.programs import CLIENTS, GOLDEN_CLIENTS

ROOT = Path(__file__).parents[2]
NAMES = ROOT / "ops" / "salt-names"

LOCAL = """
import salt.client

local = salt.client.LocalClient()
answers = {
    "ping": local.cmd("*", "test.ping"),
    "whoami": set(local.cmd("*", "cmd.run", ["whoami"]).values()) != set(),
    "args": local.cmd("db1", "test.arg", ["arg1", "arg2"], kwarg={"foo": "bar"}),
    "job": sorted(local.run_job("*", "test.ping")["minions"]),
    "jid": len(local.cmd_async("*", "test.ping")),
    "subset": len(local.cmd_subset("*", "test.ping", subset=1)),
    "batch": sorted(minion for one in local.cmd_batch("*", "test.ping", batch="50%") for minion in one),
    "iter": sorted(minion for one in local.cmd_iter("*", "test.ping") for minion in one),
    "no_block": sorted(minion for one in local.cmd_iter_no_block("*", "test.ping") if one for minion in one),
}
"""
RUNNER_AND_WHEEL = """
import salt.config
import salt.runner
import salt.wheel

opts = salt.config.master_config("/etc/salt/master")
runner = salt.runner.RunnerClient(opts)
runner.cmd("test.arg", ["x"])
wheel = salt.wheel.WheelClient(opts)
answers = {
    "jobs": "runner.test.arg" in [one["Function"] for one in runner.cmd("jobs.list_jobs", []).values()],
    "keys": wheel.cmd("key.list_all", [])["minions"],
    "called": wheel.call_func("key.list_all")["minions"],
    "sync": runner.cmd_sync({"fun": "manage.up"}),
    "low": runner.cmd_async({"fun": "jobs.list_jobs"})["tag"][:9],
}
"""
EVENTS = """
import fnmatch
import salt.config
import salt.utils.event

opts = salt.config.client_config("/etc/salt/master")
event = salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], transport=opts["transport"], opts=opts)
event.fire_event({"success": True}, "myco/event/success")
data = event.get_event(wait=10, tag="myco")
event.fire_event({"success": False}, "myco/event/success")
full = event.get_event(wait=10, tag="myco", full=True)
event.fire_event({}, "salt_is/salt/job")
for one in event.iter_events(tag="salt_is", full=True):
    break
answers = {"first": data["success"], "second": [full["tag"], full["data"]["success"]], "iterated": one["tag"],
           "matches": fnmatch.fnmatch(one["tag"], "salt_is/*"), "nothing": event.get_event(wait=0.1, tag="none")}
event.destroy()
"""
CALLER = """
import salt.client
import salt.config
import salt.loader
from salt.exceptions import CommandExecutionError
import salt.utils.yaml

caller = salt.client.Caller()
__opts__ = salt.config.minion_config("/etc/salt/minion")
__grains__ = salt.loader.grains(__opts__)
__opts__["grains"] = __grains__
__salt__ = salt.loader.minion_mods(__opts__, utils=salt.loader.utils(__opts__))
__opts__["file_client"] = "local"
answers = {
    "ping": caller.cmd("test.ping"),
    "arg": caller.cmd("test.arg", "Foo", "Bar", baz="Baz"),
    "local": salt.client.Caller(mopts=__opts__).cmd("test.ping"),
    "id": __grains__["id"],
    "salt": __salt__["test.echo"]("x"),
    "yaml": salt.utils.yaml.safe_load("a: 1"),
    "sent": caller.cmd("event.send", "myco/event/success", {"success": True, "message": "It works!"}),
}
"""


def run(rig, program, **environment):
    more = {"SALTERN_CONFIG_DIR": str(rig.config), "PYTHONPATH": f"{NAMES}:{ROOT}", **environment}
    text = f"{program}\nimport json\nprint(json.dumps(answers))"
    done = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, **more}, capture_output=True, text=True, timeout=100, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_programs_for_minions_runners_and_wheels(make_rig):
    rig = make_rig()
    every = ["db1", "web1", "web2"]
    assert run(rig, LOCAL) == {
        "ping": dict.fromkeys(every, True),
        "whoami": True,
        "args": {"db1": {"args": ["arg1", "arg2"], "kwargs": {"foo": "bar"}}},
        "job": every,
        "jid": 20,
        "subset": 1,
        "batch": every,
        "iter": every,
        "no_block": every,
    }
    found = run(rig, RUNNER_AND_WHEEL)
    assert found == {"jobs": True, "keys": every, "called": every, "sync": every, "low": "salt/run/"}


def test_programs_for_events_and_this_machine(make_rig):
    rig = make_rig(minions={"web1": {}})
    assert run(rig, EVENTS) == {
        "first": True,
        "second": ["myco/event/success", False],
        "iterated": "salt_is/salt/job",
        "matches": True,
        "nothing": None,
    }
    (rig.config / "minion").write_text((rig.directory / "web1" / "minion").read_text())
    assert run(rig, CALLER) == {
        "ping": True,
        "arg": {"args": ["Foo", "Bar"], "kwargs": {"baz": "Baz"}},
        "local": True,
        "id": "web1",
        "salt": "x",
        "yaml": {"a": 1},
        "sent": True,
    }


def test_a_script_gets_what_salts_clients_give_it(make_rig):
    """The script of tools/oracle/programs.py, and what real Salt's clients answered."""
    rig = make_rig(minions={"web1": {"roles": ["web"]}})
    environment = {**os.environ, "CONF": str(rig.config / "controller"), "PYTHONPATH": f"{NAMES}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", CLIENTS], env=environment, capture_output=True, text=True, timeout=200, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.partition("ANSWERS ")[2])
    salts = json.loads(GOLDEN_CLIENTS.read_text())
    assert answers.pop("cmd_sync") == {"args": ["a"], "kwargs": {"b": 2}}
    assert salts.pop("cmd_sync") == "raises SaltException", "which knows no user there; here the socket does"
    assert answers == salts


MODULE = """
import salt.client
import salt.utils.event
import salt.utils.files
import salt.exceptions

def seen():
    return [
        salt.client.LocalClient.__module__,
        salt.utils.event.SaltEvent.__module__,
        salt.utils.files.fopen.__module__,
        salt.exceptions.CommandExecutionError.__module__,
    ]
"""


@pytest.mark.parametrize("installed", [True, False])
def test_modules_of_a_tree_get_what_they_always_get(installed, tmp_path):
    """The same names mean the same in a process of a minion, whether the distribution is there or not."""
    (tmp_path / "states" / "_modules").mkdir(parents=True)
    (tmp_path / "states" / "_modules" / "mine_own.py").write_text(MODULE)
    (tmp_path / "minion").write_text(f"id: x\nroot_dir: {tmp_path}\nfile_client: local\n")
    path = f"{NAMES}:{ROOT}" if installed else str(ROOT)
    call = [sys.executable, "-m", "saltern", "call", "-c", str(tmp_path), "--local", "--out", "json"]
    for function in ("saltutil.sync_modules", "mine_own.seen"):
        done = subprocess.run(
            [*call, "--file-root", str(tmp_path / "states"), function],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            cwd="/",
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["local"] == [
        "extmods.salt_compat.finder",
        "extmods.salt_compat.utils.event",
        "extmods.salt_compat.utils.files",
        "extmods.salt_compat.exceptions",
    ]


def test_beside_a_real_salt_it_says_what_happened(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "__init__.py").write_text((NAMES / "salt" / "__init__.py").read_text())
    (tmp_path / "salt" / "minion.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", "import salt"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert "are installed in one environment" in done.stderr
