"""Which minions are there, as `saltern minions` shows them. Called by the service, in a thread: it reads all grains."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.schema.minions import MinionPresence
from controller.store import Store


@dataclass(frozen=True, slots=True)
class ConnectedMinion:
    """What a connection says of a minion."""

    problems: tuple[str, ...]
    """Of its configuration."""
    relay: str
    """By which it is connected; empty: by none."""
    agent: str
    """What is connected."""


def presence_of(
    store: Store, minions: Sequence[str], connected: Mapping[str, ConnectedMinion], shadowed: Collection[str] = ()
) -> Sequence[MinionPresence]:
    """Whether these minions are there.

    Args:
        store: has what they said of themselves.
        minions: ids, in the order of the answer.
        connected: those that are connected, by id.
        shadowed: those in shadow.
    """
    records = {record.id: record for record in store.minions.all()}
    found = []
    for minion in minions:
        record = records.get(minion)
        grains = record.grains if record is not None else {}
        there = connected.get(minion)
        found.append(
            MinionPresence(
                minion=minion,
                connected=there is not None,
                last_seen=record.last_seen if record is not None else None,
                os=str(grains.get("os") or ""),
                os_release=str(grains.get("osrelease") or ""),
                address=_address(grains.get("ipv4")),
                problems=there.problems if there is not None else (),
                relay=there.relay if there is not None else "",
                agent=there.agent if there is not None else record.agent if record is not None else "",
                shadow=minion in shadowed,
            )
        )
    return found


def _address(found: Any) -> str:
    """Minions say it, so it may be anything."""
    addresses = found if isinstance(found, list | tuple) else ()
    return next((str(each) for each in addresses if not str(each).startswith("127.")), "")
