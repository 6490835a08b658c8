"""Limits of what whoever reaches the ports, and what a minion with an accepted key, may cost.

One object of each goes to `wire.server.server` and to the decoder of messages. What is refused is reported to
`on_refusal`, with the name of the limit as messages have it: `connection-bytes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from options.limits import CountRefusal, LimitCount, LimitSeconds, uncounted

KIB = 1024
MIB = 1024 * KIB


def nobody(_: str) -> bool:
    """No address is that of another controller."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangerLimits:
    """Whoever reaches the ports, until a message of an accepted key has come by the connection."""

    connections: LimitCount = 1000
    """Connections at the same time, beside as many as there are accepted keys without one; above that, the oldest of
    the address with the most of them is ended, or its newest while none is 15 s old."""
    connection_bytes: LimitCount = 16 * KIB
    """Bytes that a connection has received and that are no complete message yet; with more it is ended."""
    total_bytes: LimitCount = 1 * MIB
    """Such bytes of all connections together, beyond 1 KiB of each; above that, those that hold most are ended."""
    request_seconds: LimitSeconds = 0.5
    """Seconds between two key requests of a connection; one that comes sooner is not answered."""
    address_requests_a_second: LimitCount = 20
    """Key requests of an IPv4 address or IPv6 /64 network a second; more are not answered."""
    requests_a_second: LimitCount = 100
    """Key requests of all keys that are not accepted, a second; more are not answered."""
    burst_seconds: LimitSeconds = 10.0
    """Seconds' worth of key requests that may come at once."""
    address_pending_keys: LimitCount = 2000
    """Keys of one address or /64 network that wait for acceptance."""
    pending_keys: LimitCount = 20_000
    """Keys that wait for acceptance; then the newest of the address with the most of them makes room."""
    wrong_tokens: LimitCount = 10
    """Enrolment tokens of one address or /64 network that are not good, at once; with more, none of it is looked at."""
    wrong_tokens_a_second: LimitSeconds = 0.02
    """Such tokens a second, for good."""
    logged_refusals: LimitCount = 20
    """Refused handshakes and messages of one reason that stand in the log in a minute; more are counted alone."""


