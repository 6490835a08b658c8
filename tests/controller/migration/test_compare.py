"""`saltern migrate compare`: minions of a cache, compiled by both sides.

Salt is real where SALT_VENV names a virtualenv that has it. Elsewhere what it answered is played back, which is in
recorded/salt.json: `SALT_VENV=DIR pytest --rewrite tests/controller/migration/test_compare.py` writes it anew.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

HERE = Path(__file__).parent
RECORDING = HERE / "recorded/salt.json"
VERSION = "3008.3"

TREE = {
    "etc/salt/master": (
        "file_roots:\n  base: [/srv/salt]\n  dev: [/srv/dev]\npillar_roots:\n  base: [/srv/pillar]\n"
        "nodegroups:\n  front: 'web*'\next_pillar:\n- cmd_yaml: 'echo from_outside: 1'\njinja_trim_blocks: True\n"
    ),
    "etc/salt/master.d/more.conf": "state_auto_order: True\n",
    "srv/salt/top.sls": (
        "base:\n  '*': [common]\n  front:\n  - match: nodegroup\n  - web\n  'db*': [asks]\n  'old*': [broken]\n"
        "  'py*': [python]\n"
    ),
    "srv/salt/common.sls": (
        "{% from 'map.jinja' import site with context %}\nmotd:\n  file.managed:\n  - name: /etc/motd\n"
        "  - contents: {{ site.greeting }} {{ pillar.owner }} {{ pillar.from_outside }}\n  - order: last\n"
        "first:\n  test.nop: []\n"
    ),
    "srv/salt/map.jinja": "{% set site = salt['grains.filter_by']({'Debian': {'greeting': 'hi'}}) %}\n",
    "srv/salt/web.sls": (
        "include: [common]\nnginx:\n  pkg.installed: []\n  service.running:\n  - watch:\n    - pkg: nginx\n"
        "    - file: motd\n"
    ),
    "srv/salt/asks.sls": "a:\n  test.nop:\n  - name: {{ salt['cmd.run']('hostname') }}\n",
    "srv/salt/broken.sls": "a:\n  test.nop:\n  - name: {{ pillar.nothing.here }}\n",
    "srv/salt/python.sls": "#!py\ndef run():\n    return {'a': {'test.nop': [{'name': __grains__['os']}]}}\n",
    # Salt reads the top files of all environments, Saltern that of base.
    "srv/dev/top.sls": "dev:\n  'web2': [extra]\n",
    "srv/dev/extra.sls": "extra:\n  test.nop: []\n",
    "srv/pillar/top.sls": "base:\n  '*': [common]\n",
    "srv/pillar/common.sls": "owner: {{ grains.id }}\n",
}
MINIONS = ("db1", "old1", "py1", "web1", "web2", "web3")


@pytest.fixture
def machine(tmp_path):
    """A copy of a Salt master, with what it has cached of its minions."""
    for path, text in TREE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for minion in MINIONS:
        folder = tmp_path / "var/cache/salt/master/minions" / minion
        folder.mkdir(parents=True)
        grains = {"os": "Debian", "os_family": "Debian", "id": minion, "kernel": "Linux"}
        (folder / "data.p").write_bytes(msgspec.msgpack.encode({"grains": grains, "pillar": {}}))
    return tmp_path


@pytest.fixture
def played_back(tmp_path):
    """A folder like a virtualenv, whose Python answers what Salt answered."""
    python = tmp_path / "salt/bin/python3"
    python.parent.mkdir(parents=True)
    replay = f"{sys.executable} {HERE}/recorded/replay.py {RECORDING}"
    python.write_text(f'#!/bin/sh\ncase "$*" in *-c*) echo {VERSION};; *) exec {replay};; esac\n')
    python.chmod(0o755)
    return python.parents[1]


@pytest.fixture
def compare(saltern, machine):
    def run(salt, *more):
        command = ("migrate", "compare", str(machine / "etc/salt"), "--root", str(machine), "--salt", str(salt))
        return saltern(*command, *more)

    return run


def by_minion(done):
    return {each["minion"]: each for each in json.loads(done.out)["minions"]}


def check_verdicts(done):
    assert done.code == 2, done
    found = by_minion(done)
    assert {minion: each["verdict"] for minion, each in found.items()} == {
        "db1": "not compared", "old1": "not compared", "py1": "same", "web1": "same", "web2": "different",
        "web3": "same",
    }  # fmt: skip
    assert found["web1"]["chunks"] == 4
    [difference] = found["web2"]["differences"]
    assert (difference["kind"], difference["chunk"]) == ("only Salt", "extra: test.nop")
    assert "ask the minion for cmd.run" in found["db1"]["why"]
    assert "neither compiles it" in found["old1"]["why"]


def test_each_minion_by_both(compare, played_back):
    check_verdicts(compare(played_back, "--out", "json"))


def test_for_people(compare, played_back):
    done = compare(played_back)
    assert done.code == 2
    lines = done.out.splitlines()
    assert lines[:3] == ["different (1)", "  extra: test.nop (SLS extra): only Salt has it", "      web2"]
    assert lines[-1] == f"minions, compared with Salt {VERSION}: same: 3, different: 1, not compared: 2"
    assert compare(played_back, "--minions", "web1").code == 0


def test_some_of_many(compare, played_back):
    report = json.loads(compare(played_back, "--most", "2", "--out", "json").out)
    assert [each["minion"] for each in report["minions"]] == ["db1", "web1"]
    assert report["not_read"] == ["4 more minions (--most)"]


def test_what_is_missing_is_said_with_the_next_step(compare, saltern, machine, played_back, tmp_path):
    done = compare(tmp_path / "srv")
    assert (done.code, "has no Salt" in done.err, "pip install salt" in done.err) == (1, True, True)
    done = compare(played_back, "--cachedir", str(tmp_path / "srv"))
    assert (done.code, "has no grains of minions" in done.err, "--cachedir" in done.err) == (1, True, True)
    assert "like nobody" in compare(played_back, "--minions", "nobody").err
    (machine / "etc/salt/master").rename(machine / "etc/salt/minion")
    (machine / "etc/salt/master.d/more.conf").unlink()
    assert compare(played_back).code == 64


def test_hostile_grains_are_told_and_the_others_go_on(compare, machine, played_back):
    (machine / "var/cache/salt/master/minions/web1/data.p").write_bytes(b"\x81")
    (machine / "var/cache/salt/master/minions/web3/data.p").write_bytes(
        msgspec.msgpack.encode({"grains": {"a": {None: 1, (1, 2): 2}}})
    )
    done = compare(played_back, "--out", "json")
    assert set(by_minion(done)) >= {"db1", "old1", "py1", "web2"}
    assert "web1/data.p is none of Salt's cache" in "\n".join(json.loads(done.out)["not_read"])


def test_facts_are_checked(compare, played_back, tmp_path):
    facts = tmp_path / "facts.yaml"
    facts.write_text("- fun: 1\n")
    assert compare(played_back, "--facts", str(facts)).code == 64


@pytest.fixture
def real_salt():
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("SALT_VENV names no virtualenv with Salt (`make oracle` makes one in .cache/oracle)")
    return Path(venv)


@pytest.mark.timeout(600)
def test_what_was_recorded_is_what_salt_says(compare, real_salt, machine, request, monkeypatch):
    from controller.migration import salt_process

    answers, ask = {}, salt_process.SaltProcess.ask

    def noted(self, minion_id, grains):
        answers[minion_id] = ask(self, minion_id, grains)
        return answers[minion_id]

    monkeypatch.setattr(salt_process.SaltProcess, "ask", noted)
    before = snapshot(machine)
    done = compare(real_salt, "--out", "json")
    check_verdicts(done)
    assert snapshot(machine) == before  # nothing is written beside what Salt's process has for itself
    if json.loads(done.out)["salt"] != VERSION:
        return  # what was recorded is of that version
    found = msgspec.to_builtins({"version": VERSION, "answers": dict(sorted(answers.items()))})
    text = json.dumps(found, indent=1).replace(str(machine), "")
    if request.config.getoption("--rewrite"):
        RECORDING.write_text(text + "\n")
    assert json.loads(text)["answers"].keys() == json.loads(RECORDING.read_text())["answers"].keys()
    for minion, answer in json.loads(RECORDING.read_text())["answers"].items():
        assert json.loads(text)["answers"][minion]["low"] == answer["low"], minion


@pytest.mark.timeout(600)
def test_recorded_facts_are_given_to_both(compare, real_salt, tmp_path):
    facts = tmp_path / "facts.yaml"
    facts.write_text("- {fun: cmd.run, args: [hostname], ret: db1.example.org}\n")
    done = compare(real_salt, "--minions", "db1", "--facts", str(facts), "--out", "json")
    assert (done.code, by_minion(done)["db1"]["verdict"]) == (0, "same"), done


@pytest.mark.timeout(600)
def test_git_trees_are_given_to_both(saltern, real_salt, machine):
    remote = machine / "remote"
    remote.mkdir()
    for path in ("srv/salt/top.sls", "srv/salt/common.sls", "srv/salt/map.jinja", "srv/salt/web.sls"):
        (remote / Path(path).name).write_text(TREE[path])
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        git = ["git", "-c", "user.name=A. Writer", "-c", "user.email=a@example.org", *words]
        subprocess.run(git, cwd=remote, check=True)
    (machine / "etc/salt/master").write_text(
        f"gitfs_base: main\ngitfs_remotes: [{remote}]\nfileserver_backend: [gitfs]\nnodegroups:\n  front: 'web*'\n"
        "pillar_roots:\n  base: [/srv/pillar]\next_pillar:\n- cmd_yaml: 'echo from_outside: 1'\n"
    )
    command = ("migrate", "compare", str(machine / "etc/salt"), "--root", str(machine), "--salt", str(real_salt))
    done = saltern(*command, "--minions", "web1", "--fetch", "--out", "json")
    assert (done.code, by_minion(done)["web1"]["chunks"]) == (0, 4), done


def snapshot(folder):
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
