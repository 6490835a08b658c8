"""Enrolment tokens: who brings one gets its key accepted, so many times, until it expires, for ids that fit.

A token has 256 random bits; the store keeps its SHA-256. Wrong ones are bounded for each address, and each costs the
asker a place in the list of pending keys, so that guessing is visible and slow.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from controller.store.access.enrolment_tokens import EnrolmentToken, EnrolmentTokens
from matching.linear_regex import PatternRefused
from matching.matcher import person_matcher
from options.limits import CountRefusal, uncounted
from wire.limits import StrangerLimits, nobody

PREFIX = "enrol-"
_REMEMBERED = 10_000
"""Addresses whose wrong tokens are counted."""


class BadEnrolmentToken(Exception):
    """A token is not to be had; the text says why."""


@dataclass(slots=True, kw_only=True)
class _Wrong:
    left: float
    at: float


@dataclass(slots=True, kw_only=True)
class EnrolmentDesk:
    """Gives tokens and takes them.

    Args:
        store: keeps their digests.
        limits: of strangers.
        clock: seconds since the epoch.
        on_refusal: see `options.limits.CountRefusal`.
        is_controller: whether an address is that of another controller, through which many minions come: of its wrong
            tokens none is counted.
    """

    store: EnrolmentTokens
    limits: StrangerLimits
    clock: Callable[[], float]
    on_refusal: CountRefusal = uncounted
    is_controller: Callable[[str], bool] = nobody
    _wrong: OrderedDict[str, _Wrong] = field(default_factory=OrderedDict)

    def give(self, minions: str, count: int, seconds: float, user: str) -> tuple[str, EnrolmentToken]:
        """A new token, and what is kept of it.

        Args:
            minions: glob of the ids that it is for.
            count: how many keys it accepts.
            seconds: until it expires.
            user: who asks.

        Raises:
            BadEnrolmentToken: count or time are not positive, or the glob is too long.
        """
        now = self.clock()
        if count < 1 or not 0 < seconds <= 10 * 366 * 86400:
            raise BadEnrolmentToken("a token is for one key at least, and for some time up to ten years")
        try:
            person_matcher().glob(minions, "x")
        except PatternRefused as error:
            raise BadEnrolmentToken(str(error)) from None
        token = PREFIX + secrets.token_hex(32)
        record = EnrolmentToken(
            id=secrets.token_hex(4),
            digest=_digest(token),
            minions=minions,
            uses_left=count,
            created=now,
            expires=now + seconds,
            created_by=user,
        )
        self.store.add(record, now)
        return token, record

    def all(self) -> list[EnrolmentToken]:
        """Those that are good, oldest first."""
        return self.store.all(self.clock())

    def revoke(self, ids: Sequence[str]) -> list[str]:
        """Forget tokens; the ids of those that were there."""
        return self.store.revoke(ids)

    def take(self, token: str, minion_id: str, address: str, now: float) -> str:
        """Use a token once for an id; what it is called, empty when it is not good.

        Called in the transaction that accepts the key: both are kept, or neither.
        """
        counted = not self.is_controller(address)
        if counted and not self._may_try(address, now):
            self.on_refusal("wrong-tokens")
            return ""
        found = self.store.by_digest(_digest(token), now)
        if found is not None and person_matcher().glob(found.minions, minion_id) and self.store.use(found.id, now):
            return found.id
        if counted:
            self._wrong[address].left -= 1
        return ""

    def _may_try(self, address: str, now: float) -> bool:
        most, rate = self.limits.wrong_tokens, self.limits.wrong_tokens_a_second
        known = self._wrong.pop(address, None)
        left = float(most) if known is None else min(most, known.left + (now - known.at) * rate)
        self._wrong[address] = _Wrong(left=left, at=now)
        if len(self._wrong) > _REMEMBERED:
            self._wrong.popitem(last=False)
        return left >= 1


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
