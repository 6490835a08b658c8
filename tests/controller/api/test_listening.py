"""Sockets that listen."""

import asyncio
import socket

import pytest

from controller.api.listening import tcp_socket
from controller.cluster.listening import listen


@pytest.mark.parametrize(
    "opened", [lambda: tcp_socket("127.0.0.1", 0, "host", "port"), lambda: listen("127.0.0.1", 0, "cluster_port")]
)
async def test_small_answers_are_not_kept_until_the_last_was_acknowledged(opened):
    seen = asyncio.get_running_loop().create_future()

    async def meet(reader, writer):
        connection = writer.get_extra_info("socket")
        seen.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with opened() as listener:
        listener.setblocking(False)
        server = await asyncio.start_server(meet, sock=listener)
        async with server:
            _, writer = await asyncio.open_connection(*listener.getsockname())
            assert await asyncio.wait_for(seen, 30)
            writer.close()
            await writer.wait_closed()
