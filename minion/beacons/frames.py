"""What the agent and the process of the beacons say to each other."""

from __future__ import annotations

import msgspec

from minion.beacons.configured import BeaconSources


class ToHost(msgspec.Struct, frozen=True, array_like=True):
    """A frame of the agent."""

    sources: BeaconSources | None = None
    """What is configured from now on."""
    running: bool | None = None
    """Whether states run."""
    changed: tuple[str, ...] = ()
    """Paths that the run changed which has just ended."""
    watched: str | None = None
    """Digest of the document in force, whose files and services are watched from now on; empty: of none."""


class ToAgent(msgspec.Struct, frozen=True, array_like=True):
    """A frame to the agent."""

    problems: tuple[str, ...] | None = None
    """What is wrong with beacons, from now on."""
    heal_of: str = ""
    """sls, state or highstate: what is to be run now."""
    heal_keys: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    """Keys of states whose files or services somebody has changed."""
    touched_of: str = ""
    """Digest of the document that has them."""


TO_HOST = msgspec.msgpack.Decoder(ToHost)
TO_AGENT = msgspec.msgpack.Decoder(ToAgent)
"""Made once, and before the process is forked: making one takes memory that both would have."""
