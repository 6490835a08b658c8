"""Functions and test runs on minions, for somebody who waits: `saltern run`, `saltern sync`, live previews.

Called by the service. Results come through the message handlers, which resolves the futures kept here by run id.

`call` and `start` take any function. States that have to be compiled (`state.sls`, `state.apply SLS`, `state.highstate`
with `pillar=` or `saltenv=`, `state.show_*`) are compiled here and sent with the call (`state_calls`), so that this is
all of it:

    question = CallQuestion(target=target, fun="state.sls", args=("web",), kwargs={"pillar": {...}, "test": True})
    async for returned in jobs.call(minions, question, user=user, cause=event): ...   # CallReturn

A `CallReturn` has Salt's running dictionary as its value; where the states do not compile, a list of errors and
`ok=False`. ServiceError before anything is asked: arguments that cannot be taken or are over a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, overload

import msgspec.structs

from controller.jobs.job_outcomes import UNREACHABLE
from controller.jobs.job_returners import ReturnerRequests
from controller.jobs.opened_jobs import OpenedJobs
from controller.jobs.state_arguments import changes_states
from controller.jobs.state_calls import StateCalls
from controller.observe.metrics import Metrics
from controller.observe.run_text import progress_text, requested
from controller.reconcile.jids import Jids
from controller.reconcile.reconciler import SHADOW, Reconciler
from controller.schema.errors import ServiceError
from controller.schema.minions import stock_agent
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallProgress, CallReturn
from controller.sessions.sessions import Sessions
from controller.store import RunRecord, Store
from extmods.looking import only_looks
from reactors.bus import Bus
from wire.messages import RETURNERS_OF_CALL, Call, RunProgress, RunResult, ToMinion
from wire.server.server import Server

MOST_NEWS = 1000
"""How far runs are that nobody has read yet; more are not kept, since newer ones come."""

Asked: TypeAlias = "tuple[str, asyncio.Future[RunResult] | None]"
_News: TypeAlias = "asyncio.Queue[tuple[str, RunProgress] | asyncio.Future[RunResult]]"

REACTOR = "Reactor"
"""The user of what reactors ask for."""
SCHEDULED = "schedule "
"""How the user begins of what the controller's schedule asks for."""
DEADLINE = 3600.0
"""Seconds after which a call is no longer waited for."""


