"""Triggers on disk: what stays remembered when a minion's states are others."""

from highstate.run.triggers import listener_key
from highstate.types import Chunk
from minion.spool.triggers import TriggerFile


def chunk(identifier):
    return Chunk(state="service", fun="running", id=identifier, name=identifier, sls="web", order=0, arguments={})


def test_triggers_of_states_that_left_are_forgotten(tmp_path):
    web, gone = chunk("web"), chunk("gone")
    triggers = TriggerFile(tmp_path)
    triggers.settle(frozenset({web.tag, gone.tag, listener_key(web), listener_key(gone)}), frozenset())
    assert triggers.forget_others({web.tag: web})
    assert triggers.pending_triggers() == {web.tag, listener_key(web)}
    assert not triggers.forget_others({web.tag: web})


def test_nothing_is_written_where_nothing_is_remembered(tmp_path):
    assert not TriggerFile(tmp_path).forget_others({})
    assert list(tmp_path.iterdir()) == []
