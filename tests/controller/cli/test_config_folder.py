"""A folder of a configuration that is named and is not there is said to be missing, by verbs that need none, too."""

import json
import os
import subprocess
import sys

import other_users
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


_AS_ANOTHER = """
import contextlib, io, json, os, sys
from controller.cli.main import run
words, found = json.loads(sys.argv[1]), []
for uid in (0, 65534):  # as root first: what is imported then is there when the checkout cannot be read any more
    if uid:
        os.setgroups([]); os.setgid(uid); os.setuid(uid)
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        found.append([run(words), err.getvalue()])
print(json.dumps(found[1]))
"""


def configuration_of_root(tmp_path):
    """A folder to which other users come."""
    folder = tmp_path / "etc"
    folder.mkdir()
    for name in ("controller", "minion"):
        (folder / name).write_text(f"root_dir: {tmp_path}\n")
    other_users.let_through(folder / "controller")
    return folder


_API_AS_ANOTHER = """
import os, sys
from saltern.client import LocalClient, client_config
folder, socket = sys.argv[1:]
for uid in (0, 65534):
    if uid:
        os.setgroups([]); os.setgid(uid); os.setuid(uid)
    for named in ("", socket):
        os.environ["SALTERN_SOCKET"] = named
        for path in (folder, folder + "/controller"):
            for ask in (client_config, lambda path: LocalClient(path).cmd("*", "test.ping")):
                try:
                    found = ask(path)["sock_dir"]
                except Exception as error:
                    found = f"{type(error).__name__}: {error}"
                if uid:
                    print(found)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which needs root")
def test_the_python_api_asks_by_the_socket_as_well(tmp_path):
    folder, socket = configuration_of_root(tmp_path), tmp_path / "controller.sock"
    folder.chmod(0o700)
    words = [sys.executable, "-c", _API_AS_ANOTHER, str(folder), str(socket)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    of_no_socket, of_socket = done.stdout.splitlines()[:4], done.stdout.splitlines()[4:]
    assert len(of_no_socket) == 4
    for line in of_no_socket:
        assert line.startswith("SaltConfigurationError: ")
        assert f"{folder}: cannot be read: Permission denied" in line
        assert "SALTERN_SOCKET" in line
    assert of_socket[::2] == [str(tmp_path)] * 2
    for line in of_socket[1::2]:
        assert line.startswith(f"SaltClientError: no controller answers on {socket}")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which needs root")
@pytest.mark.parametrize("verb", ["whoami", "key list", "audit list", "token list", "call test.ping"])
@pytest.mark.parametrize("hidden", ["folder", "file"])
@pytest.mark.parametrize("named", [False, True])
def test_who_cannot_read_the_configuration_asks_by_the_socket(tmp_path, verb, hidden, named):
    """It has secrets, and who may ask a controller need not be who runs it (docs/access.md)."""
    socket = tmp_path / "controller.sock"
    folder = configuration_of_root(tmp_path)
    secret = folder if hidden == "folder" else folder / ("minion" if verb.startswith("call") else "controller")
    secret.chmod(0o700 if hidden == "folder" else 0o600)
    environment = {**os.environ, **({"SALTERN_SOCKET": str(socket)} if named else {})}
    words = json.dumps([*verb.split(), "-c", str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", _AS_ANOTHER, words], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    code, err = json.loads(done.stdout.splitlines()[-1])
    if named and not verb.startswith("call"):
        assert (code, f"no controller answers on {socket}" in err) == (3, True), err
    else:
        assert (code, f"{secret}" in err, "cannot be read: " in err) == (64, True, True), err
        assert ("SALTERN_SOCKET" in err) is (not verb.startswith("call"))