@dataclass(slots=True, kw_only=True)
class Jobs:
    """Sends messages that ask for a result, and waits."""

    store: Store
    sessions: Sessions
    server: Server
    ids: Jids
    metrics: Metrics
    clock: Callable[[], float]
    reconciler: Reconciler
    bus: Bus
    waiters: dict[str, asyncio.Future[RunResult]]
    watchers: dict[str, Callable[[RunProgress], None]]
    state_calls: StateCalls
    returners: ReturnerRequests
    opened: OpenedJobs

    async def call(
        self, minions: Sequence[str], question: CallQuestion, *, user: str = "", cause: int = 0, asker: str = ""
    ) -> AsyncIterator[CallReturn | CallProgress]:
        """One return a minion, as they come, and with `progress` how far they are.

        `question.timeout`: seconds to wait, 0 for `DEADLINE`. `cause`: id of the event that it follows from. `asker`:
        the minion that has them called.
        """
        await self.returners.look(question.ret)
        asked = self.start(minions, question, user=user, cause=cause, asker=asker)
        async for item in self.returns(asked, question):
            yield item

    async def returns(
        self, asked: Mapping[str, Asked], question: CallQuestion
    ) -> AsyncIterator[CallReturn | CallProgress]:
        """What comes of the calls that `start` began, as `call` gives it."""
        async for minion, run_id, news in self.gather(asked, question.timeout or DEADLINE, progress=question.progress):
            if isinstance(news, RunProgress):
                yield progress_view(minion, news)
            else:
                yield returned(minion, run_id, news, question.timeout)

    def start(
        self,
        minions: Sequence[str],
        question: CallQuestion,
        *,
        user: str = "",
        cause: int = 0,
        job: str = "",
        asker: str = "",
    ) -> dict[str, Asked]:
        """Have minions call a function; for `gather`, or `forget` when nobody waits. ServiceError for bad arguments.

        Args:
            minions: that are asked; each is connected or not.
            question: what they are asked.
            user: who asks.
            cause: id of the event that the job follows from; of one that `opened` knows, that of its beginning.
            job: its id, where `opened` knows it already; empty: it begins here, with the id of its first run.
            asker: the minion that has it called; empty: it is none.
        """
        asked: dict[str, Asked] = {}
        question = with_jids_as_text(question)
        returners, of_tree = self.returners.read_for_minions(question.ret, question.ret_config, question.ret_kwargs)
        if of_tree:
            self._check_take_returners(minions)
        compiled = self.state_calls.parse(question.fun, question.args, question.kwargs)
        if not minions:
            return {}
        first = self.ids.next()
        text = self.opened.arguments(minions, question)
        of_all = replace(
            self._run_of(first, question.fun, text, user),
            job=job or first,
            returners=returners,
            revision=self.state_calls.compiler.revision if compiled else "",
        )
        runs: list[RunRecord] = []
        away: list[RunRecord] = []
        with self.store.transaction():  # one for all minions; nobody is asked for what is not on disk
            if not job:
                cause = self.opened.open(first, minions, question, user, cause)
            for place, minion in enumerate(minions):
                run = replace(of_all, minion=minion, run_id=self.ids.next() if place else first)
                shown_here = compiled is not None and compiled.question.shows
                there = shown_here or self.sessions.session(minion) is not None
                asked[minion] = run.run_id, self._wait_for(run) if there else None
                (runs if there else away).append(run)
            made = self.store.call_runs.create([*runs, *map(_unreached, away)])
        self.store.call_runs.remember(made)
        refused = self._refused(runs, question, user)
        for run in runs:
            self.reconciler.causes.follow_run(run.run_id, cause)
            if why := refused.get(run.run_id):
                self.state_calls.refuse(run, why)
        runs = [run for run in runs if run.run_id not in refused]
        if compiled is None:
            self._send(runs, question, asker)
        else:
            self.state_calls.begin(runs, compiled, question)
        return asked

    def _run_of(self, run_id: str, fun: str, text: str, user: str) -> RunRecord:
        """The record of a call on any minion."""
        return RunRecord(
            run_id=run_id,
            minion="",
            kind="call",
            created=self.clock(),
            reason=requested(f"run {fun} {text}".rstrip(), user),
            user=user,
            fun=fun,
            args=text,
        )

    def _refused(self, runs: Sequence[RunRecord], question: CallQuestion, user: str) -> dict[str, str]:
        """Run -> why it is not begun: of states, only those of a person pass a window that says so; what may change
        something is called on no minion in shadow."""
        if not changes_states(question.fun, question.kwargs):
            looks = only_looks(question.fun, question.kwargs)
            shadowed = frozenset[str]() if looks else self.reconciler.shadowed({run.minion for run in runs})
            why = f"{SHADOW}: {question.fun} may change something, and was not called"
            return {run.run_id: why for run in runs if run.minion in shadowed}
        manual = not (user == REACTOR or user.startswith(SCHEDULED))
        found = {run.run_id: self.reconciler.forbidden(run.minion, manual=manual) for run in runs}
        return {run_id: f"{why}: nothing was run" for run_id, why in found.items() if why}

    def forget(self, asked: Mapping[str, Asked]) -> None:
        """Nobody waits for what `start` gave."""
        for run_id, _ in asked.values():
            self.waiters.pop(run_id, None)

    def ask(self, run: RunRecord, message: ToMinion) -> tuple[str, asyncio.Future[RunResult] | None]:
        """Record a run and send its message; (run id, future), the future None when the minion is not connected."""
        if self.sessions.session(run.minion) is None:
            return "", None
        future = self._record(run)
        self._send_one(run, message)
        return run.run_id, future

    def _send_one(self, run: RunRecord, message: ToMinion) -> None:
        if (session := self.sessions.session(run.minion)) is not None:
            self.metrics.sent(type(message).__name__)
            self.server.send(session.key, message)

    def _send(self, runs: Sequence[RunRecord], question: CallQuestion, asker: str) -> None:
        """Send the calls of one job, of which nothing has to be compiled."""
        sessions = [(self.sessions.session(run.minion), run) for run in runs]
        messages = [(one.key, self._message(run, question, asker)) for one, run in sessions if one is not None]
        self.metrics.sent(Call.__name__, len(messages))
        self.server.send_all(messages)

    def _record(self, run: RunRecord) -> asyncio.Future[RunResult]:
        """Record a run; what its result will be."""
        self.store.runs.create(run)
        return self._wait_for(run)

    def _wait_for(self, run: RunRecord) -> asyncio.Future[RunResult]:
        future: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        self.waiters[run.run_id] = future
        return future

    def send_again(self, run: RunRecord, question: CallQuestion) -> bool:
        """Send the call of a run that another controller has begun; False when its minion is not connected.

        A minion that has the run goes on with it, or sends its result again.
        """
        session = self.sessions.session(run.minion)
        if session is None:
            return False
        compiled = self.state_calls.parse(question.fun, question.args, question.kwargs)
        if compiled is not None:
            if run.state == "requested":
                self.state_calls.begin([run], compiled, question)
            return True
        message = self._message(run, question)
        self.metrics.sent(type(message).__name__)
        self.server.send(session.key, message)
        return True

    def _message(self, run: RunRecord, question: CallQuestion, asker: str = "") -> Call:
        """The call of a run of which nothing has to be compiled."""
        of_tree = self.returners.on_minions(question.ret)
        return Call(
            run_id=run.run_id,
            fun=question.fun,
            args=question.args,
            kwargs=question.kwargs,
            job=run.job,
            timeout=question.limit,
            returners=of_tree,
            return_config=question.ret_config if of_tree else "",
            return_kwargs=question.ret_kwargs if of_tree else {},
            metadata=question.metadata,
            asker=asker,
        )

    def _check_take_returners(self, minions: Sequence[str]) -> None:
        """ServiceError when the agent of a minion has no returners of the tree: it would return nothing.

        It is too old, or that of a stock minion, which gets no modules of the tree from here.
        """
        sessions = {minion: self.sessions.session(minion) for minion in minions}
        old = [minion for minion, one in sessions.items() if one is not None and RETURNERS_OF_CALL not in one.takes]
        stock = [minion for minion in old if (one := sessions[minion]) is not None and stock_agent(one.agent)]
        if stock:
            text = f"{len(stock)} minions, {stock[0]} the first, are stock minions, which have no returners of the tree"
            raise ServiceError("bad-request", text, hint="name a returner of the controller, or others as the target")
        if old:
            text = f"agents of {len(old)} minions, {old[0]} the first, are too old for returners of the tree"
            raise ServiceError("bad-request", text, hint="upgrade them, or name a returner of the controller")

    def wait(self, run_id: str) -> asyncio.Future[RunResult]:
        """The result of a run that somebody else started."""
        return self.waiters.setdefault(run_id, asyncio.get_running_loop().create_future())

    @overload
    def gather(
        self, asked: Mapping[str, Asked], timeout: float, *, progress: Literal[False] = False
    ) -> AsyncIterator[tuple[str, str, RunResult | None]]: ...

    @overload
    def gather(
        self, asked: Mapping[str, Asked], timeout: float, *, progress: bool
    ) -> AsyncIterator[tuple[str, str, RunResult | RunProgress | None]]: ...

    async def gather(
        self, asked: Mapping[str, Asked], timeout: float, *, progress: bool = False
    ) -> AsyncIterator[tuple[str, str, RunResult | RunProgress | None]]:
        """(minion, run id, result) as results come; None for who is not connected or does not answer in time.

        With `progress`, how far each run is comes between.
        """
        waiting: dict[asyncio.Future[RunResult], tuple[str, str]] = {}
        for minion, (run_id, future) in asked.items():
            if future is None:
                yield minion, "", None
            else:
                waiting[future] = (minion, run_id)
        news: _News = asyncio.Queue()
        with self._watching({run_id: minion for minion, run_id in waiting.values()} if progress else {}, news):
            async for item in self._as_they_come(waiting, news, timeout):
                yield item

    async def _as_they_come(
        self, waiting: dict[asyncio.Future[RunResult], tuple[str, str]], news: _News, timeout: float
    ) -> AsyncIterator[tuple[str, str, RunResult | RunProgress | None]]:
        deadline = asyncio.get_running_loop().time() + timeout
        for future in waiting:
            future.add_done_callback(news.put_nowait)
        try:
            await asyncio.sleep(0)  # those that are done already say so
            while waiting:
                try:
                    said = await _next(news, deadline)
                except TimeoutError:
                    break
                if isinstance(said, asyncio.Future):
                    minion, run_id = waiting.pop(said)
                    yield minion, run_id, said.result()
                else:
                    yield said[0], said[1].run_id, said[1]
            for minion, run_id in waiting.values():
                yield minion, run_id, None
        finally:
            for future, (_, run_id) in waiting.items():
                future.remove_done_callback(news.put_nowait)
                self.waiters.pop(run_id, None)

    @contextlib.contextmanager
    def _watching(self, minions: Mapping[str, str], news: _News) -> Iterator[None]:
        """Progress of these runs (run id -> minion) as it is reported; the last caller for a run gets it."""

        def watcher(minion: str) -> Callable[[RunProgress], None]:
            def queue_progress(said: RunProgress) -> None:
                if news.qsize() < MOST_NEWS:
                    news.put_nowait((minion, said))

            return queue_progress

        own = {run_id: watcher(minion) for run_id, minion in minions.items()}
        self.watchers.update(own)
        try:
            yield
        finally:
            for run_id, one in own.items():
                if self.watchers.get(run_id) is one:
                    del self.watchers[run_id]


