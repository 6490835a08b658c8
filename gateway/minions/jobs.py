"""Jobs on one stock minion: published, and waited for until the minion returns them or says that it has none such.

A stock minion says nothing while it works, and what it returns while nobody listens is lost. So whoever waits asks now
and then whether the job still runs (`saltutil.find_job`), as Salt's own client does; a job that a minion answers twice
not to know is lost. While the minion answers nothing it is away, and its job is waited for: it may run on.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from extmods.looking import only_looks
from gateway.minions.results import StockReturn, return_of
from gateway.protocol.packing import pack
from gateway.publications import Publications

log = logging.getLogger(__name__)

ASK_AFTER = 5.0
"""Seconds until the first question whether a job still runs; then twice as many each time."""
LONGEST_ASK = 60.0
ANSWER_SECONDS = 15.0
"""That a minion has to answer one."""
LISTEN_SECONDS = 120.0
"""That a minion has to listen for jobs, once it is known."""
DEAF = "the minion does not listen for jobs: compare its `publish_port` with the gateway's"
_JID = re.compile(r"\d{20}")
IN_SHADOW = "in shadow: the gateway publishes nothing to this minion that may change something"
LOST = "the minion neither runs this job nor has returned it: it was restarted, or could not reach the gateway"
MOST_TAKEN = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kill:
    """Somebody has a job ended.

    Args:
        fun: the function of `saltutil` that is to do it.
        ended: whether the minion has.
    """

    fun: str
    ended: asyncio.Future[bool]


class StockJobs:
    """The jobs of one minion.

    Args:
        minion_id: of it.
        publications: of all minions.
        in_shadow: whether the minion may only be looked at.
    """

    def __init__(self, minion_id: str, publications: Publications, in_shadow: Callable[[], bool]) -> None:
        self._id = minion_id
        self._publications = publications
        self._in_shadow = in_shadow
        self._open: dict[str, asyncio.Future[StockReturn]] = {}
        self._taken: dict[str, None] = {}
        """Ids of jobs that were given last: a minion runs no id twice."""
        self._kills: dict[str, _Kill] = {}
        """By the ids of open jobs."""
        self._nudges: set[asyncio.Event] = set()
        """Of those who wait: set, where they shall ask at once."""
        self.address = ""
        """From which the minion listens, as far as it has answered what was said there alone; empty: not known."""
        self.listens = asyncio.Event()
        """Whether the minion has answered a job: before, it may not have subscribed, and what is said would be lost."""

    def returned(self, load: Mapping[str, Any]) -> bool:
        """Take what came; False: nobody waits for it."""
        waiting = self._open.get(str(load.get("jid")))
        if waiting is None:
            return False
        if not waiting.done():
            waiting.set_result(return_of(load))
        return True

    def restarted(self) -> None:
        """The minion has started: what it was asked before it hardly runs on, which whoever waits finds out now."""
        for nudge in self._nudges:
            nudge.set()

    def new_jid(self, alike: Hashable = None) -> str:
        """The id of a job to come: see `Publications`."""
        return self._publications.new_jid(self._id, alike)

    def jid_of(self, *names: str) -> str:
        """The id of a job to come that is a run of the controller: the first of its names that can be one.

        So the minion's `saltutil.running`, its log and its returners call it what the controller calls it.
        """
        for name in names:
            if _JID.fullmatch(name) and name not in self._taken:
                self._taken[name] = None
                while len(self._taken) > MOST_TAKEN:
                    del self._taken[next(iter(self._taken))]
                return name
        return self.new_jid()

    async def run(
        self,
        fun: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        jid: str = "",
        asker: str = "",
    ) -> StockReturn:
        """Run a function there until it has returned or is lost. Whoever waits may stop; the job goes on.

        In shadow nothing is published that may change something, whoever asks.

        Args:
            fun: the function.
            args: its arguments.
            kwargs: its named ones.
            jid: the id of the job; empty: a new one.
            asker: the minion that has it run (`publish.publish`), which the function gets as `__pub_id`.
        """
        jid = jid or self.new_jid(alike(fun, args, kwargs or {}))
        try:
            async with asyncio.timeout(LISTEN_SECONDS):
                await self.listens.wait()
        except TimeoutError:
            return StockReturn(lost=DEAF)
        if self._in_shadow() and not only_looks(fun, kwargs or {}):
            return StockReturn(lost=IN_SHADOW, ending="refused")
        self._say(jid, fun, args, kwargs or {}, asker=asker)
        return await self.wait(jid)

    async def wait(self, jid: str) -> StockReturn:
        """Wait for a job that was published before, perhaps by an earlier gateway."""
        future = self._open.setdefault(jid, asyncio.get_running_loop().create_future())
        nudge = asyncio.Event()
        self._nudges.add(nudge)
        pause, unknown = ASK_AFTER, 0
        try:
            while True:
                nudged = asyncio.ensure_future(nudge.wait())
                await asyncio.wait((future, nudged), timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                nudged.cancel()
                if future.done():
                    return await self._unless_killed(jid, future.result())
                pause = ASK_AFTER if nudge.is_set() else min(2 * pause, LONGEST_ASK)
                nudge.clear()
                answer = await self.ask("saltutil.find_job", (jid,))
                if answer is None or future.done():
                    continue
                if not answer.value and (killed := self._killed(jid)):
                    return StockReturn(lost=killed, ending="cancelled")
                unknown = 0 if answer.value or await self._runs_states() else unknown + 1
                if unknown == 2:
                    return StockReturn(lost=LOST)
        finally:
            self._open.pop(jid, None)
            self._kills.pop(jid, None)
            self._nudges.discard(nudge)

    async def _runs_states(self) -> bool:
        """Whether states run there: others wait behind them, and nothing says that they do (minions of 3008)."""
        answer = await self.ask("saltutil.is_running", ("state.*",))
        return answer is not None and bool(answer.value)

    async def kill(self, fun: str, jid: str, arguments: Sequence[Any] = (), *, kill_jid: str = "") -> StockReturn:
        """Have the minion end a job of it by a function of `saltutil`, whose return this is.

        A job that was ended so returns nothing, or what its commands left when they were killed.
        """
        ended = asyncio.get_running_loop().create_future()
        self._kills[jid] = _Kill(fun=fun, ended=ended)
        said = StockReturn()
        try:
            said = await self.run(fun, (jid, *arguments), jid=kill_jid)
        finally:
            if not ended.done():
                ended.set_result(str(said.value).startswith("Signal "))
            self.restarted()
        return said

    async def _unless_killed(self, jid: str, found: StockReturn) -> StockReturn:
        kill = self._kills.get(jid)
        if kill is None or found.retcode == 0:
            return found
        await asyncio.wait((kill.ended,), timeout=ANSWER_SECONDS)
        killed = self._killed(jid)
        return replace(found, lost=killed, ending="cancelled") if killed else found

    def _killed(self, jid: str) -> str:
        """What ended a job, where somebody has had the minion end it."""
        kill = self._kills.get(jid)
        return f"the run was ended by {kill.fun}" if kill and kill.ended.done() and kill.ended.result() else ""

    async def ask(
        self, fun: str, args: Sequence[Any] = (), seconds: float = ANSWER_SECONDS, *, address: str | None = None
    ) -> StockReturn | None:
        """What a function that takes no time returns; None when the minion does not answer.

        Args:
            fun: the function.
            args: its arguments.
            seconds: that the minion has.
            address: to whose connections it is said; empty: to all; None: to those of this minion.
        """
        jid = self.new_jid(alike(fun, args, {}))
        future = self._open.setdefault(jid, asyncio.get_running_loop().create_future())
        self._say(jid, fun, args, {}, address)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            return None
        finally:
            self._open.pop(jid, None)

    def tell(self, fun: str, args: Sequence[Any] = ()) -> None:
        """Have a function run whose return nobody waits for."""
        self._say(self.new_jid(alike(fun, args, {})), fun, args, {})

    def _say(
        self,
        jid: str,
        fun: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        address: str | None = None,
        asker: str = "",
    ) -> None:
        named = [{"__kwarg__": True, **kwargs}] if kwargs else []
        job = {"jid": jid, "fun": fun, "arg": [*args, *named], "ret": "", "user": "saltern"}
        if asker:
            job["id"] = asker  # above what the asker itself gives as `__pub_id`: policies of authorities go by it
        self._publications.add(self._id, job, self.address if address is None else address)


def alike(fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """The same for calls of the same function with the same arguments."""
    return hashlib.sha256(pack([fun, list(args), dict(kwargs)])).digest()
