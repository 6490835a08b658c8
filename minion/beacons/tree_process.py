"""A beacon of the tree in a process of its own, which is ended when a look takes too long, and begun again.

The contract is Salt's: `validate(config)`, `beacon(config)`, `close(config)`; the configuration is a list, with the
name of the beacon at its end.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from minion.beacons.beacon import BeaconFailed, Found, described
from minion.beacons.configured import COMMON, ConfiguredBeacon
from minion.processes import AgentGone, AgentPipe, Child, fork

SECONDS = 30.0
"""That a look may take."""

AGAIN = 60.0
"""Seconds until a process is begun again that failed."""

MOST_FOUND = 10_000
"""Events of one look; more are an error."""


class TreeProcess:
    """See `minion.beacons.active.Looker`."""

    def __init__(
        self,
        beacon: ConfiguredBeacon,
        functions: Callable[[str], Mapping[str, Callable[..., Any]]],
        *,
        interval: float,
        first: float,
    ) -> None:
        self._beacon = beacon
        self._functions = functions
        self._interval = interval
        self._next = first
        self._deadline = math.inf
        self._child: Child | None = None

    def readers(self, now: float) -> Sequence[int]:
        """See `Looker`."""
        return () if self._child is None else (self._child.fd,)

    def due_at(self, now: float) -> float:
        """See `Looker`."""
        return self._next if self._deadline == math.inf else self._deadline

    def due(self, now: float) -> Found | None:
        """See `Looker`."""
        if self._deadline != math.inf:
            self._end()
            self._next = now + AGAIN
            raise BeaconFailed(f"a look took more than {SECONDS:g} s; its process was ended")
        if self._child is None:
            self._child = fork(self._serve, umask=0o022)
        self._deadline = now + SECONDS
        self._next = now + self._interval
        if not self._child.send(b"look"):
            self._end()
            raise BeaconFailed("its process has ended")
        return None

    def woken(self, now: float) -> Found | None:
        """See `Looker`."""
        if self._child is None:
            return None
        frames, ended = self._child.receive()
        if frames:
            self._deadline = math.inf
            if ended:
                self._end()
                self._next = now + AGAIN
            found, error = msgspec.msgpack.decode(frames[-1])
            if error:
                raise BeaconFailed(error)
            return [dict(one) for one in found]
        if ended:
            code = self._end()
            self._next = now + AGAIN
            raise BeaconFailed(f"its process has ended with exit code {code}")
        return None

    def close(self) -> None:
        """See `Looker`."""
        self._end()

    def _end(self) -> int:
        self._deadline = math.inf
        if self._child is None:
            return 0
        child, self._child = self._child, None
        child.kill()
        return child.reap()

    def _serve(self, pipe: AgentPipe) -> None:
        try:
            functions = self._loaded()
        except Exception as error:
            while True:  # until the configuration or the module is another
                pipe.receive()
                pipe.send(_answer((), described(error)))
        config = [*({key: value} for item in self._beacon.given for key, value in item.items() if key not in COMMON)]
        config.append({"_beacon_name": self._beacon.name})
        try:
            while True:
                pipe.receive()
                pipe.send(_look(functions, config))
        except AgentGone:
            if "close" in functions:
                functions["close"](config)
            raise

    def _loaded(self) -> Mapping[str, Callable[..., Any]]:
        """The functions of the module, once it has said that the configuration is valid."""
        functions = self._functions(self._beacon.module)
        if "beacon" not in functions:
            raise BeaconFailed(f"the module {self._beacon.module} has no function beacon")
        validate = functions.get("validate")
        if validate is not None:
            answer = validate(copy.deepcopy([dict(item) for item in self._beacon.given]))
            valid, why = answer if isinstance(answer, tuple) else (answer, "")
            if not valid:
                raise BeaconFailed(f"its validate refuses the configuration: {why}")
        return functions


def _look(functions: Mapping[str, Callable[..., Any]], config: Sequence[Any]) -> bytes:
    try:
        found = list(functions["beacon"](copy.deepcopy(config)) or ())
        if len(found) > MOST_FOUND:
            return _answer((), f"a look gave {len(found)} events, and {MOST_FOUND} is the most")
        if not all(isinstance(one, Mapping) for one in found):
            return _answer((), "beacon must return a list of mappings")
        return _answer(found, "")
    except Exception as error:
        return _answer((), described(error))


def _answer(found: Sequence[Any], error: str) -> bytes:
    return msgspec.msgpack.encode((found, error), enc_hook=str)
