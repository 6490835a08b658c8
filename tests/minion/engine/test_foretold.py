"""test=True of several states: each sees what those before it would have made, as the run that acts does."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

Low = tuple[str, str, dict[str, Any]]

FILES = {"base": {"a.txt": b"from the tree\n", "d/x": b"x\n", "d/y/z": b"z\n", "s.sh": b"#!/bin/sh\ntrue\n"}}

FOLDER: Low = ("file.directory", "{top}/new", {})
FILE: Low = ("file.managed", "{top}/new/a", {"contents": "one\ntwo = 2\n", "makedirs": True})
LINK: Low = ("file.symlink", "{top}/link", {"target": "{top}/new", "makedirs": True})

PAIRS: dict[str, list[Low]] = {
    "append": [FILE, ("file.append", "{top}/new/a", {"text": ["three"]})],
    "prepend": [FILE, ("file.prepend", "{top}/new/a", {"text": ["zero"]})],
    "replace": [FILE, ("file.replace", "{top}/new/a", {"pattern": "one", "repl": "ONE"})],
    "line": [FILE, ("file.line", "{top}/new/a", {"content": "three", "mode": "insert", "after": "one"})],
    "keyvalue": [FILE, ("file.keyvalue", "{top}/new/a", {"key": "two", "value": "3", "separator": " = "})],
    "comment": [FILE, ("file.comment", "{top}/new/a", {"regex": "^one"})],
    "uncomment": [
        ("file.managed", "{top}/a", {"contents": "#one\n"}),
        ("file.uncomment", "{top}/a", {"regex": "one"}),
    ],
    "blockreplace": [
        FILE,
        ("file.blockreplace", "{top}/new/a", {"content": "in", "append_if_not_found": True}),
    ],
    "patched twice": [
        FILE,
        ("file.append", "{top}/new/a", {"text": ["three"]}),
        ("file.replace", "{top}/new/a", {"pattern": "three", "repl": "3"}),
    ],
    "ini": [
        ("file.managed", "{top}/a.ini", {"contents": "[s]\na = 1\n"}),
        ("ini.options_present", "{top}/a.ini", {"sections": {"s": {"a": "2", "b": "3"}}}),
    ],
    "serialize": [FOLDER, ("file.serialize", "{top}/new/a.json", {"dataset": {"a": 1}, "serializer": "json"})],
    "merged": [
        ("file.managed", "{top}/a.json", {"contents": '{"b": 2}'}),
        ("file.serialize", "{top}/a.json", {"dataset": {"a": 1}, "serializer": "json", "merge_if_exists": True}),
    ],
    "copy": [FILE, ("file.copy", "{top}/b", {"source": "{top}/new/a"})],
    "copied and edited": [
        FILE,
        ("file.copy", "{top}/b", {"source": "{top}/new/a"}),
        ("file.append", "{top}/b", {"text": ["three"]}),
    ],
    "hardlink": [FILE, ("file.hardlink", "{top}/b", {"target": "{top}/new/a"})],
    "another mode of a linked file": [
        ("file.managed", "{top}/old/a", {"contents": "old", "mode": "0600"}),
        ("file.hardlink", "{top}/old/hard", {"target": "{top}/old/a", "force": True}),
    ],
    "the mode of a file through both of its names": [
        ("file.managed", "{top}/old/a", {"replace": False, "mode": "0600"}),
        ("file.managed", "{top}/old/hard", {"replace": False, "mode": "0600"}),
        ("file.managed", "{top}/old/a", {"replace": False, "mode": "0640"}),
        ("file.managed", "{top}/old/hard", {"replace": False, "mode": "0600"}),
    ],
    "the mode of a file through a name that it gets": [
        FILE,
        ("file.hardlink", "{top}/b", {"target": "{top}/new/a"}),
        ("file.managed", "{top}/new/a", {"replace": False, "mode": "0600"}),
        ("file.managed", "{top}/b", {"replace": False, "mode": "0600"}),
    ],
    "a file that took the place of one of its names": [
        ("file.managed", "{top}/old/a", {"replace": False, "mode": "0600"}),
        ("file.managed", "{top}/old/hard", {"contents": "new", "mode": "0600"}),
        ("file.managed", "{top}/old/hard", {"replace": False, "mode": "0640"}),
        ("file.managed", "{top}/old/a", {"replace": False, "mode": "0640"}),
    ],
    "rename": [FILE, ("file.rename", "{top}/b", {"source": "{top}/new/a"})],
    "renamed and edited": [
        FILE,
        ("file.rename", "{top}/b", {"source": "{top}/new/a"}),
        ("file.append", "{top}/b", {"text": ["three"]}),
    ],
    "symlink": [FILE, ("file.symlink", "{top}/new/l", {"target": "{top}/new/a"})],
    "through a symlink": [
        FOLDER,
        LINK,
        ("file.managed", "{top}/link/b", {"contents": "b"}),
        ("file.append", "{top}/new/b", {"text": ["c"]}),
    ],
    "source on the machine": [FILE, ("file.managed", "{top}/b", {"source": "{top}/new/a"})],
    "touch": [FOLDER, ("file.touch", "{top}/new/t", {})],
    "touched twice": [("file.touch", "{top}/t", {}), ("file.exists", "{top}/t", {})],
    "exists": [FILE, ("file.exists", "{top}/new/a", {})],
    "missing": [FILE, ("file.absent", "{top}/new/a", {}), ("file.missing", "{top}/new/a", {})],
    "absent": [FILE, ("file.absent", "{top}/new", {}), ("file.exists", "{top}", {})],
    "absent and new": [
        ("file.absent", "{top}/old", {}),
        ("file.managed", "{top}/old/a", {"contents": "other", "makedirs": True}),
    ],
    "mode": [FILE, ("file.managed", "{top}/new/a", {"mode": "0600", "replace": False})],
    "mode of a folder": [FOLDER, ("file.directory", "{top}/new", {"mode": "0700"})],
    "recurse": [FOLDER, ("file.recurse", "{top}/new", {"source": "salt://d"})],
    "recursed and cleaned": [
        ("file.managed", "{top}/new/old", {"contents": "o", "makedirs": True}),
        ("file.directory", "{top}/new", {"clean": True}),
    ],
    "creates": [FILE, ("cmd.run", "touch {top}/ran", {"creates": "{top}/new/a"})],
    "create: False": [FILE, ("file.managed", "{top}/new/a", {"contents": "x", "create": False})],
    "replace: False": [FILE, ("file.managed", "{top}/new/a", {"contents": "x", "replace": False})],
    "mknod": [("file.mknod", "{top}/fifo", {"ntype": "p"}), ("file.exists", "{top}/fifo", {})],
    "cwd": [FOLDER, ("cmd.run", "touch ran", {"cwd": "{top}/new"})],
    "cmd in a file's folder": [FILE, ("cmd.run", "cat {top}/new/a", {})],
    "extracted": [
        ("cmd.run", "mkdir -p {top}/t && echo x > {top}/t/x && tar -C {top} -cf {top}/t.tar t", {}),
        ("archive.extracted", "{top}/out", {"source": "{top}/t.tar", "enforce_toplevel": False}),
    ],
    "of a command": [("cmd.run", "echo one > {top}/made", {}), ("file.append", "{top}/made", {"text": ["two"]})],
    "copied of a command": [
        ("cmd.run", "echo one > {top}/made", {}),
        ("file.copy", "{top}/b", {"source": "{top}/made"}),
    ],
    "replaced of a command": [
        ("cmd.run", "echo one > {top}/made", {}),
        ("file.replace", "{top}/made", {"pattern": "one", "repl": "ONE"}),
    ],
    "a command of a command": [("cmd.run", "mkdir {top}/made", {}), ("cmd.run", "touch ran", {"cwd": "{top}/made"})],
    "a script": [
        ("file.managed", "{top}/s", {"contents": "#!/bin/sh\ntouch {top}/ran", "mode": "0755"}),
        ("cmd.run", "{top}/s", {}),
    ],
    "git": [
        ("cmd.run", "git init -q --bare -b main {top}/repo.git", {}),
        ("git.config_set", "user.name", {"value": "x", "repo": "{top}/repo.git"}),
    ],
    "environ": [("environ.setenv", "SALTERN_FORETOLD", {"value": "x"})] * 2,
    "no parent": [("file.managed", "{top}/no-such/a", {"contents": "x"})],
    "a parent that an earlier state makes": [
        ("file.directory", "{top}/no-such", {}),
        ("file.managed", "{top}/no-such/a", {"contents": "x"}),
    ],
    "nobody": [("cmd.run", "true", {"runas": "saltern-nobody"})],
    "a link without a parent": [("file.symlink", "{top}/no-such/l", {"target": "/x"})],
    "alternatives.install of nothing": [
        ("alternatives.install", "saltern-foretold", {"link": "{top}/l", "path": "{top}/no-such", "priority": 1})
    ],
    "umask": [
        ("file.managed", "{top}/u", {"contents": "x", "umask": "077"}),
        ("file.managed", "{top}/u", {"mode": "0600", "replace": False}),
    ],
    "onlyif": [FILE, ("file.managed", "{top}/b", {"contents": "x", "onlyif": "test -f {top}/new/a"})],
    "onlyif of a folder": [FOLDER, ("file.touch", "{top}/b", {"onlyif": "[ ! -d {top}/new ]"})],
    "unless": [FILE, ("file.managed", "{top}/b", {"contents": "x", "unless": "test -e {top}/new/a && true"})],
    "unless of what is gone": [
        ("file.absent", "{top}/old", {}),
        ("file.managed", "{top}/b", {"contents": "x", "unless": "ls {top}/old/a > /dev/null 2>&1"}),
    ],
    "grep": [FILE, ("file.managed", "{top}/b", {"contents": "x", "unless": "grep -q '^two' {top}/new/a"})],
    "grep of what is not there": [
        FILE,
        ("file.managed", "{top}/b", {"contents": "x", "unless": "grep -q 3 {top}/new/a"}),
    ],
    "no command": [FILE, ("cmd.run", "false", {"onlyif": "test -d {top}/new/a || test -L {top}/new/a"})],
    "relative": [FILE, ("cmd.run", "false", {"unless": "test -f a", "cwd": "{top}/new"})],
    "prereq": [("file.managed", "{top}/b", {"contents": "b", "prereq": [{"file": "state 1"}]}), FILE],
    "git.present": [("git.present", "{top}/repo.git", {}), ("file.exists", "{top}/repo.git", {})],
}
EXACT = frozenset(PAIRS) - {
    "cwd", "cmd in a file's folder", "extracted", "of a command", "copied of a command", "replaced of a command",
    "a command of a command", "a script", "git", "git.present", "touch", "touched twice",
}  # fmt: skip
"""Pairs of which all changes are known beforehand; of commands it is not known what they print."""


FAIL = frozenset(("nobody", "no parent", "a link without a parent", "alternatives.install of nothing"))
"""Pairs whose last state fails, as is foretold."""


def runs(top: Path, pair: list[Low], *, test: bool) -> dict[str, StateResult]:
    chunks = {}
    for number, (full, name, arguments) in enumerate(pair):
        state, _, fun = full.partition(".")
        given = placed(arguments, top)
        placed_name = name.replace("{top}", str(top))
        chunks[str(number)] = Chunk(
            state=state, fun=fun, id=f"state {number}", name=placed_name, sls="s", order=number, arguments=given
        )
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles(FILES)), test=test, backup_dir=str(top / "kept"))
    return run(chunks, engine, test=test, clock=lambda: 0.0)


def placed(value: Any, top: Path) -> Any:
    if isinstance(value, str):
        return value.replace("{top}", str(top))
    if isinstance(value, dict):
        return {key: placed(each, top) for key, each in value.items()}
    return [placed(each, top) for each in value] if isinstance(value, list) else value


def listing(top: Path) -> list[tuple[str, int, int, str]]:
    return sorted(
        (str(path), path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_text() if path.is_file() else "")
        for path in top.rglob("*")
    )


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_foretold_is_what_is_done(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a").write_text("old\n")
    (tmp_path / "old/hard").hardlink_to(tmp_path / "old/a")
    before = listing(tmp_path)
    foretold = runs(tmp_path, PAIRS[name], test=True)
    assert listing(tmp_path) == before, "a test run touches nothing"
    done = runs(tmp_path, PAIRS[name], test=False)
    os.environ.pop("SALTERN_FORETOLD", None)
    for key, result in done.items():
        if name in FAIL:
            assert (result.result, result.comment) == (foretold[key].result, foretold[key].comment)
            continue
        assert result.result is True, result.comment
        assert foretold[key].result is not False, foretold[key].comment
        assert (foretold[key].result is None) == bool(result.changes), (key, foretold[key], result)
        if name in EXACT:
            assert foretold[key].changes == result.changes


def test_a_failure_that_nobody_mends_is_one(tmp_path: Path) -> None:
    made = ("cmd.run", "true", {})
    bad = ("file.managed", "{top}/b", {"source": "salt://no-such"})
    assert runs(tmp_path, [made, bad], test=True)["1"].result is False
    alone = ("file.append", "{top}/no-such", {"text": ["x"], "makedirs": True})
    missing = ("file.replace", "{top}/no-such", {"pattern": "a", "repl": "b"})
    assert runs(tmp_path, [FILE, missing], test=True)["1"].result is False
    assert runs(tmp_path, [alone, ("test.fail_without_changes", "f", {})], test=True)["1"].result is False


TAKEN: dict[str, list[Low]] = {
    "group.present": [("group.present", "to-come-g", {"gid": 0})],
    "group.present of a planned one": [
        ("group.present", "to-come-g", {"gid": 49881}),
        ("group.present", "second-g", {"gid": 49881}),
    ],
    "group.present changes": [
        ("group.present", "to-come-g", {"gid": 49881}),
        ("group.present", "to-come-g", {"gid": 0}),
    ],
    "user.present": [("user.present", "saltern-to-come", {"uid": 0})],
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_number_that_another_has_is_a_failure(tmp_path: Path, name: str) -> None:
    """The tools refuse it, and so does what stands for them."""
    found = runs(tmp_path, TAKEN[name], test=True)
    last = found[str(len(TAKEN[name]) - 1)]
    assert last.result is False, last.comment


def test_a_number_may_be_shared_where_that_is_asked_for(tmp_path: Path) -> None:
    shared = [("group.present", "to-come-g", {"gid": 0, "non_unique": True})]
    assert runs(tmp_path, shared, test=True)["0"].result is None


OF_A_COMMAND: dict[str, list[Low]] = {
    "named": [("cmd.run", "echo x > {top}/b", {}), ("file.managed", "{top}/b", {"contents": "x"})],
    "below what is named": [("cmd.run", "touch {top}/old/b", {}), ("file.touch", "{top}/old/b/c", {"makedirs": True})],
    "where it runs": [("cmd.run", "touch b", {"cwd": "{top}/old"}), ("file.managed", "{top}/old/b", {"contents": ""})],
    "copied": [
        ("cmd.run", "echo x > {top}/old/a", {}),
        ("file.copy", "{top}/b", {"source": "{top}/old/a"}),
        ("file.append", "{top}/b", {"text": "y"}),
    ],
    "a condition": [("cmd.run", "touch {top}/b", {}), ("file.touch", "{top}/c", {"unless": "test -f {top}/b"})],
    "creates": [("cmd.run", "touch {top}/b", {}), ("cmd.run", "true", {"creates": "{top}/b"})],
}


@pytest.mark.parametrize("name", OF_A_COMMAND)
def test_what_a_command_may_change_is_not_known(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a").write_text("old\n")
    _, *others = runs(tmp_path, OF_A_COMMAND[name], test=True).values()
    for result in others:
        said = (result.comment, *result.warnings)
        assert (result.result is None and any("state 0 (cmd.run) of this run may" in one for one in said)) or (
            "state 1 (file.copy) of this run may" in result.comment
        ), said


def test_a_command_leaves_alone_what_it_does_not_name(tmp_path: Path) -> None:
    pair: list[Low] = [("cmd.run", "cat {top}/old/a", {}), FILE, ("file.exists", "{top}/new/a", {})]
    assert [one.result for one in runs(tmp_path, pair, test=True).values()] == [None, None, True]


def test_it_says_what_it_waits_for(tmp_path: Path) -> None:
    pair = PAIRS["replaced of a command"]
    comment = runs(tmp_path, pair, test=True)["1"].comment
    assert comment == (
        "What it would do is not known: state 0 (cmd.run) of this run may bring what it needs. "
        f"Now: {tmp_path}/made: file not found"
    )


USER: Low = ("user.present", "saltern-to-come", {})
OF_A_USER: dict[str, list[Low]] = {
    "file.managed": [("file.managed", "{top}/f", {"contents": "x", "user": "saltern-to-come", "group": "to-come-g"})],
    "file.directory": [("file.directory", "{top}/d", {"user": "saltern-to-come", "group": "saltern-to-come"})],
    "file.copy": [FILE, ("file.copy", "{top}/c", {"source": "{top}/new/a", "user": "saltern-to-come"})],
    "file.symlink": [("file.symlink", "{top}/l", {"target": "/x", "user": "saltern-to-come"})],
    "file.recurse": [("file.recurse", "{top}/r", {"source": "salt://d", "user": "saltern-to-come"})],
    "file below the home": [("file.managed", "/home/saltern-to-come/.rc", {"contents": "x"})],
    "cmd.run": [("cmd.run", "true", {"runas": "saltern-to-come"})],
    "cmd.run in the home": [("cmd.run", "true", {"runas": "saltern-to-come", "cwd": "/home/saltern-to-come"})],
    "cmd.script": [("cmd.script", "x", {"source": "salt://s.sh", "runas": "saltern-to-come"})],
    "condition": [("cmd.run", "true", {"runas": "saltern-to-come", "unless": "test -e .x"})],
    "cron.present": [("cron.present", "true", {"user": "saltern-to-come"})],
    "cron.env_present": [("cron.env_present", "A", {"value": "b", "user": "saltern-to-come"})],
    "ssh_auth.present": [("ssh_auth.present", "AAAA" + "B" * 64, {"user": "saltern-to-come", "enc": "ssh-ed25519"})],
    "ssh_known_hosts.present": [
        ("ssh_known_hosts.present", "h", {"user": "saltern-to-come", "enc": "ssh-rsa", "key": "AAAA" + "B" * 64})
    ],
    "ssh_known_hosts.absent": [("ssh_known_hosts.absent", "h", {"user": "saltern-to-come"})],
    "group.present": [("group.present", "other-g", {"addusers": ["saltern-to-come"]})],
    "user.present": [("user.present", "second", {"groups": ["to-come-g", "saltern-to-come"]})],
    "git.config_set": [
        ("git.config_set", "user.name", {"value": "x", "global": True, "user": "saltern-to-come"}),
    ],
    "git.latest": [
        ("git.latest", "{top}/origin.git", {"target": "/home/saltern-to-come/r", "user": "saltern-to-come"}),
    ],
    "virtualenv.managed": [("virtualenv.managed", "/home/saltern-to-come/v", {"user": "saltern-to-come"})],
    "pip.installed": [
        ("virtualenv.managed", "{top}/v", {}),
        ("pip.installed", "wheel", {"bin_env": "{top}/v", "user": "saltern-to-come"}),
    ],
    "archive.extracted": [
        (
            "archive.extracted",
            "/home/saltern-to-come/a",
            {"source": "salt://a.tar", "user": "saltern-to-come", "enforce_toplevel": False},
        ),
    ],
    "user.absent": [("user.absent", "saltern-to-come", {})],
    "user.absent and present": [("user.absent", "saltern-to-come", {}), ("user.present", "saltern-to-come", {})],
    "group.absent": [("group.absent", "to-come-g", {})],
}


@pytest.mark.parametrize("name", OF_A_USER)
def test_states_of_a_user_and_a_group_that_the_run_would_make(tmp_path: Path, name: str) -> None:
    import io
    import subprocess
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x"), io.BytesIO(b""))
    FILES["base"]["a.tar"] = packed.getvalue()
    origin = str(tmp_path / "origin.git")
    subprocess.run(["git", "init", "-q", "-b", "main", origin], check=True)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", origin, *author, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    pair = [("group.present", "to-come-g", {}), USER, *OF_A_USER[name]]
    foretold = runs(tmp_path, pair, test=True)
    assert not os.path.exists("/home/saltern-to-come")  # noqa: PTH110  (one question)
    if name.startswith("cron.") and shutil.which("crontab") is None:
        assert foretold["2"].comment == "There is no crontab program: install the package cron"
        return
    for key, result in foretold.items():
        last = int(key) == len(pair) - 1
        expected = (True, None) if last and name.endswith("known_hosts.absent") else (None,)
        assert result.result in expected, (key, result.comment)
    if "SALTERN_FRESH_ROOT" in os.environ:  # tests/e2e/test_foretold.py
        for key, result in runs(tmp_path, pair, test=False).items():
            if result.result is False:
                pytest.skip(result.comment)  # a program that this machine has not, or a place that the user may not see
            assert (foretold[key].result is None) == bool(result.changes), (key, foretold[key], result)


OF_A_PACKAGE: dict[str, Low] = {
    "file.append": ("file.append", "/etc/of-a-package.conf", {"text": ["x"]}),
    "file.replace": ("file.replace", "/etc/of-a-package.conf", {"pattern": "a", "repl": "b"}),
    "file.comment": ("file.comment", "/etc/of-a-package.conf", {"regex": "a"}),
    "file.line": ("file.line", "/etc/of-a-package.conf", {"content": "a", "mode": "ensure", "after": "b"}),
    "file.keyvalue": ("file.keyvalue", "/etc/of-a-package.conf", {"key": "a", "value": "b"}),
    "file.blockreplace": ("file.blockreplace", "/etc/of-a-package.conf", {"content": "x"}),
    "file.copy": ("file.copy", "/etc/b.conf", {"source": "/etc/of-a-package.conf"}),
    "file.exists": ("file.exists", "/etc/of-a-package.conf", {}),
    "file.hardlink": ("file.hardlink", "/etc/b.conf", {"target": "/etc/of-a-package.conf"}),
    "file.symlink": ("file.symlink", "/etc/of-a-package.d/enabled", {"target": "/x"}),
    "file.touch": ("file.touch", "/etc/of-a-package.d/x", {}),
    "file.managed": ("file.managed", "/etc/of-a-package.d/x", {"contents": "x", "user": "of-a-package"}),
    "file source": ("file.managed", "/etc/x", {"source": "/usr/share/of-a-package/x"}),
    "cmd.run": ("cmd.run", "of-a-package --init", {"runas": "of-a-package", "cwd": "/usr/share/of-a-package"}),
    "cron.present": ("cron.present", "true", {"user": "of-a-package"}),
    "ssh_auth.present": ("ssh_auth.present", "AAAA" + "B" * 64, {"user": "of-a-package", "enc": "ssh-ed25519"}),
    "alternatives.set": ("alternatives.set", "of-a-package", {"path": "/usr/bin/of-a-package"}),
    "alternatives.install": (
        "alternatives.install",
        "of-a-package",
        {"link": "/usr/bin/oap", "path": "/usr/bin/of-a-package", "priority": 1},
    ),
    "service.running": ("service.running", "of-a-package", {"enable": True}),
    "service.dead": ("service.dead", "of-a-package", {}),
    "service.enabled": ("service.enabled", "of-a-package", {}),
    "user.present": ("user.present", "second", {"groups": ["of-a-package"]}),
    "timezone.system": ("timezone.system", "Of/A_Package", {}),
    "pip.installed": ("pip.installed", "wheel", {"bin_env": "/opt/of-a-package/bin/pip"}),
    "virtualenv.managed": ("virtualenv.managed", "/opt/v", {"venv_bin": "of-a-package-venv"}),
}


@pytest.mark.parametrize("name", OF_A_PACKAGE)
def test_states_of_what_a_package_or_command_of_the_run_would_bring(tmp_path: Path, name: str) -> None:
    brings: Low = ("cmd.run", "dpkg -i of-a-package.deb", {})
    result = runs(tmp_path, [brings, OF_A_PACKAGE[name]], test=True)["1"]
    where_nothing_is_started = result.result is True and "OFFLINE" in result.comment
    assert result.result is None or where_nothing_is_started, result.comment
