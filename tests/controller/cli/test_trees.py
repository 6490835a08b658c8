from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from controller.cli.failure import Failure
from controller.cli.trees import parse_path


@pytest.fixture
def repository(tmp_path, config_dir):
    """A remote with a second branch, and a configuration that names it twice: files and pillar."""
    work, bare = tmp_path / "work", tmp_path / "states.git"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=A Writer", "-c", "user.email=writer@example.org")

    def git(*arguments):
        subprocess.run(["git", *identity, *arguments], cwd=work, env=environment, check=True, capture_output=True)

    (work / "salt").mkdir(parents=True)
    (work / "pillar").mkdir()
    git("init", "-q", "-b", "main")
    (work / "salt/top.sls").write_text("live")
    (work / "pillar/top.sls").write_text("pillar")
    (work / "salt/odd?name").write_bytes(b"\x00odd")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("clone", "-q", "--bare", str(work), str(bare))
    git("checkout", "-q", "-b", "feature")
    (work / "salt/top.sls").write_text("proposed")
    git("commit", "-qam", "two")
    git("push", "-q", str(bare), "feature")
    lines = [
        "gitfs_remotes:",
        f"  - {bare}:",
        "    - name: states",
        "    - root: salt",
        "ext_pillar:",
        "  - git:",
        f"    - main {bare}:",
        "      - root: pillar",
        "      - name: states",
    ]
    with (config_dir / "controller").open("a") as file:
        file.write("\n" + "\n".join(lines) + "\n")
    return bare


@pytest.fixture
def fetched(repository, config_dir):
    from controller.compilation.sources import open_source
    from controller.config.settings import load_settings

    with open_source(load_settings(config_dir)) as source:
        source.fetch()


def test_before_anything_was_fetched(saltern, repository):
    done = saltern("ls")
    assert done.code == 1
    assert "nothing was fetched of states" in done.err
    assert saltern("remote", "check").out == "states: ok, 3 refs\n"


def test_ls_and_cat(saltern, saltern_process, fetched):
    assert saltern("ls").out.splitlines() == ["odd?name", "top.sls"]
    assert saltern_process("cat", "salt://top.sls").out == "live"
    assert saltern_process("cat", "top.sls", "--env", "feature").out == "proposed"
    assert saltern_process("cat", "salt://top.sls?saltenv=feature").out == "proposed"
    assert saltern_process("cat", "top.sls", "--rev", "feature").out == "proposed"
    assert saltern_process("cat", "salt://|odd?name").out == "\x00odd"
    assert saltern_process("cat", "top.sls", "--pillar").out == "pillar"
    rows = json.loads(saltern("ls", "-l", "--out", "json").out)
    assert [(row["path"], row["size"]) for row in rows] == [("odd?name", 4), ("top.sls", 4)]


@pytest.mark.parametrize("path", ["gone", "../top.sls", "/etc/passwd", "a\x01b"])
def test_what_is_not_there(saltern, fetched, path):
    done = saltern("cat", path)
    assert done.code == 1
    assert "is not there" in done.err
    assert saltern("ls", "gone").code == 1
    assert "'nope'" in saltern("cat", "top.sls", "--rev", "nope").err


def test_show_and_verify(saltern, fetched, config_dir):
    shown = saltern("remote", "show", "states")
    assert "  base: main" in shown.out
    assert "  feature: " in shown.out
    assert "fetched: " in shown.out
    assert " ago" in shown.out
    assert saltern("remote", "verify").out == "states: ok\n"
    assert "known are: states" in saltern("remote", "show", "other").err


def test_a_damaged_mirror_is_found(saltern, fetched, config_dir):
    from controller.config.settings import load_settings

    objects = load_settings(config_dir).cachedir.rglob("*.pack")
    for path in objects:
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
        path.write_bytes(data)
    done = saltern("remote", "verify")
    assert done.code == 1
    assert "ok" not in done.out


def test_a_remote_that_is_not_there(saltern, repository):
    repository.rename(repository.with_name("away"))
    done = saltern("remote", "check", "states")
    assert done.code == 1
    assert done.out.startswith("states: ")


def test_a_remote_that_hangs_is_given_up_and_the_others_are_told(saltern_process, repository, config_dir):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        path = config_dir / "controller"
        hanging = "".join(f"  - http://127.0.0.1:{silent.getsockname()[1]}/{number}.git\n" for number in range(3))
        path.write_text(path.read_text().replace("gitfs_remotes:\n", f"gitfs_remotes:\n{hanging}"))
        began = time.monotonic()
        done = saltern_process("remote", "check", "--timeout", "1.5")
        assert time.monotonic() - began < 15  # one after the other, each would take a minute
    assert done.code == 1
    assert done.out.count("it has not answered in 1.5 s") == 3
    assert "states: ok, 3 refs\n" in done.out


