"""What of a prediction is certain."""

from controller.preview.certainty import doubts_of_plan, doubts_of_results, doubts_of_salt, with_uncertain
from highstate.files import MemoryFiles
from highstate.run.report import as_running
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine


def chunk(state, fun, name, **arguments):
    return Chunk(state=state, fun=fun, id=name, name=name, sls="web", arguments=arguments)


def test_a_state_without_conditions_is_certain():
    assert doubts_of_plan({"a": chunk("file", "managed", "a")}, dict) == {}


def test_conditions_slots_and_commands_are_not_and_nothing_that_follows_them():
    chunks = {
        "a": chunk("file", "managed", "a", onlyif="test -e /x", unless="false"),
        "b": chunk("cmd", "run", "b"),
        "c": chunk("file", "managed", "c", contents="__slot__:salt:cmd.run(id)"),
        "d": chunk("file", "managed", "d"),
        "e": chunk("file", "managed", "e"),
        "f": chunk("file", "managed", "f"),
    }
    found = doubts_of_plan(chunks, lambda: {"b": ("d",), "d": ("e",)})
    assert {key: doubt.certainty for key, doubt in found.items()} == {
        "a": "conditional",
        "b": "conditional",
        "c": "unknown",
        "d": "conditional",
        "e": "conditional",
    }
    assert found["a"].why == "onlyif and unless decides on the machine"
    assert (found["b"].why, "a command may fail" in found["e"].why) == ("a command may fail", True)


def test_what_a_preview_did_not_look_at_is_marked_with_all_that_follows():
    states = {
        "file_|-a_|-a_|-managed": {
            "result": None,
            "comment": "The file a is set to be changed",
            "warnings": ["not evaluated in a preview: 'test -e /x' is not in the live state"],
        },
        "file_|-b_|-b_|-managed": {"result": None, "comment": "", "changes": {}},
        "file_|-c_|-c_|-managed": {
            "result": None,
            "changes": {"diff": "content of c is not read in a preview: no live state determines it"},
        },
        "cmd_|-d_|-d_|-run": {"result": None, "comment": "would run"},
        "cmd_|-e_|-e_|-run": {"result": True, "comment": "onlyif condition is false"},
        "test_|-f_|-f_|-nop": {"result": True, "comment": "ok"},
    }
    found = doubts_of_results(states, lambda: {"file_|-a_|-a_|-managed": ("file_|-b_|-b_|-managed",)})
    assert {key.split("_|-")[1]: doubt.certainty for key, doubt in found.items()} == {
        "a": "unknown",
        "b": "unknown",
        "c": "unknown",
        "d": "conditional",
    }
    marked = with_uncertain(states, dict)
    assert "uncertain" not in marked["test_|-f_|-f_|-nop"]
    assert "not evaluated" in marked["file_|-a_|-a_|-managed"]["uncertain"]


def test_a_check_command_decides_on_what_acts_alone():
    states = {
        "file_|-a_|-a_|-managed": {"result": None, "comment": "is set to be changed"},
        "file_|-b_|-b_|-managed": {"result": True, "comment": "in the correct state"},
    }
    found = doubts_of_results(states, dict, states.keys())
    assert {key: doubt.why for key, doubt in found.items()} == {
        "file_|-a_|-a_|-managed": "check_cmd decides on the machine"
    }


def test_a_command_that_follows_something_unknown_is_unknown():
    states = {
        "file_|-a_|-a_|-managed": {"result": None, "comment": "What it would do is not known: x"},
        "cmd_|-b_|-b_|-run": {"result": None, "comment": "would run"},
        "cmd_|-c_|-c_|-run": {"result": None, "comment": "would run"},
    }
    follows = {"file_|-a_|-a_|-managed": ("cmd_|-b_|-b_|-run",), "cmd_|-b_|-b_|-run": ("cmd_|-c_|-c_|-run",)}
    found = doubts_of_results(states, lambda: follows)
    assert {doubt.certainty for doubt in found.values()} == {"unknown"}
    assert found["cmd_|-c_|-c_|-run"].why.startswith("follows b (cmd.run): follows a (file.managed): ")


def test_a_command_whose_condition_asks_of_what_the_run_changes_is_unknown(tmp_path):
    log = f"{tmp_path}/log"
    states = ((f"echo x >> {log}", {}), ("true", {"unless": f"grep -q x {log}"}))
    made = [chunk("cmd", "run", name, **arguments) for name, arguments in states]
    chunks = {each.tag: each for each in made}
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({})), test=True)
    found = run(chunks, engine, test=True, clock=lambda: 0.0)
    doubts = doubts_of_results(as_running(chunks, found), dict)
    assert [doubts[key].certainty for key in chunks] == ["conditional", "unknown"]


def test_what_listens_to_something_uncertain_is_uncertain():
    states = {
        "file_|-a_|-a_|-managed": {"result": None, "comment": "What it would do is not known: x"},
        "test_|-listener_b_|-n_|-mod_watch": {"result": None, "comment": "Watch statement fired."},
    }
    marked = with_uncertain(states, lambda: {"file_|-a_|-a_|-managed": ("test_|-b_|-n_|-nop",)})
    assert "follows a (file.managed)" in marked["test_|-listener_b_|-n_|-mod_watch"]["uncertain"]


def test_salt_foretells_nothing_of_what_follows_a_state_that_acts():
    keys = {name: f"file_|-{name}_|-{name}_|-managed" for name in "abcd"}
    states = {
        keys["a"]: {"result": None, "comment": "would be made"},
        keys["b"]: {"result": False, "comment": "is not there"},
        keys["c"]: {"result": True, "comment": ""},
        keys["d"]: {"result": True, "comment": ""},
    }
    follows = {keys["a"]: (keys["b"],), keys["b"]: (keys["c"],)}
    found = doubts_of_salt(states, lambda: follows)
    assert set(found) == {keys["b"], keys["c"]}
    assert found[keys["c"]].why == "Salt foretells it without what a (file.managed) makes"
    assert doubts_of_salt({keys["d"]: states[keys["d"]]}, lambda: follows) == {}
    marked = with_uncertain(states, lambda: follows, salt=True)
    assert [key for key, entry in marked.items() if "uncertain" in entry] == [keys["b"], keys["c"]]
    assert not any("uncertain" in entry for entry in with_uncertain(states, lambda: follows).values())
