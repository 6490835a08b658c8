"""States and functions of Redis on real servers, by sockets and ports of their own."""

import shutil
import subprocess
import time

import pytest
from rig import free_ports

from minion.execution import Context, Modules
from minion.execution.errors import CallFailed


def until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.fixture
def start(tmp_path_factory):
    """start(): a server, and its port; `--sentinel` and a file make it a Sentinel."""
    pytest.importorskip("redis")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server")
    running = []

    def start(*words):
        [port] = free_ports(1)
        folder = tmp_path_factory.mktemp("redis")
        options = ["--port", str(port), "--save", "", "--dir", str(folder), "--bind", "127.0.0.1"]
        server = subprocess.Popen([program, *words, *options], stdout=subprocess.DEVNULL)
        running.append(server)
        until(lambda: calling(port)("ping"), "redis")
        return port

    yield start
    for server in running:
        server.terminate()
        server.wait()


def calling(port):
    modules = Modules(Context(minion_id="web1", opts={"redis.host": "127.0.0.1", "redis.port": port}))
    return lambda fun, *args, **kwargs: modules.call(f"redis.{fun}", args, kwargs)


def test_a_string_and_when_it_goes(converge, start):
    port = start()
    at, call = {"host": "127.0.0.1", "port": port}, calling(port)
    made = converge("redis.string", "k", value="a secret", **at)
    assert (made.changes, made.comment) == ({"k": "Value updated"}, "Key updated to new value")
    assert "secret" not in str(made)
    assert call("get_key", "k") == "a secret"
    assert converge("redis.string", "k", value="a secret", **at).comment == "Key already set to defined value"
    assert converge("redis.string", "k", value="a secret", expire=900, **at).changes == {
        "expire": "TTL set to 900 seconds"
    }
    both = converge("redis.string", "k", value=7, expire=900, expireat=4102444800, db=1, **at)
    assert both.changes == {"k": "Value updated", "expireat": "Key expires at 4102444800"}
    assert calling(port)("get_key", "k", db=1) == "7"
    gone = converge("redis.string", "k", value=7, expireat=1, db=1, **at)
    assert (gone.changes, gone.comment) == ({"expireat": "Key expires at 1"}, "Key has expired at 1")
    assert call("exists", "k", db=1) == 0
    call("hset", "h", "f", "v")
    refused = converge("redis.string", "h", value="v", **at)
    assert (refused.result, "WRONGTYPE" in refused.comment) == (False, True)


def test_keys_that_are_absent(converge, start):
    port = start()
    at, call = {"host": "127.0.0.1", "port": port}, calling(port)
    for key in ("a", "b", "c"):
        call("set_key", key, "x")
    assert converge("redis.absent", "a", **at).changes == {"deleted": ["a"]}
    assert converge("redis.absent", "x", keys=["a", "b", "c"], **at).changes == {"deleted": ["b", "c"]}
    assert converge("redis.absent", "x", keys=["a", "b"], **at).comment == "Key(s) specified already absent"
    assert converge("redis.absent", "x", keys="a", **at).comment == "`keys` not formed as a list type"


def test_a_server_follows_the_master_that_a_sentinel_names(converge, start, tmp_path_factory):
    master, follower = start(), start()
    configuration = tmp_path_factory.mktemp("sentinel") / "sentinel.conf"
    configuration.write_text(f"sentinel monitor main 127.0.0.1 {master} 1\n")
    sentinel = start(str(configuration), "--sentinel")
    given = {"host": "127.0.0.1", "port": follower, "sentinel_host": "127.0.0.1", "sentinel_port": sentinel}
    followed = converge("redis.slaveof", "main", **given)
    assert followed.changes == {
        "old": {"master_host": "", "master_port": ""}, "new": {"master_host": "127.0.0.1", "master_port": master},
    }  # fmt: skip
    assert followed.comment == "Minion successfully connected to master: main"
    assert calling(follower)("get_master_ip") == {"master_host": "127.0.0.1", "master_port": master}
    unknown = converge("redis.slaveof", "other", **given)
    assert unknown.result is False
    assert calling(follower)("slaveof") is True
    assert calling(follower)("get_master_ip") == {"master_host": "", "master_port": ""}


def test_functions(start):
    call = calling(start())
    assert call("ping") is True
    assert call("hmset", "h", one=1, two="2") is True
    assert call("hgetall", "h") == {"one": "1", "two": "2"}
    assert (call("hget", "h", "one"), call("hget", "h", "no"), call("hexists", "h", "no")) == ("1", None, False)
    assert (call("hincrby", "h", "one", 4), call("hincrbyfloat", "h", "one")) == (5, 6.0)
    assert (call("hmget", "h", "two", "no"), call("hlen", "h"), call("hdel", "h", "two", "no")) == (["2", None], 2, 1)
    assert (call("hsetnx", "h", "one", 1), call("hvals", "h"), call("hscan", "h")) == (False, ["6"], [0, {"one": "6"}])
    assert (call("key_type", "h"), call("keys", "h*"), call("dbsize")) == ("hash", ["h"], 1)
    assert (call("expire", "h", 900), call("expireat", "h", 4102444800), call("expire", "no", 9)) == (True, True, False)
    assert call("config_set", "maxmemory", "1000000000") is True
    assert call("config_get", "maxmemory") == {"maxmemory": "1000000000"}
    assert (call("llen", "l"), call("lrange", "l", 0, -1), call("smembers", "s")) == (0, [], [])
    assert (call("zcard", "z"), call("zrange", "z", 0, -1), call("delete", "h", "no")) == (0, [], 1)
    assert call("save") is True
    assert call("lastsave") <= call("time")
    assert call("bgsave") is True
    assert call("info")["role"] == "master"
    assert (call("flushdb"), call("flushall")) == (True, True)
    with pytest.raises(CallFailed, match="Redis: "):
        call("config_set", "nonsense", "1")
    assert call("shutdown") is True
    assert (call("ping"), call("shutdown")) == (False, False)
    with pytest.raises(CallFailed, match="Redis does not answer"):
        call("get_key", "k")