def test_two_saltenvs_for_one_path():
    assert parse_path("salt://a?saltenv=dev", "dev") == ("a", "dev")
    with pytest.raises(Failure, match="names saltenv dev"):
        parse_path("salt://a?saltenv=dev", "qa")


def test_fetch_asks_the_controller(saltern, desk, served):
    done = saltern("remote", "fetch", "nowhere")
    assert done.code == 1
    assert "no remote 'nowhere'" in done.err
    assert desk.fetched == ["nowhere"]


def test_fetch_while_the_controller_is_down_says_what_to_do(saltern, fetched, config_dir):
    failed = saltern("remote", "fetch")
    assert failed.code == 3
    assert "no controller answers" in failed.err
    assert f"start it with: saltern controller -c {config_dir}" in failed.err
    assert "saltern remote check" in failed.err


def test_every_verb_as_json_while_the_controller_is_down(saltern, saltern_process, fetched):
    listed = saltern("remote", "list", "--out", "json")
    assert listed.code == 0
    assert "does not answer" in listed.err
    (remote,) = json.loads(listed.out)
    assert (remote["name"], remote["branch"], remote["subject"], remote["error"]) == ("states", "main", "one", "")
    assert len(remote["commit"]) == 40
    assert remote["last_fetch"] > 0
    assert "states" in saltern("remote", "list").out
    (checked,) = json.loads(saltern("remote", "check", "--out", "json").out)
    assert checked == {"schema_version": 1, "name": "states", "refs": 3, "error": ""}
    (verified,) = json.loads(saltern("remote", "verify", "--out", "json").out)
    assert verified == {"schema_version": 1, "name": "states", "error": ""}
    files, pillar = json.loads(saltern("remote", "show", "states", "--out", "json").out)
    assert files["fetched"] > 0
    assert (files["left_out"], pillar["saltenvs"]) == ({}, {"base": "main"})
    plain = json.loads(saltern_process("cat", "top.sls", "--out", "json").out)
    assert (plain["text"], plain["size"], plain["mode"], plain["saltenv"]) == ("live", 4, "0644", "base")
    odd = json.loads(saltern_process("cat", "salt://|odd?name", "--out", "json").out)
    assert odd["text"] == "\0odd"
    down = saltern("remote", "fetch")
    assert down.code != 0
    assert "controller" in down.err


def test_what_was_never_fetched_is_told_while_the_controller_is_down(saltern, repository):
    (remote,) = json.loads(saltern("remote", "list", "--out", "json").out)
    assert (remote["commit"], remote["last_fetch"]) == ("", None)
    assert "nothing was fetched" in remote["error"]


def test_what_is_left_out_is_counted_and_explained(saltern, repository, tmp_path, config_dir):
    work = tmp_path / "work"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    run = {"cwd": work, "env": environment, "check": True, "capture_output": True}
    subprocess.run(["git", "checkout", "-q", "main"], **run)
    (work / "salt/outside").symlink_to("/etc/passwd")
    Path(os.fsdecode(os.fsencode(work / "salt") + b"/latin-\xe9")).write_text("x")
    subprocess.run(["git", "add", "-A"], **run)
    identity = ("-c", "user.name=A Writer", "-c", "user.email=writer@example.org")
    subprocess.run(["git", *identity, "commit", "-qm", "three"], **run)
    subprocess.run(["git", "push", "-q", str(repository), "main"], **run)
    from controller.compilation.sources import open_source
    from controller.config.settings import load_settings
    from gitfs.remote_report import left_out_counts

    with open_source(load_settings(config_dir)) as source:
        source.fetch()
        assert left_out_counts(source.live()) == {"states": 2}
    listed = saltern("ls")
    assert listed.out.splitlines() == ["odd?name", "top.sls"]
    assert "2 more are no files here" in listed.err
    assert "leads out of the tree" in saltern("ls", "outside").err
    files, _ = json.loads(saltern("remote", "show", "states", "--out", "json").out)
    assert {path: why for path, why in files["left_out"].items() if path.startswith("base")} == {
        "base: outside": "it is a symlink that leads out of the tree",
        "base: latin-\ufffd": "its name is not UTF-8",
    }
    wrong = saltern("ls", "top.sls", "--env", "nowhere")
    assert "saltenvs are base, feature" in wrong.err
