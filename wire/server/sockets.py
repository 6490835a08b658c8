"""The server's sockets: how they are set up, their monitors, ZAP, and ending one connection.

Called by `wire.server.server`. Decides nothing about messages.

ZAP is rfc.zeromq.org/spec/27: libzmq asks a socket at a fixed inproc address about each handshake.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import zmq
from zmq.utils import z85

from wire.address import Bind, PortPair, endpoint
from wire.codec import MAX_FROM_RELAY
from wire.errors import CannotBind
from wire.keys import KeyPair
from wire.server.types import Limits

REQUEST_DOMAIN = b"request"
PUBLISH_DOMAIN = b"publish"
_ZAP_ENDPOINT = "inproc://zeromq.zap.01"
_ZERO_COPY_RECV = 10
"""ZMQ_ZERO_COPY_RECV, which pyzmq does not name. With it a frame keeps the 8 KiB that it was received into, so that
small frames that come one by one cost 150 times their bytes."""
_WATCHED = (
    zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sockets:
    """Everything that the server's thread polls, in one context."""

    context: zmq.Context[zmq.Socket[bytes]]
    zap: zmq.Socket[bytes]
    request: zmq.Socket[bytes]
    request_monitor: zmq.Socket[bytes]
    publish: zmq.Socket[bytes]
    publish_monitor: zmq.Socket[bytes]
    ports: PortPair

    def close(self) -> None:
        """Closes all at once; what was not sent is dropped."""
        for watched in (self.request, self.publish):
            watched.disable_monitor()
        self.context.destroy(linger=0)


def open_sockets(bind: Bind, keys: KeyPair, limits: Limits) -> Sockets:
    """Binds both ports; CannotBind when that does not work."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, limits.sockets)
    context.set(_ZERO_COPY_RECV, 0)
    try:
        # The ZAP handler is bound first: with an enforced domain, no handshake succeeds without one.
        zap = context.socket(zmq.REP)
        zap.bind(_ZAP_ENDPOINT)
        request = _secured(context, zmq.ROUTER, REQUEST_DOMAIN, keys, limits)
        request.set(zmq.MAXMSGSIZE, MAX_FROM_RELAY + 1024)  # CURVE's own bytes come on top
        request.set(zmq.ROUTER_MANDATORY, 1)
        publish = _secured(context, zmq.XPUB, PUBLISH_DOMAIN, keys, limits)
        publish.set(zmq.MAXMSGSIZE, 1024)  # subscriptions are all that comes in
        publish.set(zmq.XPUB_VERBOSE, 1)  # each of them is shown, and with it the key that made it
        monitors = _monitor(context, request, "request"), _monitor(context, publish, "publish")
        request_port = _bind(request, bind.host, bind.request_port)
        publish_port = 0 if bind.publish_port is None else _bind(publish, bind.host, bind.publish_port)
    except BaseException:
        context.destroy(linger=0)
        raise
    return Sockets(
        context=context,
        zap=zap,
        request=request,
        request_monitor=monitors[0],
        publish=publish,
        publish_monitor=monitors[1],
        ports=PortPair(publish=publish_port, request=request_port),
    )


def answer_handshakes(zap: zmq.Socket[bytes], status: Callable[[bytes, str], int]) -> None:
    """Answers all waiting ZAP requests; `status(domain, key)` gives 200, 300 (try again) or 400."""
    while True:
        try:
            version, request_id, domain, _address, _routing, mechanism, *credentials = zap.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return
        key = z85.encode(credentials[0]).decode("ascii") if mechanism == b"CURVE" and credentials else ""
        code = status(domain, key) if key else 400
        user = key.encode("ascii") if code == 200 else b""
        zap.send_multipart([version, request_id, str(code).encode("ascii"), b"", user, b""])


def sender(frame: zmq.Frame) -> tuple[str, int] | None:
    """The authenticated key and the number of the connection that a frame came by.

    None when no peer sent it: libzmq unsubscribes in the name of a subscriber that has gone.
    """
    try:
        return str(frame.get("User-Id")), int(str(frame.get("__fd")))
    except zmq.ZMQError:
        return None


def address_of(frame: zmq.Frame) -> str:
    """IP address of the peer that a frame came from."""
    return str(frame.get("Peer-Address"))


def monitor_events(monitor: zmq.Socket[bytes]) -> Iterator[tuple[int, int]]:
    """All waiting (event, value); the value of most is the number of the connection."""
    while True:
        try:
            head, _endpoint = monitor.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return
        event, value = struct.unpack("=Hi", head)
        yield event, value


def end_connection(number: int, port: int) -> None:
    """Shuts one connection down; libzmq sees its end as if the peer had gone.

    The number may have come into other hands just now: only a connection of this port is touched, and a peer that
    is hit by mistake connects again.
    """
    try:
        with socket.socket(fileno=os.dup(number)) as connection:
            if connection.getsockname()[1] == port:
                connection.shutdown(socket.SHUT_RDWR)
    except (OSError, IndexError, TypeError):
        return  # it has ended by itself, or is no connection any more


def _secured(
    context: zmq.Context[zmq.Socket[bytes]], kind: int, domain: bytes, keys: KeyPair, limits: Limits
) -> zmq.Socket[bytes]:
    opened = context.socket(kind)
    options: dict[int, int | bytes] = {
        zmq.LINGER: 0,
        zmq.BACKLOG: limits.backlog,
        zmq.RCVHWM: limits.queue_in,
        zmq.SNDHWM: limits.queue_out,
        zmq.HANDSHAKE_IVL: int(limits.handshake_seconds * 1000),
        # The kernel asks whether peers are there, and not libzmq, which walks through all of its timers to take one
        # back: with heartbeats its thread took 9.5 % of a core for 6,000 idle minions, now 1.5 %.
        zmq.TCP_KEEPALIVE: 1,
        zmq.TCP_KEEPALIVE_IDLE: max(1, int(limits.silence_seconds / 2)),
        zmq.TCP_KEEPALIVE_INTVL: max(1, int(limits.silence_seconds / 6)),
        zmq.TCP_KEEPALIVE_CNT: 3,
        zmq.TCP_MAXRT: int(limits.silence_seconds * 1000),
        zmq.CURVE_SERVER: 1,
        zmq.CURVE_PUBLICKEY: keys.public.encode("ascii"),
        zmq.CURVE_SECRETKEY: keys.secret.encode("ascii"),
        zmq.ZAP_DOMAIN: domain,
        zmq.ZAP_ENFORCE_DOMAIN: 1,
    }
    for option, value in options.items():
        opened.set(option, value)
    return opened


def _monitor(context: zmq.Context[zmq.Socket[bytes]], watched: zmq.Socket[bytes], name: str) -> zmq.Socket[bytes]:
    watched.monitor(f"inproc://monitor-{name}", _WATCHED)
    monitor = context.socket(zmq.PAIR)
    monitor.set(zmq.RCVHWM, 0)  # a full queue would hold up libzmq's own thread
    monitor.connect(f"inproc://monitor-{name}")
    return monitor


def _bind(opened: zmq.Socket[bytes], host: str, port: int) -> int:
    if ":" in host:
        opened.set(zmq.IPV6, 1)
    address = endpoint(host, port) if port else endpoint(host, 0).removesuffix("0") + "*"
    try:
        opened.bind(address)
    except zmq.ZMQError as error:
        raise CannotBind(f"cannot listen on {address}: {error.strerror}") from error
    return int(bytes(opened.get(zmq.LAST_ENDPOINT)).decode("ascii").rstrip("\0").rpartition(":")[2])
