"""Keeps what was decided: who asked for what, when, whether it was allowed, and why. Called by `access`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from controller.access.attempts import CountedTries
from controller.access.decision import Decision
from controller.access.principals import Principal
from controller.access.rates import network_of
from controller.config.limits import AccessLimits
from controller.store import Store
from controller.store.access.audit import AuditRecord
from options.limits import CountRefusal

_MOST_DETAIL = 2000
"""Characters of what was asked that are kept."""
_LONGEST_TEXT = 400
"""Characters of one text in it."""


@dataclass(slots=True, kw_only=True)
class Audit:
    """The audit log of a controller.

    Args:
        store: where it is kept.
        clock: seconds since the epoch.
        limits: how much is kept.
        redact: takes secrets out of what was asked: a function's arguments may hold them.
        on_refusal: counts refusals that are not kept, as there are too many of them.
    """

    store: Store
    clock: Callable[[], float]
    limits: AccessLimits
    redact: Callable[[str], str]
    on_refusal: CountRefusal
    _refused: CountedTries = field(init=False)
    """By user, or network of somebody who is not known."""

    def __post_init__(self) -> None:
        self._refused = CountedTries(self.limits.refusals_per_minute, self.clock)

    def keep(self, principal: Principal, action: str, detail: Mapping[str, Any], decision: Decision) -> None:
        """Add a decision. Raises StoreError: what cannot be kept is not done."""
        now = self.clock()
        who = principal.name or network_of(principal.address)
        if not decision.allowed and self._refused.is_one_too_many(who):  # the next one is counted alone
            self.on_refusal("refusals-per-minute")
            return
        text = msgspec.json.encode(_without_long_texts(detail), enc_hook=str).decode(errors="replace")
        text = self.redact(text[: 2 * _MOST_DETAIL])  # a secret that is cut here is not kept
        record = AuditRecord(
            time=now,
            user=principal.name,
            method=principal.method,
            token=principal.token,
            action=action,
            detail=text if len(text) <= _MOST_DETAIL else text[:_MOST_DETAIL] + "…",
            allowed=decision.allowed,
            why=decision.why,
            address=principal.address,
            request=principal.request,
        )
        self.store.audit_log.add(record, self.limits.audit_rows)


def _without_long_texts(value: Any) -> Any:
    """What was asked, with the length of each long text in its place: what cannot be kept whole is not cut."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"<{len(value)} characters>"
    if isinstance(value, Mapping):
        return {_without_long_texts(key): _without_long_texts(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_long_texts(inner) for inner in value]
    return value
