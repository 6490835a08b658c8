"""A peer that speaks the minion's side of Salt's protocol, as far as a test wants it: honest, or not.

It is no salt-minion: what real ones do is tried with real ones (`stock_minions`). It keeps the keys that a minion
keeps, and sends whatever it is told to.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgpack
import zmq

from gateway.protocol.crypticle import Crypticle
from gateway.protocol.packing import pack, unpack
from gateway.protocol.rsa_keys import MinionKey, load_or_create_key
from wire.limits import MinionLimits

LIMITS = MinionLimits()
PATIENCE_MS = 20_000


class SaltPeer:
    """One minion, or somebody who says to be one.

    Args:
        folder: of its key.
        minion: its id.
        ret_port: of the gateway.
        source: address that it comes from.
        keeps: whether it asks by one connection all the time, as a salt-minion does; else by a new one each time, as
            `salt-call`.
    """

    def __init__(
        self, folder: Path, minion: str, ret_port: int, *, source: str = "127.0.0.1", keeps: bool = False
    ) -> None:
        self.id = minion
        self.key = load_or_create_key(folder / f"{minion}.pem")
        self.session: Crypticle | None = None
        self.shared: Crypticle | None = None
        self.publish_port = 0
        self._address = f"tcp://{source}:0;127.0.0.1:{ret_port}"
        self.keeps = keeps
        self._kept: zmq.Socket[bytes] | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._subscriber: zmq.Socket[bytes] | None = None
        self._jobs: list[Mapping[str, Any]] = []

    def __enter__(self) -> SaltPeer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._context.destroy(linger=0)

    def raw(self, frame: bytes) -> Any:
        """The answer to some bytes, unpacked."""
        request = self._kept or self._context.socket(zmq.REQ)
        try:
            if self._kept is None:
                request.connect(self._address)
            self._kept = request if self.keeps else None
            request.send(frame)
            assert request.poll(PATIENCE_MS), "no answer"
            return msgpack.unpackb(request.recv(), raw=True, strict_map_key=False)
        finally:
            if self._kept is None:
                request.close(linger=0)

    def authenticate(self, **more: Any) -> Any:
        """Show the key: True and False as Salt means them, or the keys that one is given."""
        load = {"cmd": "_auth", "id": self.id, "nonce": uuid.uuid4().hex, "pub": self.key.pem, **more}
        said = self.raw(pack({"enc": "clear", "version": 3, "load": load}))
        if not isinstance(said, dict):
            return said
        found = msgpack.unpackb(said[b"load"], raw=True)
        assert found[b"nonce"].decode() == load["nonce"]
        if b"aes" not in found:
            return found[b"ret"]
        master = MinionKey(found[b"pub_key"].decode())
        assert master.verifies(said[b"load"], said[b"sig"], "PKCS1v15-SHA1")
        self.session = Crypticle(self.key.decrypt(found[b"session"], "OAEP-SHA1").decode())
        self.shared = Crypticle(self.key.decrypt(found[b"aes"], "OAEP-SHA1").decode())
        self.publish_port = found[b"publish_port"]
        return found

    def frame(self, cmd: str, *, who: str = "", **more: Any) -> bytes:
        """A request of this minion; `who`: of whom it says to be in the envelope."""
        assert self.session is not None, "it is not let in"
        load = {
            "cmd": cmd,
            "id": self.id,
            "nonce": uuid.uuid4().hex,
            "ts": int(time.time()),
            "tok": self.key.sign_x931(b"salt"),
            **more,
        }
        return pack({"enc": "aes", "version": 3, "id": who or self.id, "load": self.session.seal(load)})

    def ask(self, cmd: str, **more: Any) -> Any:
        """The answer to a command, opened; `bad load` where it is refused."""
        nonce = uuid.uuid4().hex
        said = self.raw(self.frame(cmd, nonce=nonce, **more))
        assert self.session is not None
        if isinstance(said, bytes) and said != b"bad load":
            return opened_answer(self.session, said, nonce)
        return said

    def pillar(self, grains: Mapping[str, Any]) -> Any:
        """The pillar, opened by the key that comes with it."""
        said = self.raw(self.frame("_pillar", grains=dict(grains)))
        if not isinstance(said, dict):
            return said
        once = Crypticle(self.key.decrypt(said[b"key"], "OAEP-SHA1").decode())
        data = once.open(said[b"pillar"], LIMITS)["data"]
        return unpack(data if isinstance(data, bytes) else data.encode(), LIMITS)["pillar"]

    def subscribe(self) -> None:
        """Listen to jobs."""
        self._subscriber = self._context.socket(zmq.SUB)
        self._subscriber.set(zmq.SUBSCRIBE, b"")
        self._subscriber.connect(f"tcp://127.0.0.1:{self.publish_port}")

    def job(self, fun: str, within: float = 20.0) -> Mapping[str, Any]:
        """The next job of this function that is for it; those of others stay."""
        assert self._subscriber is not None
        assert self.shared is not None
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            for number, load in enumerate(self._jobs):
                if load["fun"] == fun:
                    return self._jobs.pop(number)
            if self._subscriber.poll(200):
                payload = msgpack.unpackb(self._subscriber.recv(), raw=True)
                load = self.shared.open(payload[b"load"], LIMITS)
                if self.id in load["tgt"]:
                    self._jobs.append(load)
        raise AssertionError(f"no job {fun}")

    def shout(self, kind: str, frame: bytes) -> None:
        """Send something to the port of jobs, by a socket of this type of ZeroMQ."""
        opened = self._context.socket(getattr(zmq, kind))
        opened.set(zmq.LINGER, 0)
        opened.set(zmq.SNDTIMEO, 300)
        opened.connect(f"tcp://127.0.0.1:{self.publish_port}")
        time.sleep(0.2)
        with contextlib.suppress(zmq.Again):
            opened.send(frame)
        time.sleep(0.2)
        opened.close()

    def give(self, job: Mapping[str, Any], value: Any, **more: Any) -> Any:
        """Return a value for a job."""
        return self.ask("_return", jid=job["jid"], fun=job["fun"], **{"return": value}, retcode=0, success=True, **more)


def opened_answer(session: Crypticle, data: bytes, nonce: str) -> Any:
    """An answer, whose nonce stands before what is packed."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    decryptor = Cipher(algorithms.AES(session._aes), modes.CBC(data[:16])).decryptor()
    padded = decryptor.update(data[16:-32]) + decryptor.finalize()
    plain = padded[: -padded[-1]].removeprefix(b"pickle::")
    assert plain[:32].decode() == nonce, "an answer to another question"
    return unpack(plain[32:], LIMITS)
