"""Limits of what stock minions, and whoever reaches the gateway's ports, may cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from options.limits import LimitCount, LimitSeconds
from wire.limits import KIB, MIB, MinionLimits, StrangerLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLimits:
    """Of one gateway."""

    stranger_bytes: LimitCount = 16 * KIB
    """Bytes of a request to be let in."""
    request_bytes: LimitCount = 32 * MIB
    """Bytes of any request: what a minion returns may be large."""
    queued_requests: LimitCount = 5_000
    """Requests that wait for their answers; those beyond are not read."""
    queued_bytes: LimitCount = 64 * MIB
    """Bytes of these; a request of more than 64 KiB beyond that is dropped, beyond half of it one of a network that has
    so many, and beyond an eighth one of a stranger there."""
    connection_requests: LimitCount = 8
    """Requests of one connection that wait for their answers; more are dropped. A salt-minion sends one at a time."""
    connection_refusals: LimitCount = 100
    """Requests of one connection that are refused; with more it is ended, unless it is a minion's that is accepted."""
    network_refusals: LimitCount = 1_000
    """Requests of strangers of one network that are refused at once, each 64 KiB of them counted as one more; with
    more, its connections are ended, but for those of accepted minions."""
    network_refusals_a_second: LimitSeconds = 50.0
    """Such requests a second, for good."""
    network_seconds: LimitSeconds = 5.0
    """Seconds for which its new connections are ended at most."""
    minion_requests: LimitCount = 100
    """Requests of one minion that wait for their answers; more are refused."""
    minion_share: LimitSeconds = 0.25
    """Seconds of computing that the requests of one minion may cost each second; with more, its answers wait."""
    minion_burst_seconds: LimitSeconds = 2.0
    """Such seconds that they may cost at once."""
    minion_authentications: LimitCount = 10
    """Times that an accepted minion may show its key at once from one network, then one a second; more are refused."""
    authentications_a_second: LimitSeconds = 100.0
    """Answers to accepted minions that show their keys, which cost some milliseconds each; those beyond wait."""
    authentication_seconds: LimitSeconds = 10.0
    """That one waits at most; then it is refused."""
    waiting_keys: LimitCount = 500
    """Keys that are not accepted and are shown to the controller; for another one, one of the network with the most of
    them goes."""
    subscribers: LimitCount = 1_000
    """Connections to the publish port, beside two of each accepted minion; above that, the newest of the address with
    the most of them is ended."""
    stranger: StrangerLimits = field(
        default_factory=lambda: StrangerLimits(
            connections=2_000, connection_bytes=4 * MIB, total_bytes=32 * MIB, burst_seconds=5.0
        )
    )
    """Of connections by which no request of an accepted minion has come, and of keys that are not accepted. The first
    message of a minion's connection may be large: what `salt-call` returns. A salt-minion that waits for its key to be
    accepted keeps its connection, and comes again ten times a second with another one where that is ended."""
    minion: MinionLimits = field(
        default_factory=lambda: MinionLimits(connection_bytes=40 * MIB, subscription_bytes=16 * KIB)
    )
    """Of a request of a minion whose key is accepted, and of its connections."""
