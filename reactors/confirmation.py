"""By which rules a minion that reaches no controller takes back what nobody confirmed (`apply: confirm`).

The controller decides for minions that it reaches; the rules are told to a minion before anything is run that somebody
has to confirm. Pure.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Annotated

import msgspec

from reactors.remediation import RetryPolicy
from reactors.windows import Window


class ConfirmRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is confirmed on a minion, and when it goes back to that. Times in seconds."""

    confirmed: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    """Digest of the document."""
    waiting: Annotated[str, msgspec.Meta(max_length=256)] = ""
    """Digest of the document that waits for a confirmation, as the controller knows it; empty: it knows of none."""
    seconds: Annotated[float, msgspec.Meta(ge=0, le=31 * 86400)]
    """For people to confirm, from the end of a run."""
    run_seconds: Annotated[float, msgspec.Meta(ge=0, le=31 * 86400)]
    """After which a run that does not end counts as failed."""
    windows: Annotated[tuple[Window, ...], msgspec.Meta(max_length=1000)] = ()
    retry: RetryPolicy = RetryPolicy()
    paused: bool = False
    """Whether nothing is to be changed: the minion is paused or suspended, or held for a pull request or a rollback."""


@functools.lru_cache(maxsize=1024)
def digest_of_confirm_rules(rules: ConfirmRules | None) -> str:
    """By which both sides know which rules the minion has; empty: it has none, and never goes back by itself."""
    return "" if rules is None else hashlib.blake2b(msgspec.msgpack.encode(rules), digest_size=16).hexdigest()
