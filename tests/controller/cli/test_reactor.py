"""`saltern reactor`: needs no controller, and does nothing."""

import json

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
    assert f"{master.parent / 'wrong.sls'}:4: there are no reactions of type 'nosuch'" in err


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
    assert json.loads(out) == [{"tag": "salt/auth", "sls": [str(master.parent / "wrong.sls")], "place": f"{master}:9"}]
    assert run("match", "other")[0] == 1
    assert len(run("list")[1].splitlines()) == 3


def test_a_configuration_that_is_wrong_is_refused(run, master):
    master.write_text("reactor: 5")
    code, _, err = run("list")
    assert code == 64
    assert f"{master}:1: reactor must be a list of tags" in err
    master.unlink()
    assert "there is no such file" in run("list")[2]