KEY_REQUEST_LIMITS = (
    "request-seconds",
    "address-requests-a-second",
    "requests-a-second",
    "address-pending-keys",
    "pending-keys",
    "wrong-tokens",
)
"""Limits of strangers by which a key request is refused, as they are reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionLimits:
    """A minion whose key is accepted."""

    connection_bytes: LimitCount = 20 * MIB
    """Bytes that a connection has received and that are no complete message yet, or wait to be read; with more it is
    ended."""
    depth: LimitCount = 64
    """Mappings and lists inside each other in grains, results, events, mine and answers."""
    values: LimitCount = 300_000
    """Values in one message: texts, numbers, mappings and lists."""
    events: LimitCount = 10_000
    """Events of a minion at once, each KiB of those that its runs send counted as one; more are not passed on, and
    more about a minion are not kept."""
    events_a_second: LimitSeconds = 2.0
    """Such events of a minion a second, for good."""
    result_message_bytes: LimitCount = 4 * MIB
    """Bytes of the message with the result of a run; of a larger one, only its refusal is kept. Minions cut results to
    the default."""
    result_bytes: LimitCount = 256 * MIB
    """Bytes of the results of a minion that are kept, compressed; of older runs only the summary is."""
    unread_bytes: LimitCount = 16 * MIB
    """Bytes of messages that wait for a minion to read them, beside the largest that it was sent; with more it is
    disconnected."""
    total_unread_bytes: LimitCount = 64 * MIB
    """Bytes that wait for all minions to read them, but for those that have read nothing for 5 s; with more, whole
    documents and answers about files wait until there are less."""
    answered_bytes: LimitCount = 1 * MIB
    """Bytes that wait for a minion to read them; with more, its questions about files wait until there are less."""
    handling_share: LimitSeconds = 0.1
    """Seconds of computing that the messages of a minion may cost each second, beyond the first 10 ms of each turn of
    the event loop; with more, its messages wait until it is within this again."""
    handling_burst_seconds: LimitSeconds = 0.3
    """Such seconds that they may cost at once."""
    queued_messages: LimitCount = 256
    """Messages of a minion that were read and are not handled; with more, the ports are not read until they are. A
    minion over `handling_share` is disconnected instead."""
    queued_bytes: LimitCount = 64 * MIB
    """Bytes of memory that the messages of all minions may take that were read and are not handled; with more, minions
    over `handling_share` are disconnected, then those that hold more than half of this with several messages, and then
    the ports are not read until the rest are handled."""
    refused_seconds: LimitSeconds = 5.0
    """Seconds until a minion may connect again that was disconnected for `handling_share`, `queued_messages`,
    `queued_bytes` or `connection_bytes`."""
    file_questions: LimitCount = 256
    """Questions of a minion about files that wait for an answer; more are not answered."""
    mine_changes: LimitCount = 30
    """Changes of a minion's mine at once; of values that come sooner, the newest count later."""
    mine_changes_a_second: LimitSeconds = 0.2
    """Such changes a second, for good."""
    mine_steps: LimitCount = 5_000_000
    """Steps of comparing in one question to the mine, each up to about 10 ns."""
    state_questions: LimitCount = 30
    """Questions of a minion at once for states that are compiled for it (`saltern call state.apply SLS`)."""
    state_questions_a_second: LimitSeconds = 0.2
    """Such questions a second, for good; more are refused. One is answered at a time."""
    pushed_bytes: LimitCount = 1024 * MIB
    """Bytes of the files of a minion that are kept with `file_recv`; more are refused."""
    pushed_files: LimitCount = 10_000
    """Files and folders among them."""
    pushed_free_bytes: LimitCount = 512 * MIB
    """Bytes of the disk that they leave free."""
    peer_calls: LimitCount = 30
    """Calls of functions on others and of runners that a minion may ask for at once, where `peer` allows them."""
    peer_calls_a_second: LimitSeconds = 0.2
    """Such calls a second, for good; more are refused. Two go on at a time."""
    peer_seconds: LimitSeconds = 50.0
    """Seconds that a minion waits for the returns of such a call at most."""
    peer_bytes: LimitCount = 4 * MIB
    """Bytes of the returns of such a call; of more, the minion gets an error."""
    subscription_bytes: LimitCount = 256 * KIB
    """`connection_bytes` of a connection to the publish port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayLimits:
    """A relay whose key is accepted, and at the relay what minions send through it. All that comes by a connection of
    a relay counts for the limits of a minion, too."""

    channels: LimitCount = 20_000
    """Minions that are connected by one relay."""
    unproved_channels: LimitCount = 1000
    """Sessions of one relay that were opened and by which nothing came yet; above that, the oldest is ended."""
    openings_a_second: LimitCount = 500
    """Sessions that one relay opens a second, each about 0.4 ms of computing; more are refused, and the minions try
    again. As many may be opened at once."""
    unread_bytes: LimitCount = 8 * MIB
    """Bytes of frames that a relay has not taken yet; more wait at the controller."""
    stranger_frames: LimitCount = 20
    """At the relay: frames at once of a minion whose key the controller has not accepted; with more its connection is
    ended."""
    stranger_frames_a_second: LimitSeconds = 2.0
    """Such frames a second, for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    """All borders of the ports, and who hears what is refused there."""

    stranger: StrangerLimits = field(default_factory=StrangerLimits)
    minion: MinionLimits = field(default_factory=MinionLimits)
    relay: RelayLimits = field(default_factory=RelayLimits)
    stranger_refused: CountRefusal = uncounted
    minion_refused: CountRefusal = uncounted
    relay_refused: CountRefusal = uncounted
    is_controller: Callable[[str], bool] = nobody
    """Whether an IP address is that of another controller, through which many minions come: limits of one address do
    not hold for it."""
