"""`saltern reactor`: needs no controller, and does nothing."""

import json
from pathlib import Path

import pytest

from controller.cli.main import run as run_verb

MASTER = """
worker_threads: 5
external_auth: {pam: {}}
file_roots: {base: [TMP/tree]}
reactor:
  - 'salt/minion/*/start':
    - TMP/start.sls
    - salt://reactor/more.sls
  - salt/auth: TMP/wrong.sls
"""


@pytest.fixture
def master(tmp_path):
    path = tmp_path / "master"
    path.write_text(MASTER.replace("TMP", str(tmp_path)))
    (tmp_path / "start.sls").write_text("b:\n  local.state.apply:\n  - tgt: {{ data['id'] }}\n  - args: {mods: web}\n")
    (tmp_path / "tree/reactor").mkdir(parents=True)
    (tmp_path / "tree/reactor/more.sls").write_text("a:\n  local.test.ping:\n  - tgt: '*'\n")
    (tmp_path / "wrong.sls").write_text("a:\n  local.test.ping:\n  - tgt: '*'\nx:\n  nosuch.test.ping:\n  - tgt: '*'\n")
    (tmp_path / "data.json").write_text('{"id": "web1"}')
    return path


@pytest.fixture
def run(master, capsys):
    def call(*arguments):
        code = run_verb(["reactor", *arguments, "--config", str(master)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_reactions_are_printed_as_json(run, master):
    code, out, err = run("test", "salt/minion/web1/start", str(master.parent / "data.json"), "--out", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == [
        {
            "schema_version": 1,
            "sls": "salt://reactor/more.sls",
            "id": "a",
            "type": "local",
            "fun": "test.ping",
            "tgt": "*",
            "tgt_type": "glob",
            "arg": [],
            "kwarg": {},
        },
        {
            "schema_version": 1,
            "sls": str(master.parent / "start.sls"),
            "id": "b",
            "type": "local",
            "fun": "state.apply",
            "tgt": "web1",
            "tgt_type": "glob",
            "arg": [],
            "kwarg": {"mods": "web"},
        },
    ]


def test_what_is_wrong_is_said_with_file_and_line_and_the_rest_is_shown(run, master):
    code, out, err = run("test", "salt/auth", str(master.parent / "data.json"), "--out", "json")
    assert code == 4
    assert [each["id"] for each in json.loads(out)] == ["a"]
    assert f"{master.parent / 'wrong.sls'}:5: there are no reactions of type 'nosuch'" in err


def test_an_event_that_nothing_answers_has_no_reactions(run, master):
    code, out, err = run("test", "other", str(master.parent / "data.json"), "--out", "json")
    assert (code, json.loads(out)) == (0, [])
    assert "no reactor answers other" in err


def test_data_must_be_a_mapping_in_json(run, master, tmp_path):
    (tmp_path / "bad.json").write_text("[1]")
    code, _, err = run("test", "salt/auth", str(tmp_path / "bad.json"))
    assert code == 1
    assert "must hold the data of an event as a JSON mapping" in err


def test_an_sls_that_never_ends_is_ended(run, master, tmp_path):
    (tmp_path / "start.sls").write_text("#!py\ndef run():\n    while True: pass\n")
    code, _, err = run("test", "salt/minion/web1/start", str(tmp_path / "data.json"), "--timeout", "0.5")
    assert code == 4
    assert "it took more than 0.5 s" in err


def test_list_and_match_name_the_places(run, master):
    code, out, _ = run("match", "salt/auth", "--out", "json")
    assert code == 0
    wrong = str(master.parent / "wrong.sls")
    row = {"schema_version": 1, "tag": "salt/auth", "sls": [wrong], "place": f"{master}:9"}
    assert json.loads(out) == [row]
    assert run("match", "other")[0] == 1
    assert len(run("list")[1].splitlines()) == 3


def test_a_configuration_that_is_wrong_is_refused(run, master):
    master.write_text("reactor: 5")
    code, _, err = run("list")
    assert code == 64
    assert f"{master}:1: reactor must be a list of tags" in err
    master.unlink()
    assert "there is no such file" in run("list")[2]


EXAMPLE = Path(__file__).parents[3] / "examples/reactors/rules.yaml"


def test_the_example_of_rules_is_replayed_over_events(run, master, tmp_path):
    master.write_text(master.read_text() + EXAMPLE.read_text())
    dead = {"id": "web1", "nginx": {"running": False}}
    told = [
        ("salt/beacon/web1/service/nginx", 0.0, dead),
        ("salt/beacon/web1/service/nginx", 10.0, dead),
        ("salt/beacon/web1/service/nginx", 400.0, {**dead, "nginx": {"running": True}}),
        ("salt/beacon/web1/diskusage/", 43200.0, {"id": "web1", "mount": "/", "diskusage": 95}),
        ("salt/beacon/web1/diskusage/", 43210.0, {"id": "web1", "mount": "/", "diskusage": 96}),
        ("deploy/shop/done", 43300.0, {"app": "shop"}),
        ("deploy/shop/done", 43310.0, {"app": "shop"}),
        ("salt/minion/web1/start", 43400.0, {"id": "web1"}),
    ]
    lines = [
        json.dumps({"id": str(number), "tag": tag, "time": time, "data": data})
        for number, (tag, time, data) in enumerate(told, 1)
    ]
    recorded = tmp_path / "events.jsonl"
    recorded.write_text("\n".join(lines))
    code, out, err = run("replay", "--events", str(recorded), "--out", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [(each["event"], each.get("rule", ""), each.get("verdict", "")) for each in found] == [
        ("1", "restart-nginx", "fire"),
        ("2", "restart-nginx", "throttled"),
        ("4", "disk-full", "fire"),
        ("5", "disk-full", "not-resolved"),
        ("6", "deployed", "waiting"),
        ("7", "deployed", "fire"),
        ("8", "", ""),
    ]
    assert [each["fun"] for each in found[0]["reactions"]] == ["service.restart"]
    assert [each["fun"] for each in found[-1]["reactions"]] == ["test.ping", "state.apply"]
    assert found[0]["reactions"][0]["tgt"] == ["web1"]
    shown = run("replay", "--events", str(recorded))[1]
    assert "rule restart-nginx: throttled" in shown


def test_list_match_and_test_know_rules(run, master):
    master.write_text(master.read_text() + EXAMPLE.read_text())
    tag = "salt/beacon/web1/service/nginx"
    assert "rule deployed" in run("list")[1]
    code, out, _ = run("match", tag, "--out", "json")
    assert (code, [each["rule"] for each in json.loads(out)]) == (0, ["restart-nginx"])
    (master.parent / "dead.json").write_text('{"id": "web1", "nginx": {"running": false}}')
    code, out, _ = run("test", tag, str(master.parent / "dead.json"), "--out", "json")
    assert (code, [each["fun"] for each in json.loads(out)]) == (0, ["service.restart"])


def test_a_runner_of_the_tree_is_not_warned_of(run, master):
    (master.parent / "start.sls").write_text("b:\n  runner.mine_own.go:\n  - args: {x: 1}\n")
    data = str(master.parent / "data.json")
    assert "there is no runner mine_own.go" in run("test", "salt/minion/web1/start", data)[2]
    (master.parent / "tree/_runners").mkdir()
    (master.parent / "tree/_runners/mine_own.py").write_text("def go(x): return x\n")
    code, _, err = run("test", "salt/minion/web1/start", data)
    assert (code, err) == (0, "")
