"""Whether a stock minion is there: by what it says, by its connection, and by a ping where these leave it open.

A stock minion says nothing while there is nothing to do. Its connection to the port of jobs tells when it goes; of a
connection no more is known than the address it comes from, which minions may share, so those of that address are asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from gateway.minions.jobs import StockJobs
from gateway.minions.link import StockLink

log = logging.getLogger(__name__)

PING_AFTER = 60.0
"""Seconds without a word of a minion until it is asked whether it is there."""
PING_SECONDS = 10.0
"""That it has to answer."""
FIRST_PING_SECONDS = 3.0
"""That it has to answer what is said to its own address, where it may have gone."""
BACK_SECONDS = 3.0
"""That a minion without a connection has to come back: more than a network that is away for a moment."""
ELSEWHERE_SECONDS = 10.0
"""That a minion which is let in has to connect from where it asks from, until it is looked for everywhere."""
EVERYWHERE_PAUSE = 1.0
"""Between two pings that are said to everybody at the least: each of them is decrypted by all minions."""
LOOK_PAUSE = 5.0
"""Between two looks at a minion that listens."""
DOUBT_PAUSE = 1.0
"""Between two pings at the least, however often connections of its address come and go."""
LONGEST_PAUSE = 60.0
"""Between two pings of a minion that answers none."""


class StockPresence:
    """The presence of one minion.

    Args:
        minion_id: of it.
        jobs: of it.
        link: tells the controller.
        listens_at: whether anybody is connected to the port of jobs from an address.
        answered: is told of each ping that is answered.
    """

    def __init__(
        self,
        minion_id: str,
        jobs: StockJobs,
        link: StockLink,
        listens_at: Callable[[str], bool],
        answered: Callable[[], None],
    ) -> None:
        self._id = minion_id
        self._jobs = jobs
        self._link = link
        self._listens_at = listens_at
        self._answered = answered
        self._heard = -float("inf")
        self.address = ""
        """From which it has asked last."""
        self._everywhere_from = time.monotonic() + ELSEWHERE_SECONDS
        """When it may be looked for at all connections."""
        self._doubted = False
        self._woken = asyncio.Event()

    @property
    def is_there(self) -> bool:
        """Whether it has said anything of late, and has not gone since."""
        return time.monotonic() - self._heard < 2 * PING_AFTER

    def heard(self, address: str) -> bool:
        """It has said something; whether it was there before."""
        was_there, self._heard, self.address = self.is_there, time.monotonic(), address
        return was_there

    def let_in(self, address: str) -> None:
        """It is let in, perhaps as a new process: jobs wait until it has answered one.

        Args:
            address: from which it has shown its key; it is about to connect from there.
        """
        self._jobs.listens.clear()
        self._jobs.address = ""
        self.address = address
        self._everywhere_from = time.monotonic() + ELSEWHERE_SECONDS
        self._woken.set()

    def gone(self) -> None:
        """It is not there, until it says something."""
        self._heard = -float("inf")
        self._jobs.listens.clear()

    @property
    def expected_at(self) -> str:
        """The address of the connection by which it listens, or is about to; empty: any one may be its own."""
        if self._jobs.address or self._jobs.listens.is_set():
            return self._jobs.address
        return self.address if self._listens_at(self.address) else ""

    def connection_changed(self, came: bool) -> None:
        """A connection of its address, or of one that may be its own, has come or ended."""
        if came and self.is_there and self._jobs.listens.is_set():
            return
        self._doubted = self._doubted or not came
        self._woken.set()

    async def watch(self) -> None:
        """Ask it where that is open, and have the controller told when it has gone. Until cancelled."""
        pause = LOOK_PAUSE
        while True:
            self._woken.clear()
            doubted, self._doubted = self._doubted and self.is_there, False
            if self._link.key_state == "accepted" and (doubted or self._silent or not self._jobs.listens.is_set()):
                await self._find_out(doubted)
            if self._link.online and not self.is_there:
                log.info("event=minion_left minion=%s", self._id)
                self._jobs.listens.clear()  # where its silence was too long
                self._link.leave()
            pause = LOOK_PAUSE if self.is_there else min(2 * pause, LONGEST_PAUSE)
            listening = self._jobs.listens.is_set() or self._link.key_state != "accepted"
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause if listening or not self.is_there else DOUBT_PAUSE):
                    await self._woken.wait()

    @property
    def _silent(self) -> bool:
        return time.monotonic() - self._heard > PING_AFTER

    async def _find_out(self, doubted: bool) -> None:
        if doubted and self._jobs.address and not self._listens_at(self._jobs.address):
            await asyncio.sleep(BACK_SECONDS)
            if self._jobs.address and not self._listens_at(self._jobs.address):
                self.gone()
                return
        heard = self._heard
        place = await self._found(FIRST_PING_SECONDS if doubted else PING_SECONDS)
        if place is not None:
            log.debug("event=minion_listens minion=%s address=%s", self._id, place)
            self._jobs.address = place
            self._jobs.listens.set()
            self._answered()
        elif doubted and heard == self._heard and not self._woken.is_set():
            self.gone()
        await asyncio.sleep(DOUBT_PAUSE if doubted else 0)

    async def _found(self, seconds: float) -> str | None:
        """Where it answers: at its address, or (empty) what is said to everybody; None: nowhere, or others come."""
        address = await self._place()
        answered = await self._ping(address, seconds if address else PING_SECONDS)
        if not answered and address and not self._woken.is_set():
            address, answered = "", await self._ping("", PING_SECONDS)
        if answered and not address and self._listens_at(self.address):
            # Its answer has told where it is, or came late.
            return self.address if await self._ping(self.address, PING_SECONDS) else ""
        return address if answered else None

    async def _place(self) -> str:
        """The address that it asks from, once there is a connection from it; empty: it is looked for everywhere."""
        while not self._listens_at(self.address):
            wait = self._everywhere_from - time.monotonic()
            if wait <= 0:
                return ""
            self._woken.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._woken.wait()
            if not self._doubted:  # the connection that came is what was waited for
                self._woken.clear()
        return self.address

    async def _ping(self, address: str, seconds: float) -> bool:
        """Whether it answers; a connection that comes meanwhile ends the wait."""
        if not address:
            self._everywhere_from = time.monotonic() + EVERYWHERE_PAUSE
        asked = asyncio.ensure_future(self._jobs.ask("test.ping", seconds=seconds, address=address))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait((asked, woken), return_when=asyncio.FIRST_COMPLETED)
            return asked.done() and asked.result() is not None
        finally:
            asked.cancel()
            woken.cancel()
