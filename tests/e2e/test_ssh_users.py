"""`saltern ssh` as a user of the machine with a password: sudo, and the controller's key that is put there."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from rig import SALTERN, Rig
from ssh_server import SSHD, SshServer

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        SSHD is None or shutil.which("sudo") is None, reason="needs sshd and sudo: apt install openssh-server sudo"
    ),
]
USER, PASSWORD = "saltern-visitor", "a password of theirs"
_NO_SUCH_USER = 6
SUDOERS = Path("/etc/sudoers.d/saltern-visitor")


def gone():
    """Remove the user, once no process is theirs; what was killed is there for a moment yet."""
    until = time.monotonic() + 30
    while True:
        subprocess.run(["pkill", "-KILL", "-u", USER], check=False)
        done = subprocess.run(["userdel", "--remove", USER], check=False, capture_output=True, text=True)
        if done.returncode in (0, _NO_SUCH_USER):
            return
        assert time.monotonic() < until, done.stderr
        time.sleep(0.05)


@pytest.fixture
def user(tmp_path):
    gone()  # what a run that was killed has left
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", USER], check=True)
    try:
        subprocess.run(["chpasswd"], input=f"{USER}:{PASSWORD}", text=True, check=True)
        SUDOERS.write_text(f"{USER} ALL=(ALL) ALL\n")
        SUDOERS.chmod(0o440)
        yield USER
    finally:
        SUDOERS.unlink(missing_ok=True)
        gone()


@pytest.fixture
def rig(user, tmp_path):
    options = ("PasswordAuthentication yes", "AuthorizedKeysFile .ssh/authorized_keys", "UsePAM no")
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    tree = folder / "tree"
    for path in ("states/top.sls", "pillar/top.sls"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("{}\n")
    try:
        with SshServer(folder / "sshd", *options) as sshd, Rig(folder / "1", {}, tree) as rig:
            rig.directory.mkdir()
            rig.up()
            entry = {"host": "127.0.0.1", "port": sshd.port, "user": user}
            (rig.config / "roster").write_text(
                yaml.safe_dump({"plain": entry, "root": {**entry, "sudo": True, "thin_dir": "/var/tmp/saltern-root"}})
            )
            yield rig
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree("/var/tmp/saltern-root", ignore_errors=True)


def called(rig, *words, check=True):
    return json.loads(rig.saltern("ssh", *words, "--out", "json", check=check).stdout)


def asked(rig, password, *words):
    """What comes when the password is typed."""
    return subprocess.run(
        [*SALTERN, "ssh", *words, "--askpass", "--out", "json", "-c", str(rig.config)],
        input=f"{password}\n",
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,  # without a terminal, the password is a line of the input
    )


def test_the_controllers_key_is_put_there(rig):
    assert "Permission denied" in rig.saltern("ssh", "plain", "-i", "test.ping", check=False).stdout
    wrong = asked(rig, "another", "plain", "-i", "--key-deploy", "test.ping")
    assert "Permission denied" in wrong.stdout
    assert (
        "--key-deploy needs a password" in rig.saltern("ssh", "plain", "--key-deploy", "test.ping", check=False).stderr
    )
    done = asked(rig, PASSWORD, "plain", "-i", "--key-deploy", "test.ping")
    assert json.loads(done.stdout) == {"plain": True}, done.stderr
    authorized = Path(f"~{USER}/.ssh/authorized_keys").expanduser()
    assert authorized.read_text().count("saltern-ssh") == 1
    assert authorized.owner() == USER
    assert called(rig, "plain", "cmd.run", "id -un") == {"plain": USER}, "by the key alone"
    assert json.loads(asked(rig, PASSWORD, "plain", "--key-deploy", "test.ping").stdout) == {"plain": True}
    assert authorized.read_text().count("saltern-ssh") == 1, "it is there once"


def test_sudo_asks_for_the_password(rig):
    with_password = ("--passwd", PASSWORD)
    assert called(rig, "root", "-i", *with_password, "cmd.run", "id -un") == {"root": "root"}
    assert Path("/var/tmp/saltern-root/minions/root").owner() == "root"
    raw = called(rig, "root", *with_password, "-r", "id -u")
    assert raw["root"]["stdout"] == "0\n"
    # The key is there, and the password that sudo wants is another.
    assert json.loads(asked(rig, PASSWORD, "plain", "--key-deploy", "test.ping").stdout) == {"plain": True}
    wrong = rig.saltern("ssh", "root", "--passwd", "another", "test.ping", check=False)
    assert "sudo does not take this password" in wrong.stdout
    without = rig.saltern("ssh", "root", "test.ping", check=False)
    assert "let this user sudo without a password, or give `passwd`" in without.stdout


def test_sudo_that_wants_a_terminal(rig):
    SUDOERS.chmod(0o600)
    SUDOERS.write_text(f"Defaults:{USER} requiretty\n{USER} ALL=(ALL) ALL\n")
    SUDOERS.chmod(0o440)
    with_password = ("--passwd", PASSWORD)
    without = rig.saltern("ssh", "root", "-i", *with_password, "test.ping", check=False)
    assert "tty: true" in without.stdout
    roster = yaml.safe_load((rig.config / "roster").read_text())
    roster["root"]["tty"] = True
    (rig.config / "roster").write_text(yaml.safe_dump(roster))
    assert called(rig, "root", *with_password, "cmd.run", "id -un") == {"root": "root"}
    raw = called(rig, "root", *with_password, "-r", "id -u")["root"]
    assert raw == {"retcode": 0, "stderr": "", "stdout": "0\n"}
    wrong = rig.saltern("ssh", "root", "--passwd", "another", "test.ping", check=False)
    assert "Permission denied" in wrong.stdout
    assert json.loads(asked(rig, PASSWORD, "plain", "--key-deploy", "test.ping").stdout) == {"plain": True}
    wrong = rig.saltern("ssh", "root", "--passwd", "another", "test.ping", check=False)
    assert "sudo does not take this password" in wrong.stdout
