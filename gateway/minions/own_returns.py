"""Returns of a stock minion that nobody here asked for: jobs of its own schedule, and what `salt-call` was told to do.

Salt's master makes a job of each; here it is a run that the minion has begun by itself, as a job of the schedule of an
agent is. What a job says with `return_job: False` stays on the minion; one with `nocache` is not to be kept by a
master, and is not told either.

Source: `handle_func` in `salt/utils/schedule.py`, `call` in `salt/cli/caller.py`, `store_job` in `salt/utils/job.py`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.minions.results import is_running, outcome_of_call, return_of
from minion.call.arguments import parse_mixed
from wire.messages import RunResult

_NO_JOB = "req"
"""What stands in place of a job id, where the minion has none."""
_NOT_KEPT = "nocache"
_JID = re.compile(r"\d{20}")
_OF_SALT = "__"
"""How the names of jobs begin that Salt's minions give themselves: `__mine_interval`, `__master_alive_...`."""
_LONGEST_NAME = 256


_MOST_QUEUED = 20
"""Runs of states of which is remembered that they wait behind others."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """What a minion has begun by itself."""

    fun: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    schedule: str
    metadata: dict[str, Any]


class OwnReturns:
    """What of the returns of one minion is a run that it has begun by itself.

    With `queue: True` minions of 3008 say at once that states wait behind others, and return them later as a job of
    their own, which names no schedule.

    Args:
        minion_id: of it.
    """

    def __init__(self, minion_id: str) -> None:
        self._id = minion_id
        self._queued: deque[_Begun] = deque(maxlen=_MOST_QUEUED)

    def result(self, load: Mapping[str, Any], now: float, told_as: str = "") -> RunResult | None:
        """The run that a return tells of; None where it is of none that the minion has begun by itself.

        Args:
            load: of `_return`, with the nonce of the request: one that comes again, since its answer was lost, has the
                same.
            now: seconds since the epoch.
            told_as: the run as whose events its states have told what they did; empty: none has.
        """
        jid, begun = str(load.get("jid")), _begun(load)
        if jid == _NOT_KEPT or (begun is not None and begun.schedule.startswith(_OF_SALT)):
            return None
        if begun is None:
            begun = self._from_queue(jid, str(load.get("fun")))
        elif _waits(load.get("return")):
            self._queued.append(begun)
            return None
        if begun is None:
            return None
        found = return_of(load)
        seconds = _seconds(found.value)
        name = jid if _JID.fullmatch(jid) else str(load.get("nonce"))
        return RunResult(
            run_id=told_as or f"{'scheduled' if begun.schedule else 'called'}-{self._id}-{name}",
            kind="call",
            generation=0,
            digest="",
            outcome=outcome_of_call(found),
            value=found.value,
            retcode=found.retcode,
            started=max(0.0, now - seconds),
            seconds=seconds,
            schedule=begun.schedule,
            metadata=begun.metadata,
            fun=begun.fun,
            args=begun.args,
            kwargs=begun.kwargs,
        )

    def _from_queue(self, jid: str, fun: str) -> _Begun | None:
        found = next((each for each in self._queued if each.fun == fun), None) if _JID.fullmatch(jid) else None
        if found is not None:
            self._queued.remove(found)
        return found


def _begun(load: Mapping[str, Any]) -> _Begun | None:
    """What a return says of itself; None: it is one that somebody asked for."""
    job, metadata = load.get("schedule"), load.get("metadata")
    schedule = job[:_LONGEST_NAME] if isinstance(job, str) else ""
    if not schedule and load.get("jid") != _NO_JOB:
        return None
    args, kwargs = _arguments(load.get("fun_args"), scheduled=bool(schedule))
    return _Begun(
        fun=str(load.get("fun", ""))[:_LONGEST_NAME],
        args=args,
        kwargs=kwargs,
        schedule=schedule,
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _waits(value: Any) -> bool:
    """Whether a value says that states wait behind others."""
    return isinstance(value, dict) and value.get("queued") is True and value.get("__no_return__") is True


def _arguments(given: Any, *, scheduled: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a return: those of `salt-call` as they were typed, those of a job with its named ones behind."""
    args: Sequence[Any] = given if isinstance(given, list) else ()
    if scheduled and args and isinstance(args[-1], dict):
        return tuple(args[:-1]), {str(name): value for name, value in args[-1].items() if name != "__kwarg__"}
    values, named = parse_mixed(args)
    return tuple(values), named


def _seconds(value: Any) -> float:
    """How long states took: Salt says it of each; of a function it says nothing."""
    if not is_running(value):
        return 0.0
    found = [state.get("duration") for state in value.values()]
    return sum(each for each in found if isinstance(each, int | float) and 0 <= each < 1e9) / 1000
