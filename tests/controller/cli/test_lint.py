"""`saltern lint` as people and pipelines run it: paths, formats, exit codes."""

import json

import pytest

from controller.offline.linting import our_states

STATES = {
    "top.sls": "base:\n  '*': [web]\n",
    "web.sls": "web:\n  pkg.instaled:\n    - name: a, b:c\n{{ salt['pillar.get']('port') }}x:\n  test.nop: []\n",
}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with states and pillar, and we are in it."""

    def write(states, pillar=None):
        for folder, files in (("states", states), ("pillar", pillar or {})):
            for path, text in files.items():
                (tmp_path / folder / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / folder / path).write_text(text)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


def test_text(saltern, repository):
    repository(STATES)
    done = saltern("lint", ".")
    assert done.code == 1
    assert "states/web.sls:2:3: error: there is no state pkg.instaled [unknown-state]" in done.out
    assert "> 2 |   pkg.instaled:" in done.out
    assert "hint: did you mean pkg.installed" in done.out
    assert "states/web.sls:4:24: warning: pillar key 'port'" in done.out
    assert "1 error, 1 warning" in done.err


def test_json(saltern, repository):
    repository(STATES)
    document = json.loads(saltern("lint", ".", "--out", "json").out)
    assert document["counts"] == {"error": 1, "warning": 1, "notice": 0}
    first = document["findings"][0]
    assert (first["rule"], first["severity"], first["path"], first["line"], first["column"]) == (
        "unknown-state",
        "error",
        "states/web.sls",
        2,
        3,
    )


def test_github(saltern, repository):
    repository(STATES)
    lines = saltern("lint", ".", "--out", "github").out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("::error file=states/web.sls,line=2,col=3,title=saltern%3A unknown-state::there is no")
    assert "%0Adid you mean" in lines[0]


def test_what_makes_it_fail(saltern, repository, tmp_path):
    repository(STATES, {"top.sls": "base:\n  '*': [port]\n", "port.sls": "port: x\n"})
    assert saltern("lint", ".").code == 1
    done = saltern("lint", ".", "--disable", "unknown-state,cycle")
    assert (done.code, done.out) == (0, "")
    (tmp_path / "states" / "web.sls").write_text("web:\n  zookeeper.present: []\n")
    missing = saltern("lint", ".")
    assert missing.code == 1
    assert "error: zookeeper.present is a state of Salt's" in missing.out
    (tmp_path / "states" / "web.sls").write_text("web:\n  cmd.run:\n    - bg: true\n")
    softer = saltern("lint", ".")
    assert softer.code == 0
    assert "notice: 'bg' is an argument of Salt's" in softer.out
    assert saltern("lint", ".", "--disable", "nosuch").code == 64
    assert saltern("lint").code == 64
    assert "unknown-state" in saltern("lint", "--rules").out


def test_a_formula_for_salt_itself(saltern, repository, tmp_path):
    repository({})
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "init.sls").write_text("include: [salt.more]\n")
    (tmp_path / "salt" / "more.sls").write_text("a:\n  test.nop: []\n")
    assert saltern("lint", ".").code == 0


def test_grains_of_ones_own(saltern, repository, tmp_path):
    repository({"a.sls": "{{ grains['rack'] }}:\n  test.nop: []\n"})
    assert saltern("lint", ".").code == 1
    (tmp_path / "web1.yaml").write_text("rack: r1\n")
    assert saltern("lint", "states", "--grains", "web1.yaml").code == 0
    done = saltern("lint", "--file-root", "states", "--grains", "web1.yaml", "--pillar-root", "base=states")
    assert done.code == 0


def test_the_table_of_states_is_the_real_one():
    known = our_states()
    assert known.ours["file.managed"].takes("source")
    assert not known.ours["file.managed"].takes("sorce")
    assert known.salts["file.managed"].takes("source")
    assert "name" not in known.ours["pkg.installed"].required


def test_a_tree_that_never_ends(saltern, repository):
    repository({"a.sls": "#!py\nimport time\n\ndef run():\n    time.sleep(600)\n"})
    done = saltern("lint", ".", "--timeout", "1")
    assert done.code == 1
    assert "more than 1 s" in done.err


def test_the_policy_of_the_tree_holds(saltern, repository):
    states = {"top.sls": "base:\n  '*': [a]\n", "a.sls": "a:\n  file.managed:\n    - source: salt://gone\n"}
    repository({**states, "saltern.yaml": "missing_source: fail_state\n"})
    assert "warning: file.managed of ID 'a' in SLS 'a': the source salt://gone" in saltern("lint", ".").out
    repository({**states, "saltern.yaml": "missing_source: fail\n"})
    done = saltern("lint", ".")
    assert "states/saltern.yaml:1: error: Invalid enum value 'fail'" in done.out
    assert "[policy]" in done.out
    assert "error: file.managed of ID 'a'" in done.out


def test_minions_and_the_controllers_reactors(saltern, repository, tmp_path):
    repository(
        {"top.sls": "base:\n  '*': []\n", "orch/a.sls": "a:\n  salt.state:\n    - tgt: wep\n    - sls: orch.a\n"}
    )
    (tmp_path / "ids").write_text("web\n\ndb\n")
    done = saltern("lint", ".", "--minions", "ids")
    assert done.code == 1
    assert "states/orch/a.sls:3:5: warning: salt.state of ID 'a' reaches nobody: no minion matches 'wep'" in done.out
    assert "hint: did you mean web" in done.out
    assert saltern("lint", ".").code == 0
    (tmp_path / "ids").write_text("\n")
    assert "names no minion" in saltern("lint", ".", "--minions", "ids").err
