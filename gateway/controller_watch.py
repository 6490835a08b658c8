"""What the gateway's own link finds out of controllers: which one is used, and why one cannot be reached.

A cause is told once, with the file and what to check; a key that is not proved at once, all else after five seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import deque
from pathlib import Path

from gateway.controllers import ControllerPlaces
from gateway.own_key import OwnKey
from minion.agent.controllers.causes import OptionsOfPlace, cause_of
from minion.agent.controllers.connection_trouble import LOOKED_AGAIN, PROBE_SECONDS, TOLD_AFTER
from minion.agent.controllers.controller_keys import ControllerKeys
from minion.agent.controllers.links import ADMISSION_SECONDS
from minion.machine.durable_files import write_whole
from wire.address import Address
from wire.client import Connected, ConnectionEvent, DialFailed, Disconnected, HandshakeFailed
from wire.keys import fingerprint
from wire.messages import KeyState, Refused, ToMinion
from wire.probe import probe
from wire.server.admission import ANSWERS

log = logging.getLogger(__name__)

TAKEN_TIMES, TAKEN_SECONDS = 4, 60.0
"""After so many connections that ended within so many seconds, another gateway is taken to use the same key."""


class ControllerWatch:
    """Follows the own link: chooses the next controller where one fails, and tells why one cannot be reached.

    Args:
        own: the gateway's id and key.
        places: see `ControllerPlaces`.
        keys: which a controller may prove.
        file: the configuration.
        kept: a file that says which controller is used, for `saltern doctor`.
    """

    def __init__(self, own: OwnKey, places: ControllerPlaces, keys: ControllerKeys, file: Path, kept: Path) -> None:
        self._id, self._fingerprint = own.name, fingerprint(own.keys.public)
        self._places = places
        self._keys = keys
        self._file = file
        self._kept = kept
        self._used = ""
        self._failed_keys = 0
        self._handshake = ""
        self._since = time.monotonic()
        """When the connection was lost."""
        self._pause, self._look_at = TOLD_AFTER, self._since + TOLD_AFTER
        self._told: dict[str, str] = {}
        """Controller -> the cause that was told."""
        self._failed: set[str] = set()
        self._ended: deque[float] = deque(maxlen=TAKEN_TIMES)
        self._admission: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self._id_refused = self._waits_told = False
        self._leaves = False
        """Whether the link leaves a connection by itself."""
        self._note()

    def take(self, event: ToMinion | ConnectionEvent) -> None:
        """The own link has heard this."""
        match event:
            case Connected():
                self._failed_keys, self._handshake = 0, ""
                loop = asyncio.get_running_loop()
                self._admission = loop.call_later(ADMISSION_SECONDS, self._not_let_in)
            case Disconnected():
                self._lost()
            case HandshakeFailed():
                self._handshake = event.reason
            case DialFailed():
                self._not_dialled()
            case Refused(request=0):
                self._answered()
                self._refused(event.message)
            case KeyState(state="pending"):
                self._answered()
                self._waits()
            case _:
                self._answered()

    def close(self) -> None:
        """Look no more."""
        self._wait_no_more()
        if self._looking is not None:
            self._looking.cancel()
        self._places.lost()
        self._note()

    def _answered(self) -> None:
        places = self._places
        self._wait_no_more()
        if places.reached == places.current:
            return
        places.answered()
        if self._used not in ("", places.reached):
            log.warning("event=controller_changed controller=%s before=%s", places.reached, self._used)
        elif self._told or self._failed:
            seconds = time.monotonic() - self._since
            log.warning("event=controller_reached controller=%s seconds=%.0f", places.reached, seconds)
        self._used = places.reached
        self._told.clear()
        self._failed.clear()
        self._note()

    def _lost(self) -> None:
        now = time.monotonic()
        self._wait_no_more()
        if self._leaves:
            self._leaves = False
        elif self._places.reached:
            self._since, self._pause, self._look_at = now, TOLD_AFTER, now + TOLD_AFTER
            self._ended.append(now)
        else:
            self._not_dialled()  # it has let nobody in
        self._places.lost()
        self._note()
        if len(self._ended) == TAKEN_TIMES and now - self._ended[0] < TAKEN_SECONDS:
            self._ended.clear()
            log.warning(
                "event=own_connection_taken gateway=%s do=%s",
                self._id,
                "see whether another gateway has a copy of gateway.key: remove it there, so that it makes one of its "
                "own; the controller ends the older connection of a key",
            )

    def _not_dialled(self) -> None:
        """Nothing came of a dial, or of a connection."""
        self._failed_keys += 1
        if self._failed_keys < len(self._keys.known):
            return  # the link tries the other one
        self._failed_keys = 0
        address, handshake = self._places.address, self._handshake
        if (handshake and self._places.current not in self._told) or time.monotonic() >= self._look_at:
            self._look(self._places.current, address, handshake)
        self._next(handshake or "no connection came about")

    def _not_let_in(self) -> None:
        self._leaves = len(self._places.names) > 1
        self._next(f"it has not answered within {ADMISSION_SECONDS:g} s")

    def _next(self, why: str) -> None:
        """Go to the next controller, where there is one."""
        places, name = self._places, self._places.current
        if len(places.names) == 1:
            return
        places.failed()
        level = logging.DEBUG if name in self._failed else logging.WARNING
        self._failed.add(name)
        log.log(level, "event=controller_failed controller=%s cause=%s next=%s", name, why, places.current)

    def _refused(self, message: str) -> None:
        if message == ANSWERS["id-mismatch"] and not self._id_refused:
            self._id_refused = True
            log.error(
                "event=gateway_id_refused gateway=%s do=%s",
                self._id,
                f"write as `id` into {self._file} what `saltern key list -v` on the controller has for "
                f"{self._fingerprint}, or `saltern key delete` this fingerprint there",
            )

    def _waits(self) -> None:
        if not self._waits_told:
            self._waits_told = True
            log.warning(
                "event=gateway_key_waits gateway=%s do=%s",
                self._id,
                f"accept it on the controller (`saltern key accept {self._id}`); where `saltern key list -v` says that "
                f"another key has this id, it is another gateway's: write another `id` into {self._file}, "
                f"`saltern key delete {self._fingerprint}` there, and start this gateway again",
            )

    # --- causes

    def _look(self, name: str, address: Address, handshake: str) -> None:
        if self._looking is None or self._looking.done():
            self._pause = min(2 * self._pause, LOOKED_AGAIN)
            self._look_at = time.monotonic() + self._pause
            self._looking = asyncio.get_running_loop().create_task(self._find_cause(name, address, handshake))

    async def _find_cause(self, name: str, address: Address, handshake: str) -> None:
        found, error = await asyncio.to_thread(probe, address.host, address.request_port, PROBE_SECONDS)
        if self._places.reached:
            return
        options = OptionsOfPlace(host="controller", port="controller_port", of=str(self._file))
        cause, check = cause_of(found, error, handshake, address, options)
        level = logging.DEBUG if self._told.get(name) == cause else logging.WARNING
        self._told[name] = cause
        log.log(
            level, "event=controller_unreachable controller=%s cause=%s do=%s", name, cause, f"{check}; still trying"
        )

    def _wait_no_more(self) -> None:
        if self._admission is not None:
            self._admission.cancel()
            self._admission = None

    def _note(self) -> None:
        with contextlib.suppress(OSError):  # doctor says then that it is not known
            write_whole(self._kept, json.dumps({"controller": self._places.reached}).encode())
