"""The execution module `memcached`: keys of a memcached server.

Behaviour: doc/ref/modules/all/salt.modules.memcached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Ignored, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.failure import StateFailed
from minion.providers.stores.memcached import Memcached, MemcachedAddress, kept

_AT_ONCE = Ignored("memcached has no deletion that waits")


def status(context: Context, server: MemcachedAddress) -> dict[str, dict[str, str]] | bool:
    """What the server says of itself; false where it does not answer."""
    try:
        return Memcached(server).statistics()
    except StateFailed:
        return False


def get(context: Context, key: str, server: MemcachedAddress) -> str | int | None:
    """The value of a key; null where there is none."""
    found: str | int | None = Memcached(server).call("get", key)
    return found


def set_key(
    context: Context, key: str, value: AnyValue, server: MemcachedAddress, time: int = 0, min_compress_len: int = 0
) -> bool:
    """Set the value of a key. `time`: seconds after which it goes."""
    return bool(Memcached(server, compress_from=min_compress_len).call("set", key, kept(value), expire=time))


def delete(context: Context, key: str, server: MemcachedAddress, time: Annotated[Value, _AT_ONCE] = 0) -> bool:
    """Delete a key; whether there was one."""
    return bool(Memcached(server).call("delete", key))


def add(
    context: Context, key: str, value: AnyValue, server: MemcachedAddress, time: int = 0, min_compress_len: int = 0
) -> bool:
    """Set the value of a key that is not there; whether that was so."""
    return bool(Memcached(server, compress_from=min_compress_len).call("add", key, kept(value), expire=time))


def replace(
    context: Context, key: str, value: AnyValue, server: MemcachedAddress, time: int = 0, min_compress_len: int = 0
) -> bool:
    """Set the value of a key that is there; whether that was so."""
    return bool(Memcached(server, compress_from=min_compress_len).call("replace", key, kept(value), expire=time))


def increment(context: Context, key: str, delta: int = 1, *, server: MemcachedAddress) -> int:
    """Add to a number; what it is then."""
    return _counted("incr", key, delta, server)


def decrement(context: Context, key: str, delta: int = 1, *, server: MemcachedAddress) -> int:
    """Take from a number, down to 0; what it is then."""
    return _counted("decr", key, delta, server)


def _counted(method: str, key: str, delta: int, server: MemcachedAddress) -> int:
    memcached = Memcached(server)
    found = memcached.call("get", key)
    if found is None:
        raise CallFailed(f"Key '{key}' does not exist")
    if not isinstance(found, int):
        raise CallFailed(f"Value for key '{key}' must be an integer to be {method}emented")
    return int(memcached.call(method, key, delta))


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "decr": decrement,
    "decrement": decrement,
    "delete": delete,
    "get": get,
    "incr": increment,
    "increment": increment,
    "replace": replace,
    "set": set_key,
    "status": status,
}
