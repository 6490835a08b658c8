"""`saltern ssh`: machines without an agent, over a real sshd that forwards nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest
import yaml
from rig import SALTERN
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
    assert visited.keys("accepted") == []
    assert called(visited, "one", "test.ping") == {"one": True}, "it is visited again, with a new key"


def test_commands_of_the_shell(visited):
    done = called(visited, "one", "-i", "-r", "echo out; echo err >&2; exit 3", check=False)
    assert done == {"one": {"retcode": 3, "stderr": "err\n", "stdout": "out\n"}}


def test_a_script_prepares_a_machine(visited, tmp_path):
    """It runs before the worker is sent, and not where the worker is."""
    script, log = tmp_path / "prepare.sh", tmp_path / "prepared"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {log}\ntest ! -e {tmp_path}/broken || {{ echo no >&2; exit 3; }}\n')
    _roster(visited, ssh_pre_flight=str(script), ssh_pre_flight_args="first 'the second'")
    assert "accept keys of new hosts with -i" in visited.saltern("ssh", "one", "test.ping", check=False).stdout
    (tmp_path / "broken").touch()
    failed = visited.saltern("ssh", "one", "-i", "test.ping", check=False)
    assert "the script of ssh_pre_flight (prepare.sh) ended with 3: no" in failed.stdout
    assert "ended with 3" in visited.saltern("ssh", "one", "-r", "true", check=False).stdout
    (tmp_path / "broken").unlink()
    log.unlink()
    assert called(visited, "one", "test.ping") == {"one": True}
    assert called(visited, "one", "test.ping") == {"one": True}
    assert log.read_text() == "prepare.sh first the second\n"
    assert called(visited, "one", "--pre-flight", "test.ping") == {"one": True}
    assert called(visited, "one", "-r", "echo x")["one"]["stdout"] == "x\n"
    assert len(log.read_text().splitlines()) == 2
    script.unlink()
    assert "cannot be read: No such file or directory" in visited.saltern("ssh", "one", "test.ping", check=False).stdout


def test_a_session_with_a_terminal(visited, tmp_path):
    """Bytes go through it as they are, and what runs outlives it."""
    _roster(visited, tty=True)
    assert called(visited, "one", "-i", "test.ping") == {"one": True}
    odd = "".join(map(chr, range(1, 256))) + "\n~.\n"
    assert called(visited, "one", "test.echo", odd) == {"one": odd}
    assert called(visited, "one", "test.echo", "x" * 200_000) == {"one": "x" * 200_000}
    raw = called(visited, "one", "-r", "tty >&2; printf 'a\\nb'; exit 3", check=False)["one"]
    assert raw["retcode"] == 3
    assert raw["stdout"].startswith("/dev/pts/")
    assert raw["stdout"].endswith("a\nb")
    visited.wait("agents to end", lambda: not _agents(tmp_path / "thin"))


def _roster(rig, **given):
    roster = yaml.safe_load((rig.config / "roster").read_text())
    (rig.config / "roster").write_text(yaml.safe_dump({"one": {**roster["one"], **given}}))


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


def test_a_lost_session_does_not_end_what_runs(visited, sshd, tmp_path):
    place = tmp_path / "made"
    states = f"{tmp_path}/began:\n  file.managed: []\nslow:\n  cmd.run:\n    - name: sleep 3; echo x > {place}\n"
    visited.work.joinpath("states", "slow.sls").write_text(states)
    visited.push("a slow state")
    called(visited, "one", "-i", "test.ping")
    command = [*SALTERN, "ssh", "one", "state.apply", "slow", "-c", str(visited.config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as asking:
        visited.wait("the run to begin", (tmp_path / "began").exists)
        [session] = [each for each in psutil.process_iter(["cmdline"]) if _is_session(each, sshd.port)]
        session.kill()
        visited.wait("the state to end without anybody", place.exists)
        asking.send_signal(signal.SIGINT)
        asking.wait(30)
    visited.wait("the agent to end", lambda: not _agents(tmp_path / "thin"))
    assert called(visited, "one", "test.ping") == {"one": True}
    visited.wait("the result", lambda: [each for each in visited.history() if each["fun"] == "state.apply"])
    [run] = [each for each in visited.history() if each["fun"] == "state.apply"]
    assert run["outcome"] == "changed"


def test_somebody_who_stops_waiting_ends_nothing(visited, tmp_path):
    place = tmp_path / "made"
    called(visited, "one", "-i", "test.ping")
    words = ["ssh", "one", "cmd.run", f"touch {tmp_path}/began; sleep 3; echo x > {place}", "-c", str(visited.config)]
    with subprocess.Popen([*SALTERN, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as asking:
        visited.wait("the run to begin", (tmp_path / "began").exists)
        asking.send_signal(signal.SIGINT)
        said = asking.communicate(timeout=30)[0].decode()
    assert asking.returncode == 130, said
    assert "Traceback" not in said
    visited.wait("the command to end", place.exists)
    visited.wait("the agent to end", lambda: not _agents(tmp_path / "thin"))


def test_more_machines_than_may_be_visited_are_refused(make_rig):
    rig = make_rig(minions={}, limits={"ssh": {"visits": 2}})
    (rig.config / "roster").write_text("".join(f"m{number}: {{host: 192.0.2.{number}}}\n" for number in range(5)))
    assert rig.saltern("ssh", "m*", "--preview-target").stdout.split() == [f"m{number}" for number in range(5)]
    question = {"target": {"kind": "glob", "expression": "m*"}}
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=30) as client:
        refused = client.post("/ssh/visit", json=question)
    assert "5 machines, and 2 at a time" in refused.text


def test_an_empty_roster_says_so(visited):
    (visited.config / "roster").write_text("")
    refused = visited.saltern("ssh", "*", "test.ping", check=False)
    assert refused.returncode == NO_TARGET
    assert "it is empty" in refused.stderr
    (visited.config / "roster").unlink()
    assert "it names machines: `web1: " in visited.saltern("ssh", "*", "test.ping", check=False).stderr


def _other_pythons():
    """Folders of Pythons of this machine that have another version than ours."""
    folders = [Path("/usr/bin"), Path("/usr/local/bin"), *Path.home().glob(".pyenv/versions/*/bin")]
    found = [folder / f"python3.{minor}" for minor in (12, 13, 14) for folder in folders]
    own = f"python3.{sys.version_info.minor}"
    return [python for python in found if python.exists() and python.name != own]


@pytest.mark.timeout(300)
@pytest.mark.skipif(not _other_pythons(), reason="there is no other Python of 3.12 or later on this machine")
def test_a_machine_with_another_python(visited, tmp_path):
    python = _other_pythons()[-1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(python)
    roster = yaml.safe_load((visited.config / "roster").read_text())
    roster["one"] |= {"set_path": f"{tmp_path}/bin:/usr/bin:/bin"}
    (visited.config / "roster").write_text(yaml.safe_dump(roster))
    version = called(visited, "one", "-i", "grains.get", "pythonversion", check=False)["one"]
    if "pip could not fetch" in str(version) or "no libraries for" in str(version):
        pytest.skip(f"wheels for {python.name} cannot be fetched here: {version}")
    assert f"python3.{version[1]}" == python.name


def _is_session(process, port):
    words = process.info["cmdline"] or []
    return words[:2] == ["ssh", "-T"] and str(port) in words


def _agents(thin):
    """Minions there whose agents have not ended yet."""
    return [each for each in (thin / "minions").iterdir() if lock_holder(each / "cache" / "agent.lock") is not None]
