"""What a child that delivers to a returner tells the agent.

Apart from the delivery, which an idle agent has not loaded.
"""

from __future__ import annotations

import msgspec

SECONDS = 60
"""That one delivery may take, in whatever library it hangs."""


class DeliveryEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a child came."""

    wait: float = -1.0
    """Seconds until the next attempt; negative: nothing waits."""
    waiting: tuple[str, ...] = ()
    """Where no returner was named: those for which something waits."""
    failures: int = 0
    """One after the other, until now."""
    dropped: int = 0
    """Entries that were dropped since the spool was made."""
    error: str = ""


END: msgspec.json.Decoder[DeliveryEnd] = msgspec.json.Decoder(DeliveryEnd)
