"""`saltern cloud`: machines of accounts; one that is there already becomes a minion over a real sshd."""

from __future__ import annotations

import contextlib
import json
import os
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
