"""Somebody who answers at the gateway's address with the key of publications, and without the gateway's RSA key.

Each minion has that key, so a taken one has it. What real salt-minions then do depends on their `sign_pub_messages`.
"""

import json
import shutil
import signal
import tempfile
import time
from pathlib import Path

import msgpack
import pytest
import zmq
from gateway_site import gateway_site
from salt_peer import LIMITS, SaltPeer
from stock_minions import salt_venvs

from gateway.protocol.packing import pack
from gateway.protocol.rsa_keys import load_or_create_key

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
PLAIN, SIGNED = "plain1", "signed1"
MINIONS = {PLAIN: {}, SIGNED: {"sign_pub_messages": True}}
REFUSALS = ("Message signing is enabled but", "Message signature failed to validate", "invalid serial was received")
"""What salt-minions log of publications that they refuse."""


class Impostor:
    """Has the port of publications, once the gateway is gone."""

    def __init__(self, port):
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)
        self._socket.set(zmq.XPUB_VERBOSE, 1)
        self._socket.bind(f"tcp://127.0.0.1:{port}")
        self._serial = int(time.time()) + 1_000_000

    def wait_for(self, count):
        """Until so many have subscribed."""
        for _ in range(count):
            assert self._socket.poll(30_000)
            assert self._socket.recv() == b"\x01"

    def say(self, frame):
        self._socket.send(frame)

    def job(self, shared, minion, command, **signature):
        """Publish `cmd.run` for a minion."""
        self._serial += 1
        load = {
            "tgt": [minion],
            "tgt_type": "list",
            "jid": f"{20990101000000000000 + self._serial}",
            "fun": "cmd.run",
            "arg": [command],
            "ret": "",
            "user": "root",
            "serial": self._serial,
        }
        sealed = shared.seal(load)
        said = {name: value(sealed) if callable(value) else value for name, value in signature.items()}
        self.say(pack({"enc": "aes", "load": sealed, **said}))

    def close(self):
        self._context.destroy(linger=0)


class Listener:
    """What is published, as any minion of this machine gets it."""

    def __init__(self, port):
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.set(zmq.SUBSCRIBE, b"")
        self._socket.connect(f"tcp://127.0.0.1:{port}")

    def frame_of(self, shared, fun):
        """The next publication of a function."""
        while self._socket.poll(20_000):
            frame = self._socket.recv()
            if shared.open(msgpack.unpackb(frame, raw=True)[b"load"], LIMITS)["fun"] == fun:
                return frame
        raise AssertionError(f"no job {fun}")

    def close(self):
        self._context.destroy(linger=0)


def refused(stock, minion):
    """How many publications a minion has refused."""
    said = stock.log(minion)
    return sum(said.count(each) for each in REFUSALS)


@pytest.fixture(params=sorted(VENVS))
def version(request):
    return request.param


@pytest.fixture
def site(version):
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    tree = {"states/top.sls": "base:\n  '*':\n    - web\n", "states/web.sls": "told:\n  test.nop: []\n"}
    with gateway_site(folder, tree) as (rig, stock):
        for minion, more in MINIONS.items():
            stock.start_minion(VENVS[version], minion, more)
            stock.wait("its key waits", lambda at=minion: at in rig.keys("pending"))
            rig.saltern("key", "accept", minion, "--yes")
        rig.wait_applied(rig.head(), list(MINIONS), patience=120)
        yield rig, stock, folder
    shutil.rmtree(folder, ignore_errors=True)


def test_who_has_the_key_of_publications_and_the_address(site, version):
    rig, stock, folder = site
    with SaltPeer(folder, "mallory", stock.ret_port) as mallory:
        assert mallory.authenticate() is True
        rig.saltern("key", "accept", "mallory", "--yes")
        stock.wait("it is let in", lambda: isinstance(mallory.authenticate(), dict))
        listener = Listener(mallory.publish_port)
        listener.frame_of(mallory.shared, "test.ping")  # who begins to listen is greeted
        said = json.loads(
            rig.saltern("run", "*1", "config.get", "sign_pub_messages", "--static", "--out", "json").stdout
        )
        assert said == {PLAIN: False, SIGNED: True}, "so one sees which minions want signatures"
        genuine = folder / "genuine"
        rig.saltern("run", "-L", ",".join(MINIONS), "cmd.run", f"echo $PPID >> {genuine}")
        assert len(genuine.read_text().splitlines()) == 2
        captured = listener.frame_of(mallory.shared, "cmd.run")
        listener.close()
        stock.stop(SIGNED)
        stock.start_minion(VENVS[version], SIGNED, MINIONS[SIGNED])  # it has forgotten which jobs it has had
        stock.wait("it to answer", lambda: "True" in rig.saltern("run", SIGNED, "test.ping", check=False).stdout)
        before = {minion: refused(stock, minion) for minion in MINIONS}

        stock.stop("gateway", signal.SIGKILL)
        impostor = Impostor(stock.publish_port)
        impostor.wait_for(len(MINIONS))
        other = load_or_create_key(folder / "other.pem")
        ways = {
            "unsigned": {},
            "garbage": {"sig_algo": "PKCS1v15-SHA1", "sig": b"x" * 256},
            "other": {"sig_algo": "PKCS1v15-SHA1", "sig": lambda sealed: other.sign(sealed, "PKCS1v15-SHA1")},
            "no-algorithm": {"sig_algo": "none", "sig": b"x" * 256},
        }
        for way, signature in ways.items():
            for minion in MINIONS:
                impostor.job(mallory.shared, minion, f"touch {folder}/{way}.{minion}", **signature)
        ran = lambda minion: {way for way in ways if (folder / f"{way}.{minion}").exists()}  # noqa: E731
        stock.wait("jobs of the impostor to run where no signature is wanted", lambda: ran(PLAIN) == set(ways))
        stock.wait("each to be refused", lambda: refused(stock, SIGNED) - before[SIGNED] >= len(ways))
        assert ran(SIGNED) == set()

        before = {minion: refused(stock, minion) for minion in MINIONS}
        impostor.say(captured)  # what the gateway has signed itself
        for minion in MINIONS:
            stock.wait("it to be refused", lambda at=minion: refused(stock, at) > before[at])
        assert len(genuine.read_text().splitlines()) == 2, "no job is taken twice"
        impostor.close()

    stock.start_gateway()
    for minion in MINIONS:
        stock.wait(
            f"{minion} to answer the gateway again",
            lambda at=minion: "True" in rig.saltern("run", at, "test.ping", check=False).stdout,
        )