def _unreached(run: RunRecord) -> RunRecord:
    """The run of a minion that is not connected."""
    return replace(run, state="finished", outcome=UNREACHABLE, finished=run.created, returners="")


async def _next(news: _News, deadline: float) -> tuple[str, RunProgress] | asyncio.Future[RunResult]:
    """What came next; TimeoutError after the deadline, a time of the loop. A timer only where nothing waits."""
    if not news.empty():
        return news.get_nowait()
    async with asyncio.timeout_at(deadline):
        return await news.get()


def with_jids_as_text(question: CallQuestion) -> CallQuestion:
    """The question with ids of jobs among its arguments as text: as numbers of YAML they have more than 64 bits.

    Source: salt.utils.args.condition_input.
    """
    if not any(map(_is_jid, (*question.args, *question.kwargs.values()))):
        return question
    args = tuple(str(each) if _is_jid(each) else each for each in question.args)
    kwargs = {name: str(each) if _is_jid(each) else each for name, each in question.kwargs.items()}
    return msgspec.structs.replace(question, args=args, kwargs=kwargs)


def _is_jid(value: object) -> bool:
    return isinstance(value, int) and 10**19 <= value < 10**20


def progress_view(minion: str, said: RunProgress) -> CallProgress:
    """How far a run is, as it is shown."""
    return CallProgress(
        minion=minion,
        run_id=said.run_id,
        done=said.done,
        total=said.total,
        text=progress_text(said),
        seconds=said.seconds,
    )


def returned(minion: str, run_id: str, result: RunResult | None, timeout: float) -> CallReturn:
    """What a minion returned, as it is shown; None: nothing within so many seconds."""
    if result is None:
        late = f"Minion did not return within {timeout or DEADLINE:g} s. "
        late += f"The job goes on; its result: saltern history {run_id}"
        why = late if run_id else "Minion did not return. [Not connected]"
        return CallReturn(minion=minion, ok=False, run_id=run_id, answered=False, retcode=1, error=why)
    return CallReturn(
        minion=minion,
        ok=result.outcome in ("ok", "changed", "pending"),
        run_id=run_id,
        value=result.value if result.value is not None or not result.states else result.states,
        error=result.error,
        retcode=result.retcode or int(result.outcome not in ("ok", "changed", "pending")),
        seconds=result.seconds,
        ending=result.ending,
    )
