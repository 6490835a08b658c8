"""The peers of a bare echo: DEALERs that answer. `bare_echo` runs it.

    python echo_peers.py PORT KEY COUNT CALL STARTED RESULT

The last three are frames, as hex. CALL is answered with RESULT; CALL with a zero byte before it with STARTED and
RESULT; any other frame with nothing.
"""

from __future__ import annotations

import resource
import sys

import zmq


def main(port: str, key: str, count: int, call: bytes, started: bytes, result: bytes) -> None:
    """Connect, say so, and answer until the process is ended."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, count + 16)
    dealers = [_dealer(context, port, key) for _ in range(count)]
    whole = b"\0" + call
    while True:
        for dealer in dealers:
            frame = dealer.recv()
            while frame not in (call, whole):
                frame = dealer.recv()
            if frame == whole:
                dealer.send(started)
            dealer.send(result)


def _dealer(context: zmq.Context[zmq.Socket[bytes]], port: str, key: str) -> zmq.Socket[bytes]:
    public, secret = zmq.curve_keypair()
    dealer: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    dealer.set(zmq.LINGER, 0)
    dealer.set(zmq.CURVE_SERVERKEY, key.encode())
    dealer.set(zmq.CURVE_PUBLICKEY, public)
    dealer.set(zmq.CURVE_SECRETKEY, secret)
    dealer.connect(f"tcp://127.0.0.1:{port}")
    dealer.send(b"")
    return dealer


if __name__ == "__main__":
    words = sys.argv[1:]
    main(words[0], words[1], int(words[2]), *(bytes.fromhex(one) for one in words[3:6]))
