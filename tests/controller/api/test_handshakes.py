"""Connections whose handshake has not ended when the port is closed."""

import asyncio
import socket
import ssl

import pytest

from controller.api.port.handshakes import TlsAccepting


@pytest.mark.parametrize("turns", [0, 3], ids=["before its first step", "while it waits"])
async def test_a_handshake_that_is_given_up_closes_its_connection(turns):
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    accepting = TlsAccepting(
        make_protocol=asyncio.Protocol,
        tls=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        seconds=5.0,
        kind_of=lambda _: ("handshakes", 1),
        on_refusal=pytest.fail,
    )
    accepting._take(ours, "127.0.0.1")
    [task] = accepting.handshakes
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert ours.fileno() == -1
    assert not accepting.handshakes
    theirs.close()
