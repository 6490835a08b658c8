"""`saltern cloud`: machines of accounts; one that is there already becomes a minion over a real sshd."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from cloud_files import ec2, write_cloud
from rig import SALTERN
from ssh_server import SSHD, SshServer

needs_sshd = pytest.mark.skipif(
    SSHD is None or os.geteuid() != 0, reason="it needs root and sshd: apt install openssh-server"
)


@pytest.fixture
def rig(make_rig):
    rig = make_rig(minions={})
    rig.push("first")
    return rig


def asked(rig, *words, check=True):
    return json.loads(rig.saltern("cloud", *words, "--out", "json", check=check).stdout)


def events(rig, machine):
    said = rig.saltern("events", f"salt/cloud/{machine}/*", "--since", "1h", "--count", "5", "--out", "json").stdout
    return [json.loads(line) for line in said.splitlines()]


def test_machines_of_an_account(rig, tmp_path):
    with ec2() as (provider, image):
        profiles = {"web": {"provider": "aws", "image": image, "size": "t3.micro"}}
        write_cloud(rig.config, {"aws": provider}, profiles, enable_hard_maps=True)
        assert asked(rig, "--list-profiles", "all")["aws"]["ec2"]["web"]["image"] == image
        assert "hidden-key" not in rig.saltern("cloud", "--list-providers").stdout
        made = asked(rig, "-p", "web", "web1", "--no-deploy")
        assert made["web1"]["state"] == "RUNNING"
        assert not made["web1"]["deployed"]
        assert "already exists" in asked(rig, "-p", "web", "web1", check=False)["web1"]["Error"]
        (tmp_path / "map").write_text("web: [web1, web2, {web3: {requires: [web2], size: t3.small}}]\n")
        refused = rig.saltern("cloud", "-m", str(tmp_path / "map"), "--no-deploy", check=False)
        assert "web2" in refused.stderr
        assert refused.returncode != 0
        made = asked(rig, "-m", str(tmp_path / "map"), "-P", "-y", "--no-deploy")
        assert made["web1"] == {"Message": "Already running."}
        listed = asked(rig, "-Q")["aws"]["ec2"]
        assert {name: each["size"] for name, each in listed.items()} == {
            "web1": "t3.micro",
            "web2": "t3.micro",
            "web3": "t3.small",
        }
        assert asked(rig, "-a", "stop", "web2", "-y")["aws"]["ec2"] == {"web2": True}
        (tmp_path / "map").write_text("web: [web1]\n")
        hard = asked(rig, "-m", str(tmp_path / "map"), "-H", "-y")
        assert hard.pop("web1") == {"Message": "Already running."}
        assert hard == {name: {"Message": "Destroyed."} for name in ("web2", "web3")}
        assert asked(rig, "-d", "web1", "-y") == {"aws": {"ec2": {"web1": True}}}
        assert asked(rig, "-Q") == {"aws": {"ec2": {}}}


def stop_agents_of(root):
    for process in psutil.process_iter(["cmdline"]):
        if f"{root}/etc/saltern" in (process.info["cmdline"] or ()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
                process.wait(10)


@needs_sshd
def test_a_machine_becomes_a_minion_that_has_its_state(rig, tmp_path):
    path = f"{Path(SALTERN[0]).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    with SshServer(tmp_path / "sshd", f"SetEnv PATH={path}") as sshd:
        key = tmp_path / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        sshd.authorized_keys.write_text(key.with_suffix(".pub").read_text())
        root = tmp_path / "root"
        _, port = rig.wire_ports
        here = {
            "provider": "there",
            "private_key": str(key),
            "ssh_host": "127.0.0.1",
            "ssh_port": sshd.port,
            "script_args": f"-r {root}",
            "ssh_connect_timeout": 20,
        }
        minion = {"master": "127.0.0.1", "master_port": port, "root_dir": str(root)}
        write_cloud(
            rig.config,
            {"there": {"driver": "saltify"}},
            {"here": {**here, "grains": {"roles": ["web"], "root": str(root)}, "minion": minion}},
        )
        made = asked(rig, "-p", "here", "web1")["web1"]
        try:
            assert made["deployed"]
            assert made["connected"]
            assert rig.keys("accepted") == ["web1"]
            rig.wait_applied(rig.head(), ["web1"])
            told = rig.saltern("run", "web1", "grains.get", "salt-cloud:profile", "--out", "json")
            assert json.loads(told.stdout) == {"web1": "here"}
            steps = [each["tag"].rpartition("/")[2] for each in events(rig, "web1")]
            assert steps == ["creating", "requesting", "waiting_for_ssh", "deploying", "created"]
            assert (root / "etc/saltern/pki/minion/minion.key").stat().st_mode & 0o777 == 0o600
        finally:
            stop_agents_of(root)


@needs_sshd
def test_a_deployment_that_fails_leaves_no_key_accepted(rig, tmp_path):
    (rig.config / "cloud.deploy.d").mkdir()
    script = rig.config / "cloud.deploy.d" / "own.sh"
    with SshServer(tmp_path / "sshd") as sshd:
        key = tmp_path / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        sshd.authorized_keys.write_text(key.with_suffix(".pub").read_text())
        here = {
            "provider": "there",
            "private_key": str(key),
            "ssh_host": "127.0.0.1",
            "ssh_port": sshd.port,
            "script": "own",
            "deploy_timeout": 5,
            "minion": {"master": "127.0.0.1"},
        }
        write_cloud(rig.config, {"there": {"driver": "saltify"}}, {"here": here})

        def failed():
            return asked(rig, "-p", "here", "web1", check=False)["web1"]["Error"]

        assert "own.sh: No such file" in failed()
        script.write_text("echo no luck >&2; exit 3\n")
        said = failed()
        assert "ended with 3: no luck; nothing stays accepted" in said
        assert rig.keys("accepted") == []
        # However much a machine says, its end comes in time, and little is kept.
        script.write_text("while echo xxxxxxxxxxxxxxxx >&2; do :; done\n")
        said = failed()
        assert "does not end within 5 s" in said
        assert len(said) < 3000
        assert rig.keys("accepted") == []


def test_what_is_interrupted_says_what_stays(rig):
    creator = {"driver": "dummy"}
    profile = {"provider": "dum", "image": "Ubuntu 9.10", "size": "Small", "ssh_port": 1, "minion": {"master": "x"}}
    write_cloud(rig.config, {"dum": creator}, {"d": profile})
    for number in (signal.SIGINT, signal.SIGTERM):
        command = [*SALTERN, "cloud", "-p", "d", "m1", "-c", str(rig.config)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as making:
            for line in making.stderr:
                if b"nobody can log in yet" in line:
                    break
            assert rig.keys("accepted") == ["m1"]
            making.send_signal(number)
            said = making.communicate(timeout=30)[1].decode()
        assert making.returncode == 130
        assert "m1: it was interrupted; the machine 3 at 127.0.0.3 stays and is no minion" in said
        assert rig.keys("accepted") == []


def test_a_name_is_made_once(rig):
    with ec2() as (provider, image):
        write_cloud(rig.config, {"aws": provider}, {"web": {"provider": "aws", "image": image, "size": "t3.micro"}})
        twice = rig.saltern("cloud", "-p", "web", "web1", "web1", "--no-deploy", check=False)
        assert "web1 is named twice" in twice.stderr
        command = [*SALTERN, "cloud", "-p", "web", "web1", "--no-deploy", "-c", str(rig.config), "--out", "json"]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
        said = [json.loads(each.communicate(timeout=60)[0])["web1"] for each in both]
        assert sorted("Error" in each for each in said) == [False, True]
        wrong = {"web": {"provider": "aws", "image": image, "size": "t3.micro", "wait_for_ip_timeout": "soon"}}
        write_cloud(rig.config, {"aws": provider}, wrong)
        seconds = asked(rig, "-p", "web", "web2", "--no-deploy", check=False)["web2"]["Error"]
        assert "the profile 'web': `wait_for_ip_timeout` is a number of seconds" in seconds
        write_cloud(rig.config, {"aws": {"driver": "ec2", "id": "x"}}, wrong)
        refused = rig.saltern("cloud", "-Q", check=False).stderr
        assert "the provider 'aws' has no `key`, which the driver ec2 needs" in refused
        assert "did you mean web?" in rig.saltern("cloud", "-p", "wbe", "x", check=False).stderr
        (rig.config / "cloud.profiles").write_text("web:\n  provider: aws\n   image: x\n")
        assert "cloud.profiles:3: this is no YAML" in rig.saltern("cloud", "-Q", check=False).stderr


def test_states_of_a_minion_have_the_controller_make_machines(make_rig):
    rig = make_rig(minions={"web1": {}}, peer_run={"web1": ["cloud.*"]})

    def single(*words):
        done = rig.saltern("run", "web1", "state.single", *words, "--out", "json", check=False)
        (state,) = json.loads(done.stdout)["web1"].values()
        return state

    with ec2() as (provider, image):
        write_cloud(rig.config, {"aws": provider}, {"web": {"provider": "aws", "image": image, "size": "t3.micro"}})
        wanted = ("cloud.profile", "web9", "profile=web", "deploy=False")
        planned = single(*wanted, "test=True")
        assert (planned["result"], planned["comment"]) == (None, "Instance web9 needs to be created")
        made = single(*wanted)
        assert (made["result"], made["comment"]) == (True, "Created instance web9 using profile web")
        assert made["changes"]["web9"]["state"] == "RUNNING"
        again = single(*wanted)
        assert (again["result"], again["changes"], again["comment"]) == (True, {}, "Already present instance web9")
        bare = ("cloud_provider=aws", "size=t3.small", "deploy=False")
        more = single("cloud.present", "web8", f"image={image}", *bare)
        assert more["changes"]["web8"]["size"] == "t3.small"
        refused = single("cloud.present", "web7", "image=ami-00000000", *bare)
        assert refused["result"] is False
        assert "ami-00000000" in refused["comment"]
        assert single("cloud.absent", "web9")["comment"] == "Destroyed instance web9"
        assert single("cloud.absent", "web9")["comment"] == "Already absent instance web9"
        listed = json.loads(rig.saltern("runner", "cloud.query", "--out", "json").stdout)
        assert list(listed["aws"]["ec2"]) == ["web8"]


def test_a_minion_that_may_make_machines_takes_over_nobody(make_rig):
    rig = make_rig(minions={"web1": {}, "db1": {}}, peer_run={"web1": ["cloud.*"]})

    def called(*words):
        done = rig.saltern("run", "web1", *words, "--out", "json", check=False)
        return json.loads(done.stdout)["web1"]

    with ec2() as (provider, image):
        web = {"provider": "aws", "image": image, "size": "t3.micro"}
        write_cloud(
            rig.config,
            {"aws": provider, "there": {"driver": "saltify", "password": "hidden"}},
            {"web": web, "here": {"provider": "there", "minion": {"master": "127.0.0.1"}}},
        )
        taken = called("cloud.profile", "web", "db1", "deploy=False")
        assert "there is a key of 'db1'" in taken["db1"]["Error"]
        elsewhere = called("cloud.profile", "here", "attacker.example.org")
        assert "a minion does not choose where one logs in" in elsewhere["attacker.example.org"]["Error"]
        assert "a minion may not give iam_profile" in called("cloud.profile", "web", "x1", "iam_profile=admin")
        # What destroys a machine of that name leaves the key of the minion that is another machine's.
        asked(rig, "-p", "web", "db1", "--no-deploy")
        assert called("cloud.destroy", "db1") == {"aws": {"ec2": {"db1": True}}}
        assert rig.keys("accepted") == ["db1", "web1"]
