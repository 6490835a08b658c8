"""Differences that policy ignores: a drift check does not tell them as drift, a remediation leaves them as they are."""

from __future__ import annotations

import time
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.ignoring import IgnoreRule
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.engine.ignored import Ignoring
from minion.machine.machine import LocalMachine


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "app.conf"
    path.write_text("text\n")
    path.chmod(0o600)
    return path


def done(chunk: Chunk, *rules: IgnoreRule, test: bool, **more: Any) -> StateResult:
    machine = LocalMachine(sources_port=MemoryFiles({"base": {}}))
    engine = StateEngine(machine, test=test, drift=test, ignoring=Ignoring(rules=rules), **more)
    return run({chunk.tag: chunk}, engine, test=test, clock=time.time)[chunk.tag]


def managed(path, **arguments: Any) -> Chunk:
    own = {"contents": "text", "mode": "0644", **arguments}
    return Chunk(state="file", fun="managed", id="conf", name=str(path), sls="app", arguments=own)


MODE = IgnoreRule(field="mode", reason="until the audit")


def test_what_is_ignored_alone_is_no_drift_and_is_left(conf):
    found = done(managed(conf), MODE, test=True)
    assert (found.result, found.changes, found.comment) == (True, {}, "What differs is ignored: mode (until the audit)")
    assert found.ignored == {"mode": {"change": "0644", "reason": "until the audit"}}
    after = done(managed(conf), MODE, test=False)
    assert (after.result, after.changes, conf.stat().st_mode & 0o777) == (True, {}, 0o600)


def test_what_else_differs_is_put_right_without_it(conf):
    conf.write_text("edited\n")
    found = done(managed(conf), MODE, test=True)
    assert (found.result, list(found.changes), list(found.ignored)) == (None, ["diff"], ["mode"])
    after = done(managed(conf), MODE, test=False)
    assert (after.result, list(after.changes)) == (True, ["diff"])
    assert (conf.read_text(), conf.stat().st_mode & 0o777) == ("text\n", 0o600)


def test_content_that_is_ignored_stays_while_the_mode_is_put_right(conf):
    conf.write_text("edited\n")
    after = done(managed(conf), IgnoreRule(field="diff"), test=False)
    assert (after.result, list(after.changes)) == (True, ["mode"])
    assert (conf.read_text(), conf.stat().st_mode & 0o777) == ("edited\n", 0o644)


def test_a_file_that_is_gone_is_made_whole(conf):
    conf.unlink()
    assert done(managed(conf, mode="0604"), MODE, test=True).result is None
    after = done(managed(conf, mode="0604"), MODE, test=False)
    assert (after.result, conf.stat().st_mode & 0o777) == (True, 0o604)


def test_what_cannot_be_put_right_apart_is_told_and_left(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "a").chmod(0o600)
    (tmp_path / "b").write_text("")
    (tmp_path / "b").chmod(0o600)
    chunk = Chunk(
        state="file",
        fun="directory",
        id="folder",
        name=str(tmp_path),
        sls="app",
        arguments={"file_mode": "0644", "recurse": ["mode"]},
    )
    rule = IgnoreRule(field=f"{tmp_path}/a:mode")
    found = done(chunk, rule, test=True)
    assert (found.result, list(found.changes), list(found.ignored)) == (
        None,
        [f"{tmp_path}/b"],
        [f"{tmp_path}/a:mode"],
    )
    after = done(chunk, rule, test=False)
    assert after.result is True
    assert "cannot be put right without what is ignored" in after.comment
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600


def test_a_state_of_the_tree(tmp_path):
    calls = []

    class Functions:
        def has(self, state: str) -> bool:
            return state == "mine"

        def takes(self, state: str, fun: str) -> bool:
            return True

        def call(self, chunk: Chunk, fun: str, arguments: Any, *, test: bool) -> StateResult:
            calls.append(test)
            return StateResult(name=chunk.name, result=None if test else True, changes={"color": "red"})

    chunk = Chunk(state="mine", fun="painted", id="wall", name="wall", sls="app", arguments={})
    rule = IgnoreRule(state="mine.*", field="color")
    assert done(chunk, rule, test=True, user_states=Functions()).result is True
    assert done(chunk, rule, test=False, user_states=Functions()).ignored
    assert False not in calls
    assert done(chunk, IgnoreRule(id="other"), test=False, user_states=Functions()).changes == {"color": "red"}
    assert False in calls
