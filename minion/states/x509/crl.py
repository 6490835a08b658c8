"""x509.crl_managed: a list of revoked certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader, Value
from minion.providers.x509.certificates import now_utc
from minion.providers.x509.lists import WantedList, differences, list_made, next_number, wanted_list
from minion.providers.x509.loading import Malformed, load_list
from minion.providers.x509.requests import encode_plain
from minion.states.x509.documents import Looked

_LONG, _SHORT = 30, 3
"""Days before its end that a list is renewed: Salt's default, and that of Salt 3009 for those of fewer days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedList:
    """What the state asks for."""

    given: Mapping[str, Value]
    """Arguments of x509.create_crl."""
    encoding: str
    days_remaining: float | None

    def renewal(self, wanted: WantedList) -> float:
        """How many days before its end a list is renewed; StateFailed where a new one would be at once."""
        days = self.days_remaining
        if days is None:
            days = _LONG if wanted.days_valid > _LONG else _SHORT
        if wanted.days_valid <= days:
            raise StateFailed(
                f"a new list would be valid for {wanted.days_valid:g} days, and would be renewed at once: "
                f"days_remaining is {days:g}; it has to be less"
            )
        return days


def look(machine: Reader, listing: IssuedList, path: str, name: str) -> Looked:
    """What is to be another in the list that is there."""
    now = now_utc()
    wanted = wanted_list(machine, listing.given, now)
    days = listing.renewal(wanted)
    try:
        current, form = load_list(machine, path)
    except Malformed:
        return Looked(changes={"replaced": name}, known=False)
    changes: dict[str, Value] = {"encoding": listing.encoding} if form != listing.encoding else {}
    return Looked(changes={**changes, **differences(current, wanted, now, days)})


def make(machine: Machine, listing: IssuedList, path: str, looked: Looked) -> bytes:
    """The content of the file."""
    current = load_list(machine, path)[0] if looked.known else None
    if current is not None and set(looked.changes) == {"encoding"}:
        return encode_plain(current, listing.encoding)
    now = now_utc()
    wanted = wanted_list(machine, listing.given, now)
    listing.renewal(wanted)
    return encode_plain(list_made(wanted, now, next_number(current) if wanted.counts else None), listing.encoding)
