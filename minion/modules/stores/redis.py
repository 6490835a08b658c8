"""The execution module `redis`: commands of a Redis server.

Behaviour: doc/ref/modules/all/salt.modules.redismod. Values are what the client library returns, sets as lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.providers.stores.redis import RedisAddress, SentinelAddress, redis_at, sentinel_at


def bgrewriteaof(context: Context, server: RedisAddress) -> bool:
    """Have the append-only file written anew, in the background."""
    return bool(_call(context, server, "bgrewriteaof"))


def bgsave(context: Context, server: RedisAddress) -> bool:
    """Have the data saved to disk, in the background."""
    return bool(_call(context, server, "bgsave"))


def config_get(context: Context, pattern: str = "*", *, server: RedisAddress) -> dict[str, str]:
    """Settings of the server whose names match."""
    return dict(_call(context, server, "config_get", pattern))


def config_set(context: Context, name: str, value: str, server: RedisAddress) -> bool:
    """Set one, until the server ends."""
    return bool(_call(context, server, "config_set", name, value))


def dbsize(context: Context, server: RedisAddress) -> int:
    """How many keys the database has."""
    return int(_call(context, server, "dbsize"))


def delete(context: Context, *keys: str, server: RedisAddress) -> int:
    """Delete keys; how many there were."""
    return int(_call(context, server, "delete", *keys))


def exists(context: Context, key: str, server: RedisAddress) -> int:
    """1 where there is a key, 0 where there is none."""
    return int(_call(context, server, "exists", key))


def expire(context: Context, key: str, seconds: int, server: RedisAddress) -> bool:
    """Have a key go after so many seconds; whether there is one."""
    return bool(_call(context, server, "expire", key, seconds))


def expireat(context: Context, key: str, timestamp: int, server: RedisAddress) -> bool:
    """Have a key go at a time, in seconds since the epoch; whether there is one."""
    return bool(_call(context, server, "expireat", key, timestamp))


def flushall(context: Context, server: RedisAddress) -> bool:
    """Delete all keys of all databases."""
    return bool(_call(context, server, "flushall"))


def flushdb(context: Context, server: RedisAddress) -> bool:
    """Delete all keys of the database."""
    return bool(_call(context, server, "flushdb"))


def get_key(context: Context, key: str, server: RedisAddress) -> str | None:
    """The value of a key; null where there is none."""
    return _text(_call(context, server, "get", key))


def get_master_ip(
    context: Context, host: str | None = None, port: int | None = None, password: str | None = None
) -> dict[str, Any]:
    """Whom the server follows; empty texts where it is a master."""
    return redis_at(context.machine, RedisAddress(host=host, port=port, password=password)).master()


def hdel(context: Context, key: str, *fields: str, server: RedisAddress) -> int:
    """Delete fields of a hash; how many there were."""
    return int(_call(context, server, "hdel", key, *fields))


def hexists(context: Context, key: str, field: str, server: RedisAddress) -> bool:
    """Whether a hash has a field."""
    return bool(_call(context, server, "hexists", key, field))


def hget(context: Context, key: str, field: str, server: RedisAddress) -> str | None:
    """The value of a field of a hash; null where there is none."""
    return _text(_call(context, server, "hget", key, field))


def hgetall(context: Context, key: str, server: RedisAddress) -> dict[str, str]:
    """Fields and values of a hash."""
    return dict(_call(context, server, "hgetall", key))


def hincrby(context: Context, key: str, field: str, increment: int = 1, *, server: RedisAddress) -> int:
    """Add to the number in a field of a hash; what it is then."""
    return int(_call(context, server, "hincrby", key, field, increment))


def hincrbyfloat(context: Context, key: str, field: str, increment: float = 1.0, *, server: RedisAddress) -> float:
    """Add to the number in a field of a hash; what it is then."""
    return float(_call(context, server, "hincrbyfloat", key, field, increment))


def hlen(context: Context, key: str, server: RedisAddress) -> int:
    """How many fields a hash has."""
    return int(_call(context, server, "hlen", key))


def hmget(context: Context, key: str, *fields: str, server: RedisAddress) -> list[str | None]:
    """The values of fields of a hash."""
    return list(_call(context, server, "hmget", key, list(fields)))


def hmset(context: Context, key: str, *, server: RedisAddress, **fieldsvals: Any) -> bool:
    """Set fields of a hash, given by name."""
    mapping = {name: value for name, value in fieldsvals.items() if not name.startswith("__")}
    _call(context, server, "hset", key, mapping=mapping)
    return True


def hscan(
    context: Context, key: str, cursor: int = 0, match: str | None = None, count: int | None = None, *,
    server: RedisAddress,
) -> list[Any]:  # fmt: skip
    """The next cursor, and fields and values of a part of a hash."""
    return list(_call(context, server, "hscan", key, cursor=cursor, match=match, count=count))


def hset(context: Context, key: str, field: str, value: AnyValue, server: RedisAddress) -> int:
    """Set a field of a hash; 1 where it is new."""
    return int(_call(context, server, "hset", key, field, value))


def hsetnx(context: Context, key: str, field: str, value: AnyValue, server: RedisAddress) -> bool:
    """Set a field of a hash that does not have it; whether that was so."""
    return bool(_call(context, server, "hsetnx", key, field, value))


def hvals(context: Context, key: str, server: RedisAddress) -> list[str]:
    """The values of a hash."""
    return list(_call(context, server, "hvals", key))


def info(context: Context, server: RedisAddress) -> dict[str, Any]:
    """What the server says of itself."""
    return dict(_call(context, server, "info"))


def key_type(context: Context, key: str, server: RedisAddress) -> str:
    """`string`, `hash`, `list`, `set`, `zset`, `stream`; `none` where there is no such key."""
    return str(_call(context, server, "type", key))


def keys(context: Context, pattern: str = "*", *, server: RedisAddress) -> list[str]:
    """Keys that match."""
    return list(_call(context, server, "keys", pattern))


def lastsave(context: Context, server: RedisAddress) -> int:
    """When the data were saved last, in seconds since the epoch."""
    return int(_call(context, server, "lastsave").timestamp())


def llen(context: Context, key: str, server: RedisAddress) -> int:
    """How many elements a list has."""
    return int(_call(context, server, "llen", key))


def lrange(context: Context, key: str, start: int, stop: int, server: RedisAddress) -> list[str]:
    """Elements of a list."""
    return list(_call(context, server, "lrange", key, start, stop))


def ping(context: Context, server: RedisAddress) -> bool:
    """Whether the server answers."""
    return redis_at(context.machine, server).answers()


def save(context: Context, server: RedisAddress) -> bool:
    """Save the data to disk, and wait for it."""
    return bool(_call(context, server, "save"))


def sentinel_get_master_ip(context: Context, master: str, sentinel: SentinelAddress) -> dict[str, Any]:
    """Where a Sentinel says that a master is."""
    return sentinel_at(context.machine, sentinel).master_named(master)


def set_key(context: Context, key: str, value: AnyValue, server: RedisAddress) -> bool:
    """Set the value of a key."""
    return bool(_call(context, server, "set", key, value))


def shutdown(context: Context, server: RedisAddress) -> bool:
    """Save the data, and end the server; whether it has ended."""
    redis = redis_at(context.machine, server)
    if not redis.answers():
        return False
    redis.call("shutdown")
    return not redis.answers()


def slaveof(
    context: Context, master_host: str | None = None, master_port: int | None = None, *, server: RedisAddress
) -> bool:
    """Have the server follow another one; without one it is a master."""
    return bool(_call(context, server, "slaveof", master_host, (master_port or 6379) if master_host else None))


def smembers(context: Context, key: str, server: RedisAddress) -> list[str]:
    """Members of a set, sorted."""
    return sorted(_call(context, server, "smembers", key))


def time(context: Context, server: RedisAddress) -> int:
    """The server's time, in seconds since the epoch."""
    return int(_call(context, server, "time")[0])


def zcard(context: Context, key: str, server: RedisAddress) -> int:
    """How many members a sorted set has."""
    return int(_call(context, server, "zcard", key))


def zrange(context: Context, key: str, start: int, stop: int, server: RedisAddress) -> list[str]:
    """Members of a sorted set, by their places."""
    return list(_call(context, server, "zrange", key, start, stop))


def _call(context: Context, server: RedisAddress, method: str, *args: Any, **kwargs: Any) -> Any:
    return redis_at(context.machine, server).call(method, *args, **kwargs)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


_ALL = (
    bgrewriteaof, bgsave, config_get, config_set, dbsize, delete, exists, expire, expireat, flushall, flushdb, get_key,
    get_master_ip, hdel, hexists, hget, hgetall, hincrby, hincrbyfloat, hlen, hmget, hmset, hscan, hset, hsetnx, hvals,
    info, key_type, keys, lastsave, llen, lrange, ping, save, sentinel_get_master_ip, set_key, shutdown, slaveof,
    smembers, time, zcard, zrange,
)  # fmt: skip

FUNCTIONS: Mapping[str, Any] = {function.__name__: function for function in _ALL}
