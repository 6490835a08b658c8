"""What a stock minion returned, as results of this house.

A stock minion's `success` and `retcode` are not to be trusted: an error of the compile is a list of texts with a good
code, and a `state.low` that did well has code 2. What counts is the shape of the value. A function that raised, or that
is not there, has a text as its value and `nested` as its outputter (`_thread_return` in `salt/minion.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from minion.execution.success import failure_of, has_changed
from wire.messages import Call, Ending, Preview, Run, RunResult

_LISTENER = "listener_"
_MISSING_LISTENER = "Listen_Error_|-"
_OTHERS_RUN = re.compile(r'The function "state\.\w+" is running as PID ')


@dataclass(frozen=True, slots=True, kw_only=True)
class StockReturn:
    """What `_return` brought of a job."""

    value: Any = None
    retcode: int = 0
    success: bool = True
    raised: bool = False
    """Whether the value says why the function did not run to its end."""
    lost: str = ""
    """Why nothing was returned, or nothing that counts; empty: something was."""
    ending: Ending = ""
    """What ended it, where it was not the function itself."""


def return_of(load: Mapping[str, Any]) -> StockReturn:
    """The return of a load."""
    retcode = load.get("retcode")
    return StockReturn(
        value=load.get("return"),
        retcode=retcode if isinstance(retcode, int) and -(2**31) <= retcode < 2**31 else 0,
        success=load.get("success") is not False,
        raised=load.get("success") is False and load.get("out") == "nested" and isinstance(load.get("return"), str),
    )


def call_result(call: Call, found: StockReturn, started: float, seconds: float) -> RunResult:
    """The result of a function, or of states that were compiled for a call."""
    if call.digest and not found.lost and not is_running(found.value):
        refused = _others_run(found.value)
        found = replace(found, lost=error_of(found.value), ending="refused" if refused else "compile error")
    elif found.raised and not found.lost:
        found = replace(found, lost=str(found.value))
    if found.lost:
        failure = found.lost
    else:
        failure = failure_of(found.value, found.retcode if not is_running(found.value) else 0)
    return RunResult(
        run_id=call.run_id,
        kind="call",
        generation=0,
        digest="",
        outcome="error" if found.lost else "failed" if failure else "changed" if has_changed(found.value) else "ok",
        value=None if found.raised else found.value,
        error=failure,
        started=started,
        seconds=seconds,
        retcode=found.retcode if found.retcode and failure else int(bool(failure)),
        metadata=call.metadata,
        schedule=call.schedule,
        ending=found.ending,
    )


def outcome_of_call(found: StockReturn) -> Literal["ok", "changed", "failed"]:
    """How a function ended that nobody here has asked for: states are judged by their results, all else by its code."""
    if is_running(found.value) and found.value:
        if _failed(found.value):
            return "failed"
        return "changed" if any(state.get("changes") for state in found.value.values()) else "ok"
    return "ok" if found.success and found.retcode == 0 else "failed"


def run_result(run: Run | Preview, keys: Collection[str], found: StockReturn, started: float, now: float) -> RunResult:
    """The result of states of a document.

    Args:
        run: what was asked.
        keys: of the states that were run.
        found: see `StockReturn`.
        started: seconds since the epoch.
        now: the same.
    """
    test = isinstance(run, Preview) or run.test
    error = found.lost
    states: dict[str, dict[str, Any]] = {}
    if not error and keys:
        if is_running(found.value):
            states = _by_key(found.value, keys)
        else:
            error = error_of(found.value)
    return RunResult(
        run_id=run.run_id,
        kind="preview" if isinstance(run, Preview) else run.kind,
        generation=0 if isinstance(run, Preview) else run.generation,
        digest=run.digest,
        outcome="error" if error else _outcome(states, test=test),
        states=states,
        value={} if isinstance(run, Preview) and run.check and not error else None,
        error=error,
        started=started,
        seconds=max(0.0, now - started),
        ending=found.ending or ("compile error" if error and not found.lost else ""),
    )


def _others_run(value: Any) -> bool:
    """Whether a minion refused states, because it runs others that nobody here asked for."""
    return isinstance(value, list) and any(_OTHERS_RUN.match(str(line)) for line in value)


def is_running(value: Any) -> bool:
    """Whether a value is what states gave: a mapping of states with a result each. None of them: an empty one."""
    return isinstance(value, dict) and all(
        isinstance(state, dict) and "result" in state and "_|-" in str(key) for key, state in value.items()
    )


def error_of(value: Any) -> str:
    """What a return says that is no result of states."""
    lines = value if isinstance(value, list) else [value]
    return "\n".join(str(line) for line in lines)[:16_384] or "the minion returned nothing"


def _by_key(value: Mapping[str, Any], keys: Collection[str]) -> dict[str, dict[str, Any]]:
    """States by the keys of the document; handlers of `listen`, and a `listen` that names no state, have none there."""
    found = {key: value[tag] for key in keys if (tag := key.partition("#")[0]) in value}
    found.update({key: state for key, state in value.items() if _of_listen(key)})
    return {key: _plain(state) for key, state in found.items()}


def _of_listen(key: str) -> bool:
    return key.startswith(_MISSING_LISTENER) or key.partition("_|-")[2].startswith(_LISTENER)


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    changes = state.get("changes")
    return {**state, "changes": changes if isinstance(changes, dict) else {"changes": changes} if changes else {}}


def _failed(states: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(state.get("result") is False for state in states.values())


def _outcome(
    states: Mapping[str, Mapping[str, Any]], *, test: bool
) -> Literal["ok", "changed", "pending", "failed", "error"]:
    if _failed(states):
        return "failed"
    if test:
        return "pending" if any(state.get("result") is None for state in states.values()) else "ok"
    return "changed" if any(state.get("changes") for state in states.values()) else "ok"
