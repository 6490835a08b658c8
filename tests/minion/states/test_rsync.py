"""Folders that are made the same by the rsync that is here; one of them behind rsync's server."""

import os
import shutil
import socket
import subprocess
import time

import pytest

from minion.execution import CallFailed, Context, Modules

pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="there is no rsync: Debian's package has it")


@pytest.fixture
def folders(tmp_path):
    source, target = tmp_path / "from", tmp_path / "to"
    (source / "sub").mkdir(parents=True)
    target.mkdir()
    (source / "a b").write_text("1")
    (source / "sub/two").write_text("2")
    (source / "link").symlink_to("a b")
    (target / "old").write_text("0")
    for path in (source / "a b", target):
        os.utime(path, (10**9, 10**9))
    return source, target


@pytest.fixture
def served(tmp_path_factory, folders):
    """The second folder as a module of rsync's own server, which greets."""
    top = tmp_path_factory.mktemp("rsyncd")
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    (top / "motd").write_text("Welcome\ndeleting nothing\n")
    (top / "secrets").write_text("joe:sesame\n")
    (top / "secrets").chmod(0o600)
    (top / "conf").write_text(
        f"port = {port}\naddress = 127.0.0.1\nuse chroot = no\nuid = root\ngid = root\nmotd file = {top}/motd\n"
        f"[to]\npath = {folders[1]}\nread only = no\nauth users = joe\nsecrets file = {top}/secrets\n"
    )
    process = subprocess.Popen(["rsync", "--daemon", "--no-detach", f"--config={top}/conf"])
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            assert time.monotonic() < end, "rsync's server does not answer"
            time.sleep(0.02)
    yield f"rsync://joe@127.0.0.1:{port}/to", top
    process.kill()
    process.wait()


def test_a_folder_has_what_another_has(folders, converge):
    source, target = folders
    made = converge("rsync.synchronized", target, source=f"{source}/", exclude=["sub"])
    assert made.changes == {"copied": "./\na b\nlink -> a b", "deleted": "N/A"}
    assert made.comment == f"{target} has all of {source}/"
    more = converge("rsync.synchronized", target, source=f"{source}/", delete=True)
    assert more.changes == {"copied": "sub/\nsub/two", "deleted": "old"}
    assert sorted(path.name for path in target.iterdir()) == ["a b", "link", "sub"]
    assert converge("rsync.synchronized", target, source=f"{source}/", delete=True).changes == {}


def test_a_target_that_is_not_there(folders, converge):
    source, target = folders
    for name, given in ((target / "x/y", {}), (target / "x/y", {"force": True})):
        assert (
            f"Destination directory {name} was not found"
            in converge("rsync.synchronized", name, source=f"{source}/", **given).comment
        )
    assert converge("rsync.synchronized", target / "x", source=f"{source}/", force=True).changes["deleted"] == "N/A"
    assert converge("rsync.synchronized", target / "y/z", source=f"{source}/", prepare=True).result is True
    assert (target / "y/z/sub/two").read_text() == "2"


def test_a_trial_run_changes_nothing(folders, converge):
    source, target = folders
    tried = converge("rsync.synchronized", target, source=f"{source}/", dryrun=True)
    assert (tried.result, tried.changes, tried.comment) == (None, {}, "5 to be copied, 0 to be deleted")


def test_what_is_newer_is_left_alone(folders, converge):
    source, target = folders
    (target / "a b").write_text("newer")
    (target / "a b").touch()
    converge("rsync.synchronized", target, source=f"{source}/", update=True)
    assert (target / "a b").read_text() == "newer"
    converge("rsync.synchronized", target, source=f"{source}/", additional_opts=["--checksum"])
    assert (target / "a b").read_text() == "1"


def test_another_machine_is_one_by_its_server(folders, served, converge):
    (address, top), (source, target) = served, folders
    password = top / "password"
    password.write_text("sesame\n")
    password.chmod(0o600)
    made = converge("rsync.synchronized", address, source=f"{source}/", delete=True, passwordfile=str(password))
    assert made.changes == {"copied": "./\na b\nlink -> a b\nsub/\nsub/two", "deleted": "old"}
    assert (target / "sub/two").read_text() == "2"
    password.write_text("wrong\n")
    assert (
        "auth failed"
        in converge("rsync.synchronized", address, source=f"{source}/", passwordfile=str(password)).comment
    )


@pytest.mark.parametrize(("name", "source"), [("/x", "--rsh=touch /tmp/x"), ("-x", "/etc"), ("/tmp", "salt://x")])
def test_what_rsync_would_take_for_something_else_is_refused(converge, name, source):
    assert converge("rsync.synchronized", name, source=source, force=True).result is False


def test_what_cannot_be_read_is_said(tmp_path, converge):
    assert "No such file" in converge("rsync.synchronized", tmp_path, source="/nowhere/here").comment


def test_the_module(folders):
    source, target = folders
    modules = Modules(Context(minion_id="m"))
    assert modules.call("rsync.version")[0].isdigit()
    told = modules.call("rsync.rsync", (f"{source}/", str(target)), {"dryrun": True, "exclude": "sub"})
    assert (told["retcode"], "a b" in told["stdout"], "sub" in told["stdout"]) == (0, True, False)
    modules.call("rsync.rsync", (f"{source}/", str(target)))
    assert (target / "a b").read_text() == "1"
    (target / "conf").write_text("port = 1\n")
    assert modules.call("rsync.config", (str(target / "conf"),)) == "port = 1\n"
    with pytest.raises(CallFailed, match="No such file"):
        modules.call("rsync.config", (str(target / "none"),))
