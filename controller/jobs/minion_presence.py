"""Which minions are there, as `saltern minions` shows them. Called by the service, in a thread: it reads all grains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.schema.minions import MinionPresence
from controller.store import Store


def presence_of(
    store: Store, minions: Sequence[str], connected: Mapping[str, tuple[str, ...]]
) -> Sequence[MinionPresence]:
    """Whether these minions are there.

    Args:
        store: has what they said of themselves.
        minions: ids, in the order of the answer.
        connected: those that are connected -> problems of their configuration.
    """
    records = {record.id: record for record in store.minions.all()}
    found = []
    for minion in minions:
        record = records.get(minion)
        grains = record.grains if record is not None else {}
        found.append(
            MinionPresence(
                minion=minion,
                connected=minion in connected,
                last_seen=record.last_seen if record is not None else None,
                os=str(grains.get("os") or ""),
                os_release=str(grains.get("osrelease") or ""),
                address=_address(grains.get("ipv4")),
                problems=connected.get(minion, ()),
            )
        )
    return found


def _address(found: Any) -> str:
    """Minions say it, so it may be anything."""
    addresses = found if isinstance(found, list | tuple) else ()
    return next((str(each) for each in addresses if not str(each).startswith("127.")), "")
