"""`saltern ssh`: machines without an agent, over a real sshd that forwards nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
import yaml
from ssh_server import SSHD, SshServer

from controller.cli.failure import NO_TARGET
from minion.machine.file_locks import lock_holder

pytestmark = pytest.mark.skipif(
    SSHD is None or os.geteuid() != 0, reason="it needs root and sshd: apt install openssh-server"
)


@pytest.fixture
def sshd(tmp_path):
    with SshServer(tmp_path / "sshd") as server:
        yield server


@pytest.fixture(scope="module")
def made_workers(tmp_path_factory):
    """Where controllers keep the worker, which one of them makes for all."""
    return tmp_path_factory.mktemp("workers")


@pytest.fixture
def visited(make_rig, sshd, tmp_path, made_workers):
    """A rig without minions, whose roster has two machines that are this one."""
    rig = make_rig(minions={})
    rig.work.joinpath("states", "top.sls").write_text("{}\n")
    rig.push("nothing for anybody")
    (rig.directory / "c/var/cache/saltern/controller/ssh").symlink_to(made_workers)
    entry = {"host": "127.0.0.1", "port": sshd.port, "user": "root", "thin_dir": str(tmp_path / "thin")}
    roster = {"one": dict(entry), "two": {**entry, "minion_opts": {"grains": {"role": "web"}}}}
    (rig.config / "roster").write_text(yaml.safe_dump(roster))
    rig.saltern("ssh", "*", "--raw", "true", check=False)  # makes the key pair
    public = rig.directory / "c/etc/saltern/pki/controller/ssh" / "salt-ssh.rsa.pub"
    sshd.authorized_keys.write_text(public.read_text())
    return rig


def called(rig, *words, check=True):
    done = rig.saltern("ssh", *words, "--out", "json", check=check)
    return json.loads(done.stdout)


def test_a_machine_is_called_and_applied(visited, tmp_path):
    assert "accept keys of new hosts with -i" in visited.saltern("ssh", "one", "test.ping", check=False).stdout
    assert called(visited, "*", "-i", "test.ping") == {"one": True, "two": True}
    assert called(visited, "two", "grains.get", "role") == {"two": "web"}
    thin = tmp_path / "thin"
    assert sorted(each.name for each in (thin / "minions").iterdir()) == ["one", "two"]
    assert len(list((thin / "workers").glob("?" * 64))) == 1, "one worker for both"
    # States are compiled here; test=True changes nothing there.
    place = tmp_path / "made"
    visited.work.joinpath("states", "file.sls").write_text(
        f"{place}:\n  file.managed:\n    - contents: by {{{{ grains['id'] }}}}\n"
    )
    visited.push("a file")
    visited.wait("the push", lambda: str(place) in called(visited, "one", "state.show_sls", "file", check=False)["one"])
    planned = called(visited, "one", "state.apply", "file", "test=True")["one"]
    assert [each["result"] for each in planned.values()] == [None]
    assert not place.exists()
    applied = called(visited, "one", "state.apply", "file")["one"]
    assert [each["result"] for each in applied.values()] == [True]
    assert place.read_text() == "by one\n"
    assert [each["changes"] for each in called(visited, "one", "state.apply", "file")["one"].values()] == [{}]
    visited.wait("agents to end", lambda: not _agents(thin))
    # What is theirs there goes, and nothing else.
    assert called(visited, "*", "-w") == {name: {"retcode": 0, "stderr": "", "stdout": ""} for name in ("one", "two")}
    assert not thin.exists()
    assert place.exists()


def test_commands_of_the_shell(visited):
    done = called(visited, "one", "-i", "-r", "echo out; echo err >&2; exit 3", check=False)
    assert done == {"one": {"retcode": 3, "stderr": "err\n", "stdout": "out\n"}}


def test_what_is_wrong_is_said(visited, sshd, tmp_path):
    wrong = visited.saltern("ssh", "nobody", "test.ping", check=False)
    assert "no machine of the roster matches 'nobody'" in wrong.stderr
    assert wrong.returncode == NO_TARGET
    sshd.authorized_keys.write_text("")
    refused = visited.saltern("ssh", "one", "-i", "test.ping", check=False)
    assert "Permission denied" in refused.stdout
    assert "--key-deploy" in refused.stdout
    assert refused.returncode == 1


def test_a_key_of_a_host_that_changes_is_refused(visited, sshd):
    assert called(visited, "one", "-i", "test.ping") == {"one": True}
    sshd.__exit__(None, None, None)
    for path in (sshd.host_key, sshd.host_key.with_suffix(".pub")):
        path.unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(sshd.host_key)], check=True)
    with sshd:
        refused = visited.saltern("ssh", "one", "-i", "test.ping", check=False)
        assert "another than the known one" in refused.stdout


def test_an_id_that_another_key_has_is_not_taken_over(visited, tmp_path):
    assert called(visited, "one", "-i", "test.ping") == {"one": True}
    visited.wait("the agent to end", lambda: not _agents(tmp_path / "thin"))
    shutil.rmtree(tmp_path / "thin" / "minions" / "one")
    refused = visited.saltern("ssh", "one", "test.ping", check=False)
    assert "saltern key delete one" in refused.stdout


def test_nothing_is_applied_without_being_asked(visited, tmp_path):
    place = tmp_path / "made"
    visited.work.joinpath("states", "top.sls").write_text("base:\n  '*':\n    - file\n")
    visited.work.joinpath("states", "file.sls").write_text(f"{place}:\n  file.managed:\n    - contents: x\n")
    visited.push("a file for all")
    assert called(visited, "one", "-i", "test.ping") == {"one": True}
    assert called(visited, "one", "test.sleep", "1") == {"one": True}
    assert not place.exists()
    applied = called(visited, "one", "state.apply")["one"]
    assert [each["result"] for each in applied.values()] == [True]
    assert place.exists()


def test_pushes_and_drift_are_visited_for(visited, tmp_path):
    place, policy = tmp_path / "made", "visits: auto\ndrift: {mode: remediate, interval: 1s, splay: 0s}\n"
    visited.work.joinpath("states", "saltern.yaml").write_text(policy)
    visited.work.joinpath("states", "top.sls").write_text("base:\n  'one':\n    - file\n")
    visited.work.joinpath("states", "file.sls").write_text(f"{place}:\n  file.managed:\n    - contents: x\n")
    called(visited, "*", "-i", "-r", "true")  # the host is known from now on
    commit = visited.push("a file for one")
    visited.wait_applied(commit, ["one"])
    assert place.read_text() == "x\n"
    place.write_text("changed by hand")
    visited.wait("drift to be put right", lambda: place.read_text() == "x\n")
    visited.wait("the visit to end", lambda: not visited.status()["one"]["connected"])
    assert visited.status()["one"]["health"] == "Healthy"


def _agents(thin):
    """Minions there whose agents have not ended yet."""
    return [each for each in (thin / "minions").iterdir() if lock_holder(each / "cache" / "agent.lock") is not None]
