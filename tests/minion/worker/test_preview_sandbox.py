"""What a preview may do: conditions of the live document are evaluated, those that only a branch has are not."""

from __future__ import annotations

import pytest

from highstate.files import MemoryFiles
from highstate.types import Chunk
from minion.engine.conditions import ConditionUnknown
from minion.execution import Context, Modules
from minion.machine.failure import ContentUnknown, StateFailed
from minion.worker.preview_sandbox import PreviewFunctions, PreviewMachine, PreviewStates, known_conditions


@pytest.fixture
def known(desired_state):
    live = desired_state(
        ("cmd", "run", "a", {"onlyif": "test -d /", "cwd": "/"}),
        ("cmd", "run", "b", {"unless": ["true", {"fun": "test.echo", "args": ["x"]}]}),
        ("cmd", "run", "c", {"onlyif": {"fun": "test.echo", "text": "y", "get_return": "z"}}),
    )
    return known_conditions(live)


@pytest.fixture
def machine(known):
    return PreviewMachine(sources_port=MemoryFiles({}), known=known)


def test_a_live_command_runs_with_the_same_options_alone(machine):
    assert machine.run("test -d /", cwd="/").returncode == 0
    assert machine.run("true").returncode == 0
    with pytest.raises(ConditionUnknown, match="not in the live state"):
        machine.run("test -d /")
    with pytest.raises(ConditionUnknown, match="not in the live state"):
        machine.run("true", runas="nobody")


def test_a_command_of_the_branch_does_not_run(machine, tmp_path):
    for command in (f"touch {tmp_path}/made", ["touch", f"{tmp_path}/made"]):
        with pytest.raises(ConditionUnknown):
            machine.run(command)
    assert list(tmp_path.iterdir()) == []


def test_states_look_with_programs_that_only_look(machine):
    assert machine.query(["id", "-u", "root"]).stdout == "0\n"
    with pytest.raises(ConditionUnknown, match="a preview does not run git"):
        machine.query(["git", "status"])


def test_a_template_that_calls_a_function_of_the_machine_is_not_known():
    tree = {"asks": b"{{ salt['cmd.has_exec']('x') }}", "plain": b"{{ salt['pillar.get']('a', 'd') }}"}
    machine = PreviewMachine(sources_port=MemoryFiles({"base": tree}), uncalled=["cmd.has_exec"])
    assert machine.render("plain", "base", {}) == b"d"
    for _ in range(2):
        with pytest.raises(ContentUnknown, match=r"its template calls cmd\.has_exec, which a preview does not call"):
            machine.render("asks", "base", {})
    with pytest.raises(StateFailed, match="no-such"):
        machine.render("no-such", "base", {})


def test_nothing_is_fetched(machine):
    with pytest.raises(StateFailed, match="fetches nothing"):
        machine.fetch("http://127.0.0.1/x")


def test_functions_are_called_as_a_live_condition_calls_them(known):
    functions = PreviewFunctions(functions=Modules(Context(minion_id="m")), known=known)
    assert functions.call_with_retcode("test.echo", ["x"], {}) == ("x", 0)
    assert functions.call_with_retcode("test.echo", [], {"text": "y"}) == ("y", 0)
    for args, kwargs in ((["other"], {}), ([], {"text": "other"}), ([], {})):
        with pytest.raises(ConditionUnknown, match=r"test\.echo is not called so"):
            functions.call_with_retcode("test.echo", args, kwargs)
    with pytest.raises(ContentUnknown, match=r"what test\.echo tells is not shown"):
        functions.look("test.echo", ["other"], {})
    assert (
        functions.look("schedule.build_schedule_item", ["a"], {"function": "test.ping", "seconds": 9})["seconds"] == 9
    )
    assert list(functions.signature("test.echo").parameters) == ["text"]


@pytest.mark.parametrize("use", ["call", "call_with_retcode"], ids=["a slot", "a condition"])
def test_no_function_changes_the_machine_also_if_a_live_condition_calls_it(desired_state, tmp_path, use):
    made = str(tmp_path / "made")
    calls = [("file.touch", [made]), ("cmd.retcode", [f"touch {made}"]), ("cmd.run_all", [f"touch {made}"])]
    live = desired_state(
        *(("test", "nop", str(n), {"onlyif": [{"fun": fun, "args": args}]}) for n, (fun, args) in enumerate(calls))
    )
    functions = PreviewFunctions(functions=Modules(Context(minion_id="m")), known=known_conditions(live))
    for fun, args in calls:
        with pytest.raises(ConditionUnknown, match="may change the machine"):
            getattr(functions, use)(fun, args, {})
    assert list(tmp_path.iterdir()) == []


def test_a_slot_shows_no_hash(desired_state):
    calls = [("file.get_user", ["/"]), ("file.get_hash", ["/etc/shadow"]), ("shadow.info", ["root"])]
    live = desired_state(
        *(("test", "nop", str(n), {"onlyif": [{"fun": fun, "args": args}]}) for n, (fun, args) in enumerate(calls))
    )
    functions = PreviewFunctions(functions=Modules(Context(minion_id="m")), known=known_conditions(live))
    assert functions.call("file.get_user", ["/"], {}) == "root"
    for fun, args in calls[1:]:
        with pytest.raises(ConditionUnknown, match=f"what {fun} tells is not shown"):
            functions.call(fun, args, {})


def test_states_of_the_tree_are_named_and_not_called():
    states = PreviewStates(frozenset({"mine"}))
    assert (states.has("mine"), states.has("file")) == (True, False)
    assert (states.takes("mine", "present"), states.takes("mine", "mod_watch")) == (True, False)
    result = states.call(Chunk(state="mine", fun="present", id="i", name="n", sls="s"), "present", {}, test=True)
    assert result.result is None
    assert "mine.present comes with the tree" in result.comment
