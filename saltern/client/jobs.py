"""A job of minions, for `LocalClient`: the request that begins it, and its returns as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import msgspec.structs

from controller.schema.minions import StatusView
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallReturn, CallStarted, missing_return, salt_return, unknown_returns
from controller.schema.targets import TargetExpression, TargetKind
from extmods.salt_compat.exceptions import SaltClientError, SaltInvocationError
from minion.call.arguments import parse_mixed
from saltern.client.connection import CREDENTIALS, Connection, NoMinions, explained
from saltern.client.stream_reader import Ended, StreamReader

MOST_WAITING = 1000
"""Returns that wait to be read; the controller keeps the others."""
_ASKED_AT_ONCE = 200
"""Ids of one question: an address has at most 64 KiB, and an id 253 characters."""
_IGNORED = (
    *("gather_job_timeout", "listen", "show_timeout", "show_jid", "verbose", "progress"),
    *("delimiter", "io_loop", "raw", "user", "key", "client", "jid_include", "asynchronous", "full_return"),
)

_OF_BATCHES: Mapping[str, Callable[[Any], Any]] = {"batch": str, "batch_wait": float, "failhard": bool}
"""What has the controller begin a job on so many minions at a time, without a client that waits."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is asked of whom. None: nobody, as an empty list of minions says."""

    question: CallQuestion | None

    @staticmethod
    def of(
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any],
        tgt_type: str,
        ret: str,
        kwarg: Mapping[str, Any],
        more: Mapping[str, Any],
    ) -> JobRequest:
        """The request that Salt's arguments mean; SaltInvocationError for what is not known."""
        known = {name: more[name] for name in ("ret_config", "ret_kwargs", "metadata") if name in more}
        known |= {name: kind(more[name]) for name, kind in _OF_BATCHES.items() if more.get(name)}
        if unknown := sorted(set(more) - set(known) - set(_OF_BATCHES) - set(_IGNORED) - set(CREDENTIALS)):
            raise SaltInvocationError(f"there is no argument {unknown[0]}; arguments of the function stand in kwarg")
        if not isinstance(fun, str):
            raise SaltInvocationError("a job that is not waited for calls one function")
        target = target_of(tgt, tgt_type)
        if target is None:
            return JobRequest(None)
        values, named = parse_mixed(list(arg) if isinstance(arg, list | tuple) else [arg])
        returners = (
            tuple(name.strip() for name in ret.split(",") if name.strip()) if isinstance(ret, str) else tuple(ret)
        )
        question = CallQuestion(
            target=target, fun=fun, args=tuple(values), kwargs={**named, **kwarg}, timeout=0.0, ret=returners, **known
        )
        return JobRequest(question)


def target_of(tgt: str | Sequence[str], tgt_type: str) -> TargetExpression | None:
    """Salt's target as the API has it; None for an empty list. SaltInvocationError for a kind that is not there."""
    if tgt_type not in get_args(TargetKind):
        raise SaltInvocationError(
            f"there is no kind of target {tgt_type!r}; there are {', '.join(get_args(TargetKind))}"
        )
    kind: Any = tgt_type
    if isinstance(tgt, str):
        return TargetExpression(kind=kind, expression=tgt)
    return TargetExpression(kind="list", expression=",".join(tgt)) if tgt else None


