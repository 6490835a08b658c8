"""States and functions of memcached on a real server, on a port of its own."""

import shutil
import subprocess
import time
from contextlib import closing, contextmanager

import pytest
from rig import free_ports

from minion.execution import Context, Modules
from minion.execution.errors import CallFailed


@contextmanager
def started(port):
    client = pytest.importorskip("pymemcache.client.base")
    program = shutil.which("memcached")
    if program is None:
        pytest.skip("there is no memcached")
    process = subprocess.Popen([program, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "nobody"])
    end = time.monotonic() + 60
    while True:
        try:
            with closing(client.Client(("127.0.0.1", port))) as asked:
                asked.version()
            break
        except OSError:
            assert time.monotonic() < end, "memcached does not answer"
            time.sleep(0.05)
    yield {"host": "127.0.0.1", "port": port}
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def server():
    with started(free_ports(1)[0]) as place:
        yield place


@pytest.fixture
def call(server):
    modules = Modules(Context(minion_id="web1"))
    return lambda fun, *args, **kwargs: modules.call(f"memcached.{fun}", args, {**server, **kwargs})


def test_a_key(converge, server, call):
    made = converge("memcached.managed", "k", value="é b", **server)
    assert (made.changes, made.comment) == ({"key added": "k", "value": "é b"}, "Successfully set key 'k'")
    assert converge("memcached.managed", "k", value="é b", **server).comment == "Key 'k' does not need to be updated"
    changed = converge("memcached.managed", "k", value=7, **server)
    assert changed.changes == {"old": "é b", "new": 7}
    assert call("get", "k") == 7
    packed = converge("memcached.managed", "k", value="x" * 5000, min_compress_len=100, **server)
    assert packed.changes == {"old": 7, "new": "x" * 5000}
    assert converge("memcached.absent", "k", value="y", **server).result is True
    gone = converge("memcached.absent", "k", value="x" * 5000, **server)
    assert (gone.changes, gone.comment) == (
        {"key deleted": "k", "value": "x" * 5000}, "Successfully deleted key 'k'",
    )  # fmt: skip
    assert converge("memcached.absent", "k", **server).comment == "Key 'k' does not exist"


def test_a_server_that_is_started_again_between_two_states(converge):
    [port] = free_ports(1)
    for _ in range(2):
        with started(port) as place:
            assert converge("memcached.absent", "k", **place).comment == "Key 'k' does not exist"
            assert converge("memcached.absent", "k", **place).comment == "Key 'k' does not exist"
    assert "is down or does not exist" in converge("memcached.absent", "k", **place).comment


def test_what_cannot_be(converge, server, call):
    assert converge("memcached.managed", "k", **server).comment == "The value of a key must be text or a number"
    assert "Key contains whitespace" in converge("memcached.managed", "a b", value=1, **server).comment
    [other] = free_ports(1)
    down = converge("memcached.managed", "k", value=1, **{**server, "port": other})
    assert (down.result, "memcached server is down or does not exist" in down.comment) == (False, True)
    from pymemcache.client.base import Client

    with closing(Client((server["host"], server["port"]))) as other_client:
        other_client.set("p", b"x", noreply=False, flags=1)
    assert converge("memcached.managed", "p", value=1, **server).comment == (
        "The value of p is a pickled object, which is not read"
    )


def test_functions(server, call):
    assert (call("add", "f", 1), call("add", "f", 2), call("replace", "f", 4), call("replace", "no", 1)) == (
        True, False, True, False,
    )  # fmt: skip
    assert (call("incr", "f"), call("increment", "f", 5), call("decr", "f"), call("decrement", "f", 90)) == (
        5,
        10,
        9,
        0,
    )
    with pytest.raises(CallFailed, match="Key 'no' does not exist"):
        call("incr", "no")
    assert call("set", "t", "text") is True
    with pytest.raises(CallFailed, match="must be an integer to be incremented"):
        call("incr", "t")
    assert (call("delete", "t"), call("delete", "t"), call("get", "t")) == (True, False, None)
    [(name, found)] = call("status").items()
    assert (name, found["curr_items"]) == (f"127.0.0.1:{server['port']} (1)", str(int(found["curr_items"])))
    [other] = free_ports(1)
    assert call("status", port=other) is False
