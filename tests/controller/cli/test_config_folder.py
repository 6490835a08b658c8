"""A folder of a configuration that is named and is not there is said to be missing, by verbs that need none, too."""

import subprocess
import sys

import pytest

from controller.offline import linting
from gitfs.errors import UnreadableFolder


@pytest.mark.parametrize("words", [("lint",), ("lint", "TREE"), ("call", "--local"), ("status",), ("compile", "a")])
def test_a_folder_that_is_not_there_is_named(saltern, tmp_path, words):
    (tmp_path / "a.sls").write_text("a: test.nop\n")
    given = [str(tmp_path) if word == "TREE" else word for word in words]
    ended = saltern(*given, "-c", str(tmp_path / "nothing"), *(["test.ping"] if words[0] == "call" else []))
    assert (ended.code, ended.out) == (64, "")
    assert f"there is no folder {tmp_path}/nothing" in ended.err


def test_a_folder_without_a_configuration_gives_lint_no_remotes(saltern, tmp_path):
    (tmp_path / "empty").mkdir()
    ended = saltern("lint", str(tmp_path), "-c", str(tmp_path / "empty"))
    assert ended.code == 64
    assert f"there is no configuration in {tmp_path}/empty" in ended.err


def test_lint_names_the_configuration_that_knows_what_is_missing(saltern, tmp_path, monkeypatch):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "controller").write_text("gitfs_remotes: []\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "top.sls").write_text("base: {'*': [a]}\n")
    (tmp_path / "tree" / "a.sls").write_text("include: [formula]\n")
    monkeypatch.setenv("SALTERN_CONFIG_DIR", str(tmp_path / "conf"))
    assert f"saltern lint -c {tmp_path}/conf" in saltern("lint", str(tmp_path / "tree")).err
    (tmp_path / "tree" / "formula.sls").write_text("b: test.nop\n")
    assert "lint -c" not in saltern("lint", str(tmp_path / "tree")).err


def test_the_runner_of_salts_tests_has_a_help():
    words = [sys.executable, "-m", "tools.oracle.salts_tests", "--help"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert "python -m tools.oracle.salts_tests SALT" in ended.stdout


def test_a_tree_that_cannot_be_read_is_named_by_lint(saltern, tmp_path, monkeypatch):
    def refused(job):
        raise UnreadableFolder("/srv", "a.sls", "Permission denied")

    monkeypatch.setattr(linting, "_findings", refused)  # root, who runs the tests, may read everything
    ended = saltern("lint", str(tmp_path))
    assert ended.code == 1
    assert "the trees cannot be linted: /srv/a.sls cannot be read: Permission denied" in ended.err


def test_a_mistyped_option_of_remotes_is_told_the_nearest(saltern, config_dir):
    (config_dir / "controller").write_text("gitfs_remtoes: [x]\n")
    ended = saltern("controller", "--check")
    assert ended.code == 64
    assert "there is no option 'gitfs_remtoes'; did you mean 'gitfs_remotes'?" in ended.err
