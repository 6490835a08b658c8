"""The state module `memcached`: keys of a memcached server.

Behaviour: doc/ref/states/all/salt.states.memcached. As in Salt, values are in the changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import AnyValue, Ignored, ToCome, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.stores.memcached import Memcached, MemcachedAddress, kept

_AT_ONCE = Ignored("memcached has no deletion that waits")


def managed(
    machine: Reader,
    name: str,
    *,
    value: AnyValue = None,
    server: MemcachedAddress,
    time: int = 0,
    min_compress_len: int = 0,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The key has this value, text or a number.

    `time`: seconds after which it goes, from when it is written; 0: never. `min_compress_len`: texts of more bytes are
    compressed.
    """
    memcached = Memcached(server, to_come, min_compress_len)
    wanted, found = kept(value), memcached.call("get", name)
    if found == wanted:
        return Plan(comment=f"Key '{name}' does not need to be updated")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        if not memcached.call("set", name, wanted, expire=time):
            raise StateFailed(f"Failed to set key '{name}'")

    key, old = ("key added", name) if found is None else ("old", found)
    return Plan(
        changes=(
            Change(key=key, reported=old, act=act),
            Change(key="value" if found is None else "new", reported=wanted, act=_with_the_other),
        ),
        pending=f"Key '{name}' would be added" if found is None else f"Value of key '{name}' would be changed",
        done=f"Successfully set key '{name}'",
    )


def absent(
    machine: Reader,
    name: str,
    *,
    value: AnyValue = None,
    server: MemcachedAddress,
    time: Annotated[Value, _AT_ONCE] = 0,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is no such key; with `value`: none that has this value."""
    memcached = Memcached(server, to_come)
    found = memcached.call("get", name)
    if found is None:
        return Plan(comment=f"Key '{name}' does not exist")
    if value is not None and found != kept(value):
        return Plan(comment=f"Value of key '{name}' ('{found}') is not '{value}'")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        if not memcached.call("delete", name):
            raise StateFailed(f"Failed to delete key '{name}'")

    return Plan(
        changes=(
            Change(key="key deleted", reported=name, act=act),
            Change(key="value", reported=found, act=_with_the_other),
        ),
        pending=f"Key '{name}' would be deleted",
        done=f"Successfully deleted key '{name}'",
    )


def _with_the_other(machine: Machine) -> None:
    """The act is that of the change before."""


STATES: Mapping[str, StateFunction] = {"absent": absent, "managed": managed}