class Job:
    """One job.

    Args:
        connection: to the controller.
        request: what is asked of whom.
        timeout: seconds of silence after which minions that are not connected are given up.
    """

    def __init__(self, connection: Connection, request: JobRequest, timeout: float) -> None:
        self.jid = ""
        self.minions: tuple[str, ...] = ()
        self._connection = connection
        self._question = request.question
        self._timeout = timeout
        self._reader: StreamReader | None = None
        self._unknown: Sequence[CallReturn] = ()

    def begin(self) -> dict[str, Any]:
        """Begin it and wait for nothing: `{"jid", "minions"}`, or nothing when nobody is meant."""
        if self._question is None:
            return {}
        question = msgspec.structs.replace(self._question, wait=False)
        try:
            for item in self._connection.stream("/call", question):
                if isinstance(item, CallStarted):
                    return {"jid": item.jid, "minions": list(item.minions)}
        except NoMinions:
            return {}
        raise SaltClientError("the controller did not begin the job")

    def follow(self) -> Job:
        """Begin it; its id and minions are known then. They are empty when nobody is meant."""
        if self._question is None:
            return self
        try:
            self._reader = StreamReader(self._connection, "/call", MOST_WAITING, self._question)
        except NoMinions:
            return self
        first = self._reader.next(_NO_END)
        if not isinstance(first, CallStarted):
            raise SaltClientError("the controller did not begin the job")
        self.jid, self.minions = first.jid, first.minions
        self._unknown = unknown_returns(first)
        return self

    def returns(self) -> Iterator[dict[str, Any]]:
        """`{minion: {"ret", "retcode", "jid"}}` as they come; who gives nothing has a text, and `out: no_return`."""
        return (one for one in self.returns_or_none(min(1.0, self._timeout)) if one is not None)

    def returns_or_none(self, turn: float = 0.01) -> Iterator[dict[str, Any] | None]:
        """The same, with None between where nothing came for `turn` seconds; Salt's are 10 ms."""
        if self._reader is None:
            return
        yield from (self._returned(each) for each in self._unknown)
        waiting = dict.fromkeys(self.minions)
        silent_since = time.monotonic()
        try:
            while waiting:
                item = self._reader.next(turn)
                if isinstance(item, CallReturn):
                    waiting.pop(item.minion, None)
                    silent_since = time.monotonic()
                    yield self._returned(item)
                    continue
                if time.monotonic() - silent_since > self._timeout:
                    for minion in self._gone(tuple(waiting)):
                        del waiting[minion]
                        yield self._missing(minion, "Minion did not return. [Not connected]")
                    silent_since = time.monotonic()
                yield None
        except Ended:
            for minion in waiting:
                yield self._missing(minion, "Minion did not return. [No response]")
        finally:
            self._reader.end()

    def _returned(self, item: CallReturn) -> dict[str, Any]:
        return {item.minion: salt_return(item, self.jid)}

    def _missing(self, minion: str, why: str) -> dict[str, Any]:
        return {minion: missing_return(why, self.jid)}

    def _gone(self, minions: Sequence[str]) -> tuple[str, ...]:
        """Those of them that are not connected now."""
        connected: set[str] = set()
        with explained(), self._connection.open() as client:
            for start in range(0, len(minions), _ASKED_AT_ONCE):
                part = ",".join(minions[start : start + _ASKED_AT_ONCE])
                view = client.get("/status", StatusView, expression=part, kind="list")
                connected.update(one.minion for one in view.minions if one.connected)
        return tuple(minion for minion in minions if minion not in connected)


class FunctionJobs:
    """Several functions on the same minions, one after the other, told as one: values are mappings by function.

    Args:
        functions: their names.
        jobs: one for each.
    """

    def __init__(self, functions: Sequence[str], jobs: Sequence[Job]) -> None:
        self._functions = functions
        self._first, *self._others = jobs
        self._first.follow()
        self.jid, self.minions = self._first.jid, self._first.minions

    def returns(self) -> Iterator[dict[str, Any]]:
        """As those of a job, with `ret` and `retcode` by function."""
        whole: dict[str, dict[str, Any]] = {}
        for function, job in zip(self._functions, (self._first, *self._others), strict=True):
            if job is not self._first:
                job.follow()
            for one in job.returns():
                for minion, data in one.items():
                    told = whole.setdefault(minion, {"ret": {}, "retcode": {}, "jid": self.jid})
                    told["ret"][function], told["retcode"][function] = data["ret"], data["retcode"]
        yield from ({minion: told} for minion, told in whole.items())

    def returns_or_none(self) -> Iterator[dict[str, Any] | None]:
        """The same."""
        yield from self.returns()


_NO_END = 86_400.0
"""Seconds to wait for the first item: the controller says at once that a job has begun."""


def is_missing(one: Mapping[str, Any]) -> bool:
    """Whether a minion gave nothing back."""
    return any(data.get("out") == "no_return" for data in one.values())
