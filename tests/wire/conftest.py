"""A controller's server and minions' connections over real sockets on this machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zmq

from wire.address import Address, Bind
from wire.client import Connection, Timing
from wire.keys import KeyPair
from wire.limits import WireLimits
from wire.server.server import Server
from wire.server.types import Identity, Limits

DEADLINE = 15.0
TIMING = Timing(retry_first=0.02, retry_most=0.2, retry_unwelcome=0.2)


def new_keys() -> KeyPair:
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


def wait_until(condition: Callable[[], Any], what: str = "the condition") -> Any:
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"{what} did not come about")


class Peer:
    """A minion's connection and what came by it."""

    def __init__(self, connection: Connection, keys: KeyPair) -> None:
        self.connection = connection
        self.keys = keys
        self.seen: list[Any] = []

    def wait(self, kind: type[Any]) -> Any:
        """The next message or event of this kind; what comes before it goes to `seen`."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            for position, item in enumerate(self.seen):
                if isinstance(item, kind):
                    del self.seen[: position + 1]
                    return item
            self.seen += self.connection.receive(0.5)[0]
        raise AssertionError(f"no {kind.__name__} came, but {self.seen!r}")

    def send(self, message: Any) -> None:
        deadline = time.monotonic() + DEADLINE
        while not self.connection.send(message):
            assert time.monotonic() < deadline, "no connection, or no room in its queue"
            self.seen += self.connection.receive(0.02)[0]


class Controller:
    """A server, its registry, and all that it delivered."""

    def __init__(self, limits: Limits | None = None, borders: WireLimits | None = None) -> None:
        self.keys = new_keys()
        self.identities: dict[str, Identity] = {}
        self.delivered: list[Any] = []
        self.limits = limits
        self.borders = borders
        self._lock = threading.Lock()
        self._closing: list[Callable[[], None]] = []
        self.server = self._serve(Bind(publish_port=0, request_port=0))

    def identity(self, key: str) -> Identity | None:
        return self.identities.get(key)

    def _deliver(self, batch: list[Any]) -> None:
        with self._lock:
            self.delivered += batch

    def _serve(self, bind: Bind) -> Server:
        server = Server(
            bind,
            self.keys,
            self,
            self._deliver,
            limits=self.limits,
            borders=self.borders,
            expected=lambda: len(self.identities),
        )
        server.start()
        self._closing.append(server.stop)
        return server

    def restart(self) -> None:
        ports = self.server.ports
        self.server.stop()
        self.server = self._serve(Bind(publish_port=ports.publish, request_port=ports.request))

    @property
    def address(self) -> Address:
        ports = self.server.ports
        return Address(
            host="127.0.0.1",
            publish_port=ports.publish,
            request_port=ports.request,
            controller_key=self.keys.public,
        )

    def wait(self, kind: type[Any], **fields: Any) -> Any:
        """The first delivery of this kind with these fields; it is taken away."""

        def take() -> Any:
            with self._lock:
                for position, item in enumerate(self.delivered):
                    if isinstance(item, kind) and all(getattr(item, name) == is_ for name, is_ in fields.items()):
                        return self.delivered.pop(position)
            return None

        return wait_until(take, f"{kind.__name__} {fields}")

    def wait_count(self, name: str, least: int = 1) -> int:
        wait_until(lambda: self.server.counts().get(name, 0) >= least, f"{name} >= {least} in {self.server.counts()}")
        return self.server.counts()[name]

    def know(self, keys: KeyPair, minion_id: str, state: Any = "accepted") -> None:
        self.identities[keys.public] = Identity(id=minion_id, state=state)

    def keys_of(self, minion_id: str | None) -> KeyPair:
        """Of a minion without a connection, since one of the same key that came later would end that of a test.

        They are accepted when it is given an id.
        """
        own = new_keys()
        if minion_id is not None:
            self.know(own, minion_id)
        return own

    def peer(self, minion_id: str | None = None, keys: KeyPair | None = None, **changes: Any) -> Peer:
        """A minion; accepted when it is given an id."""
        own = keys or new_keys()
        if minion_id is not None:
            self.know(own, minion_id)
        options: dict[str, Any] = {"timing": TIMING} | changes
        connection = Connection(options.pop("address", self.address), own, **options)
        self._closing.append(connection.close)
        return Peer(connection, own)

    def raw(
        self,
        keys: KeyPair | None = None,
        *,
        routing: bytes | None = None,
        kind: int = zmq.DEALER,
        port: int = 0,
        queue: int = 1000,
        server_key: str = "",
    ) -> Any:
        """A socket that can speak CURVE, and is held to nothing else; it reads `queue` messages ahead."""
        own = keys or new_keys()
        context: zmq.Context[Any] = zmq.Context()
        opened = context.socket(kind)
        opened.linger = 0
        opened.rcvhwm = queue
        opened.curve_serverkey = (server_key or self.keys.public).encode()
        opened.curve_publickey, opened.curve_secretkey = own.public.encode(), own.secret.encode()
        opened.rcvtimeo = int(DEADLINE * 1000)
        if kind == zmq.DEALER:
            opened.routing_id = os.urandom(16).replace(b"\0", b"\1") if routing is None else routing
        if kind == zmq.SUB:
            opened.subscribe(b"")
        opened.connect(f"tcp://127.0.0.1:{port or self.server.ports.request}")
        self._closing += [context.term, opened.close]
        return opened

    def close(self) -> None:
        for close in reversed(self._closing):
            close()


@pytest.fixture
def controller() -> Iterator[Controller]:
    made = Controller()
    yield made
    made.close()
    assert "errors" not in made.server.counts()


@pytest.fixture
def controller_with() -> Iterator[Callable[..., Controller]]:
    """Makes a controller with other limits."""
    made: list[Controller] = []

    def make(*, borders: WireLimits | None = None, **limits: Any) -> Controller:
        made.append(Controller(Limits(**limits), borders))
        return made[-1]

    yield make
    for one in made:
        one.close()
