"""Hundreds of peers that say what salt-minions say, each from an address of its own, in one thread.

They have one RSA key together, which nothing forbids: what a gateway does for them is the same as for minions.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgpack
import zmq
import zmq.asyncio
from salt_peer import LIMITS, opened_answer

from gateway.protocol.crypticle import Crypticle, NotAuthentic
from gateway.protocol.packing import pack
from gateway.protocol.rsa_keys import load_or_create_key

_VALUES: Mapping[str, Any] = {"saltutil.find_job": {}, "saltutil.is_running": []}


class SaltCrowd:
    """The peers; they are there while it is entered.

    Args:
        folder: of their key.
        names: their ids.
        ret_port: of the gateway.
        wait: seconds until a peer whose key waits comes again (`acceptance_wait_time` of a salt-minion).
    """

    def __init__(self, folder: Path, names: Sequence[str], ret_port: int, *, wait: float = 1.0) -> None:
        self.names = tuple(names)
        self.heard: list[tuple[str, str, tuple[str, ...]]] = []
        """(peer, function, minions that it is for) of each publication that a peer has decrypted."""
        self.authenticated: Counter[str] = Counter()
        """How often each peer was let in."""
        self.unanswered: Counter[str] = Counter()
        """How often each peer got no answer in time, or one that it could not read, and came anew."""
        self._jobs: dict[tuple[str, bytes], tuple[Mapping[str, Any], tuple[str, ...]]] = {}
        """By key and what was sealed with it, the last ones."""
        self._key = load_or_create_key(folder / "crowd.pem")
        self._token = self._key.sign_x931(b"salt")
        self._port = ret_port
        self._wait = wait
        self._context = zmq.asyncio.Context()
        self._context.set(zmq.MAX_SOCKETS, 20_000)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> SaltCrowd:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join()
        self._context.destroy(linger=0)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        tasks = [asyncio.create_task(self._be(number, name)) for number, name in enumerate(self.names)]
        while not self._stopped.is_set():
            await asyncio.sleep(0.05)
            for task in tasks:
                if task.done():
                    task.result()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _be(self, number: int, name: str) -> None:
        """Come, and come again whenever what is published cannot be read."""
        address = f"127.1.{number // 200}.{number % 200 + 1}"
        while True:
            try:
                await self._once(address, name)
            except (NotAuthentic, TimeoutError):
                self.unanswered[name] += 1

    async def _once(self, address: str, name: str) -> None:
        with contextlib.closing(self._context.socket(zmq.SUB)) as jobs:
            request = _Requests(self._context, f"tcp://{address}:0;127.0.0.1:{self._port}")
            try:
                found = await self._authenticated(request, name)
                session = Crypticle(self._key.decrypt(found[b"session"], "OAEP-SHA1").decode())
                shared = Crypticle(self._key.decrypt(found[b"aes"], "OAEP-SHA1").decode())
                jobs.set(zmq.SUBSCRIBE, b"")
                jobs.connect(f"tcp://{address}:0;127.0.0.1:{found[b'publish_port']}")

                def sealed(**load: Any) -> bytes:
                    common = {"id": name, "nonce": uuid.uuid4().hex, "ts": int(time.time()), "tok": self._token}
                    return pack({"enc": "aes", "version": 3, "id": name, "load": session.seal({**common, **load})})

                grains = {"os": "Debian", "kernel": "Linux", "saltversion": "3008.1", "id": name}
                await request.ask(sealed(cmd="_pillar", grains=grains))
                while True:
                    await self._do(name, shared, await jobs.recv(), request, session, sealed)
            finally:
                request.close()

    async def _authenticated(self, request: _Requests, name: str) -> Any:
        while True:
            load = {"cmd": "_auth", "id": name, "nonce": uuid.uuid4().hex, "pub": self._key.pem}
            said = await request.ask(pack({"enc": "clear", "version": 3, "load": load}))
            found = msgpack.unpackb(said[b"load"], raw=True) if isinstance(said, dict) else {}
            if b"aes" in found:
                self.authenticated[name] += 1
                return found
            await asyncio.sleep(self._wait)

    def _opened(self, shared: Crypticle, sealed: bytes) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """A job, and whom it is for. What all decrypt, one thread need not decrypt a thousand times."""
        key = (shared.key, sealed)
        if (found := self._jobs.get(key)) is None:
            job = shared.open(sealed, LIMITS)
            found = self._jobs[key] = job, tuple(job["tgt"])
            while len(self._jobs) > 100:
                del self._jobs[next(iter(self._jobs))]
        return found

    async def _do(
        self,
        name: str,
        shared: Crypticle,
        frame: bytes,
        request: _Requests,
        session: Crypticle,
        sealed: Callable[..., bytes],
    ) -> None:
        job, minions = self._opened(shared, msgpack.unpackb(frame, raw=True)[b"load"])
        self.heard.append((name, job["fun"], minions))
        if name not in minions:
            return
        value = _VALUES.get(job["fun"], True)
        if job["fun"] == "state.sls":
            value = await _applied(job["arg"][0], request, session, sealed)
        answer = {"jid": job["jid"], "fun": job["fun"], "retcode": 0, "success": True, "return": value}
        if await request.ask(sealed(cmd="_return", **answer)) == b"bad load":
            raise NotAuthentic("it is let in no more")


async def _applied(sls: str, request: _Requests, session: Crypticle, sealed: Callable[..., bytes]) -> Mapping[str, Any]:
    """What the states of an SLS return where all is as they say: it is asked for, as a minion does, with the pillar."""
    nonce = uuid.uuid4().hex
    await request.ask(sealed(cmd="_pillar", grains={}))
    path = f"{sls.replace('.', '/')}.sls"
    said = await request.ask(sealed(cmd="_serve_file", path=path, saltenv="base", loc=0, nonce=nonce))
    if said == b"bad load":
        raise NotAuthentic("it is let in no more")
    high = json.loads(opened_answer(session, said, nonce)["data"].partition("\n")[2])
    return {
        f"{state}_|-{identifier}_|-{identifier}_|-{arguments[0]}": {
            "result": True,
            "changes": {},
            "comment": "",
            "name": identifier,
            "__id__": identifier,
            "__sls__": declared["__sls__"],
            "__run_num__": 0,
            "duration": 0.1,
        }
        for identifier, declared in high.items()
        for state, arguments in declared.items()
        if not state.startswith("__")
    }


class _Requests:
    """Asks one thing at a time."""

    def __init__(self, context: zmq.asyncio.Context, address: str) -> None:
        self._context = context
        self._address = address
        self._socket = self._opened()

    def _opened(self) -> zmq.asyncio.Socket:
        opened = self._context.socket(zmq.REQ)
        opened.connect(self._address)
        return opened

    async def ask(self, frame: bytes) -> Any:
        """The answer; TimeoutError."""
        async with asyncio.timeout(30):
            await self._socket.send(frame)
            return msgpack.unpackb(await self._socket.recv(), raw=True, strict_map_key=False)

    def close(self) -> None:
        self._socket.close(linger=0)
