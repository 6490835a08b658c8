"""A remote that takes connections and never answers: pushes to another one go live all the same."""

import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from git_servers import PASSWORD, USER, serving
from rig import Rig, free_ports

TREE = Path(__file__).parent / "tree"


@pytest.fixture
def port():
    return free_ports(1)[0]


@pytest.fixture
def rig(port):
    """A rig with a second remote behind http."""
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    (folder / "far").mkdir()
    options = [{"name": "other"}, {"user": USER}, {"password": PASSWORD}, {"insecure_auth": True}]
    remotes = [
        {str(folder / "remote.git"): [{"name": "states"}, {"root": "states"}, {"base": "main"}]},
        {f"http://127.0.0.1:{port}/other.git": [*options, {"update_interval": 1}, {"mountpoint": "salt://other"}]},
    ]
    with Rig(folder, {"web1": {"roles": ["web"]}}, TREE, {"gitfs_remotes": remotes}, forked=True) as rig:
        yield rig
    shutil.rmtree(folder, ignore_errors=True)


def test_a_push_is_applied_while_another_remote_hangs(rig, port):
    far = rig.directory / "far"
    with serving(far, port=port):
        rig.up()
        rig.git("init", "-q", "--bare", "--initial-branch=main", str(far / "other.git"), cwd=far)
        first = rig.push("first")
        rig.git("push", "-q", str(far / "other.git"), "HEAD:main")
        rig.wait_applied(first)
    with socket.socket() as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        silent.bind(("127.0.0.1", port))
        silent.listen()
        silent.settimeout(60)
        hanging, _ = silent.accept()
        with hanging:
            hanging.recv(1000)
            for number in (1, 2):
                change = {"pillar/numbers.sls": (f"number: {number - 1}", f"number: {number}")}
                rig.wait_applied(rig.push(f"push {number}", change))
            hanging.settimeout(0.01)
            with pytest.raises(TimeoutError):
                hanging.recv(1000)  # it still waits for an answer
