from __future__ import annotations

import socket

from gitfs.transport.tcp_nodelay import tcp_nodelay


def no_delay(connection: socket.socket) -> int:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_connections_that_are_made_meanwhile_send_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with tcp_nodelay():
            connection = socket.create_connection(address)
        with connection, socket.create_connection(address) as later:
            assert no_delay(connection)
            assert not no_delay(later)


def test_other_descriptors_are_left_alone(tmp_path):
    with tcp_nodelay():
        one, other = socket.socketpair()
        file = (tmp_path / "file").open("w")
    with one, other, file:
        one.sendall(b"x")
        assert other.recv(1) == b"x"
