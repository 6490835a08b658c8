"""The state module `redis`: keys of a Redis server, and whom it follows.

Behaviour: doc/ref/states/all/salt.states.redismod. A value and a password are in no change and no comment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minion.arguments.types import AnyValue, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.stores.redis import RedisAddress, RedisServer, SentinelAddress, redis_at, sentinel_at


def string(
    machine: Reader,
    name: str,
    *,
    value: str,
    expire: int | None = None,
    expireat: int | None = None,
    server: RedisAddress,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The key has this value.

    `expire`: it goes after so many seconds, counted from when it was written; one that goes sooner is left alone.
    `expireat`: it goes at this time, in seconds since the epoch, and this counts.
    """
    redis = redis_at(machine, server, to_come)
    found, left, *time = redis.together(("get", name), ("pttl", name), *([("time",)] if expireat else []))
    now = time[0][0] if time else 0
    if expireat and expireat <= now:
        return _past(redis, name, expireat, found)
    changes = []
    if found != value:
        changes.append(Change(key=name, reported="Value updated", act=_tell(redis, "set", name, value)))
    if expireat and (changes or left < 0 or abs(now + left / 1000 - expireat) > _NEAR):
        act = _tell(redis, "expireat", name, expireat)
        changes.append(Change(key="expireat", reported=f"Key expires at {expireat}", act=act))
    elif expire and not expireat and (changes or left < 0 or left > expire * 1000):
        act = _tell(redis, "expire", name, expire)
        changes.append(Change(key="expire", reported=f"TTL set to {expire} seconds", act=act))
    return Plan(
        changes=tuple(changes),
        comment=_SET,
        pending="Key would be updated to new value" if found != value else "Expiration of the key would be set",
        done="Key updated to new value" if found != value else _SET,
    )


_SET = "Key already set to defined value"
_NEAR = 2
"""Seconds by which a time to live, which is counted from now, may seem to be another."""


def absent(
    machine: Reader, name: str, *, keys: AnyValue = None, server: RedisAddress, to_come: ToCome = frozenset()
) -> Plan:
    """There is no such key, nor, with `keys`, any of those."""
    if keys and not isinstance(keys, list):
        return Plan(comment="`keys` not formed as a list type", result=False)
    redis = redis_at(machine, server, to_come)
    asked = [str(key) for key in keys or [name]]
    there = redis.together(*(("exists", key) for key in asked))
    found = [key for key, one in zip(asked, there, strict=True) if one]
    if not found:
        return Plan(comment="Key(s) specified already absent")
    word = "Keys" if keys else "Key"
    return Plan(
        changes=(Change(key="deleted", reported=found, act=_tell(redis, "delete", *found)),),
        pending=f"{word} would be deleted",
        done=f"{word} deleted",
    )


def slaveof(
    machine: Reader,
    name: str,
    *,
    sentinel_host: str | None = None,
    sentinel_port: int | None = None,
    sentinel_password: str | None = None,
    server: RedisAddress,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The server follows the master of this name, where a Sentinel says that it is; the master itself is left alone."""
    sentinel = sentinel_at(machine, SentinelAddress(sentinel_host, sentinel_port, sentinel_password), to_come)
    wanted = sentinel.master_named(name)
    own = {address for address in machine.grains.get("ipv4", ()) if not address.startswith("127.")}
    if wanted["master_host"] in own:
        return Plan(comment=f"Minion is the master: {name}")
    redis = redis_at(machine, server, to_come)
    followed = redis.master()
    if followed == wanted:
        return Plan(comment=f"Minion already slave of master: {name}")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        redis.call("slaveof", wanted["master_host"], wanted["master_port"])
        if redis.master() != wanted:
            raise StateFailed("Failed to setup slave")

    return Plan(
        changes=(
            Change(key="old", reported=followed, act=act),
            Change(key="new", reported=wanted, act=lambda machine: None),
        ),
        pending=f"Minion will be made a slave of {name}: {wanted['master_host']}",
        done=f"Minion successfully connected to master: {name}",
    )


def _past(redis: RedisServer, name: str, expireat: int, found: str | None) -> Plan:
    """A key that was to go before now."""
    if found is None:
        return Plan(comment=f"Key has expired at {expireat}")
    return Plan(
        changes=(
            Change(key="expireat", reported=f"Key expires at {expireat}", act=_tell(redis, "expireat", name, expireat)),
        ),
        pending="Key would expire at once",
        done=f"Key has expired at {expireat}",
    )


def _tell(redis: RedisServer, method: str, *args: str | int) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        redis.call(method, *args)

    return act


STATES: Mapping[str, StateFunction] = {"absent": absent, "slaveof": slaveof, "string": string}
