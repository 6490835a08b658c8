"""`saltern policy`: what it prints without a controller."""

import json

import pytest

from controller.cli.main import run

TEXT = """apply: auto
policies:
- name: production
  target: 'G@env:prod or N@edge'
  apply: manual
  windows:
  - {schedule: '* * * * *', duration: 2h}
"""


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "states"
    folder.mkdir()
    (folder / "saltern.yaml").write_text(TEXT)
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "controller").write_text("nodegroups: {edge: 'edge*'}\ngitfs_remotes: []\n")
    return folder, etc


def test_check_lists_the_entries(tree, capsys):
    folder, etc = tree
    assert run(["policy", "check", str(folder), "--controller-config", str(etc)]) == 0
    printed = capsys.readouterr().out
    assert "production" in printed
    assert "apply: manual; allow window '* * * * *' for 2h (UTC), open now" in printed


def test_check_says_what_is_wrong_and_where(tree, capsys):
    folder, _ = tree
    assert run(["policy", "check", str(folder)]) == 1
    printed = capsys.readouterr().err
    assert "there is no nodegroup 'edge'" in printed
    assert "saltern.yaml" in printed
    assert run(["policy", "check", str(folder.parent)]) == 1
    assert "the defaults hold" in capsys.readouterr().err


def test_explain_without_a_controller(tree, tmp_path, capsys):
    folder, etc = tree
    grains = tmp_path / "grains.yaml"
    grains.write_text("env: prod\n")
    asked = ["policy", "explain", "web1", "--tree", str(folder), "--controller-config", str(etc)]
    assert run([*asked, "--grains", str(grains)]) == 0
    printed = capsys.readouterr().out
    assert "web1: production" in printed
    assert "now: open" in printed
    assert "apply" in printed
    assert "manual  (production (saltern.yaml:3))" in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert run(asked) == 0
    assert "no entry of policies" in capsys.readouterr().out
    assert run(["policy", "explain", "web1", "--grains", str(grains)]) == 64


def test_lengths_of_time_are_explained_as_they_are_written(capsys, tmp_path):
    (tmp_path / "saltern.yaml").write_text("drift: {interval: 90s, splay: 5m}\nretry: {factor: 3}\n")
    assert run(["policy", "explain", "web1", "--tree", str(tmp_path)]) == 0
    told = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[2:-1]}
    assert told == {"drift.interval": "90s", "drift.splay": "5m", "retry.factor": "3.0"}


def test_keys_that_are_not_said_are_not_passed_over_in_silence(capsys, tmp_path):
    (tmp_path / "saltern.yaml").write_text("apply: manual\n")
    assert run(["policy", "explain", "web1", "--tree", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("  the other keys have their default (docs/policy.md)\n")


def test_the_schema_is_printed(capsys):
    assert run(["policy", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "saltern.yaml"
