"""What a probe says of what it finds, each on a real socket."""

import contextlib
import socket
import threading

import pytest
import zmq

from wire.probe import probe


@contextlib.contextmanager
def listening(answer=None):
    """A port that takes connections and answers with these bytes; None: it never takes one."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(answer)
                    connection.recv(1000)

        if answer is not None:
            threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def test_a_controller_speaks_curve(controller):
    assert probe("127.0.0.1", controller.server.ports.request, 15.0) == ("curve", "")
    assert probe("127.0.0.1", controller.server.ports.publish, 15.0) == ("curve", "")


def test_zeromq_without_curve():
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    assert probe("127.0.0.1", port, 15.0) == ("plain", "")
    context.destroy(linger=0)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"x" * 200, b"\xff" + b"x" * 63])
def test_something_else(answer):
    with listening(answer) as port:
        assert probe("127.0.0.1", port, 15.0) == ("foreign", "")


def test_something_that_says_nothing():
    with listening() as port:
        assert probe("127.0.0.1", port, 0.2) == ("foreign", "")


def test_nothing_listens():
    with listening() as port:
        pass
    assert probe("127.0.0.1", port, 15.0)[0] == "refused"


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 300, "two words", "\0", "exämple..invalid"])
def test_a_name_without_an_address(host):
    resolved = []
    found, error = probe(host, 4506, 15.0, lambda: resolved.append(True))
    assert found == "unresolved"
    assert error
    assert not resolved
