"""What a simulated minion answers: values of functions, and results of runs that look like those of a machine.

Used by `minion.swarm.member`. Pure: nothing is looked up on this machine, and nothing is done to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wire.messages import Call, Preview, Run, RunKind, RunResult

COMMENT = "simulated"
"""The comment of each state."""


def call_result(call: Call, minion_id: str, grains: Mapping[str, Any], *, fails: bool) -> RunResult:
    """The result of a call.

    Args:
        call: of a function; one that has a document of its own runs its states.
        minion_id: who answers.
        grains: of that minion.
        fails: whether it is to fail.
    """
    if call.digest:
        chunks = msgspec.msgpack.decode(call.document)["chunks"]
        value: Any = running(chunks, tuple(chunks), kind="apply", changes=not call.kwargs.get("test"), fails=fails)
        failure = ""
    else:
        value, failure = _value_of(call, minion_id, grains)
    if fails and not failure:
        value, failure = (value, "") if call.digest else (None, "simulated failure")
    failed = bool(failure) or fails
    return RunResult(
        run_id=call.run_id,
        kind="call",
        generation=0,
        digest="",
        outcome="failed" if failed else "ok",
        value=value,
        error=failure,
        retcode=int(failed),
        metadata=call.metadata,
    )


def run_result(run: Run | Preview, document: Mapping[str, Any], *, changes: bool, fails: bool) -> RunResult:
    """The result of a run of states.

    Args:
        run: what is asked.
        document: of the run.
        changes: whether the states find something to do.
        fails: whether the first of them fails.
    """
    kind: RunKind = "preview" if isinstance(run, Preview) else run.kind
    test = isinstance(run, Preview) or run.test
    chunks = document["chunks"]
    keys = tuple(chunks) if run.keys is None else tuple(key for key in chunks if key in frozenset(run.keys))
    found = changes and kind != "drift"
    return RunResult(
        run_id=run.run_id,
        kind=kind,
        generation=run.generation if isinstance(run, Run) else 0,
        digest=run.digest,
        outcome=_outcome(bool(keys) and found, test=test, fails=bool(keys) and fails),
        states=running(chunks, keys, kind=kind, changes=found, fails=fails, test=test),
        value={} if isinstance(run, Preview) and run.check else None,
    )


def running(
    chunks: Mapping[str, Mapping[str, Any]],
    keys: Sequence[str],
    *,
    kind: RunKind,
    changes: bool,
    fails: bool,
    test: bool = False,
) -> dict[str, dict[str, Any]]:
    """Salt's running dictionary of these chunks, as if they had run in no time."""
    result: bool | None = None if test and changes else True
    found: dict[str, dict[str, Any]] = {}
    for number, key in enumerate(keys):
        low = chunks[key]
        failed = fails and number == 0
        found[key] = {
            "result": False if failed else result,
            "changes": {"simulated": {"old": "", "new": kind}} if changes and not failed else {},
            "comment": COMMENT,
            "name": str(low.get("name", "")),
            "__id__": str(low.get("__id__", "")),
            "__sls__": str(low.get("__sls__", "")),
            "__run_num__": number,
            "start_time": "00:00:00.000000",
            "duration": 0.1,
        }
    return found


def _outcome(changes: bool, *, test: bool, fails: bool) -> Any:
    if fails:
        return "failed"
    return ("pending" if test else "changed") if changes else "ok"


_Function = Callable[[Call, str, Mapping[str, Any]], Any]
_FUNCTIONS: dict[str, _Function] = {
    "test.ping": lambda _call, _id, _grains: True,
    "test.true": lambda _call, _id, _grains: True,
    "test.false": lambda _call, _id, _grains: False,
    "test.echo": lambda call, _id, _grains: call.args[0] if call.args else call.kwargs.get("text", ""),
    "test.arg": lambda call, _id, _grains: {"args": list(call.args), "kwargs": call.kwargs},
    "test.sleep": lambda _call, _id, _grains: True,
    "test.get_opts": lambda _call, minion_id, _grains: {"id": minion_id},
    "grains.items": lambda _call, _id, grains: dict(grains),
    "grains.get": lambda call, _id, grains: grains.get(str(call.args[0]), "") if call.args else "",
    "grains.item": lambda call, _id, grains: {str(name): grains.get(str(name), "") for name in call.args},
    "cmd.run": lambda _call, minion_id, _grains: f"simulated on {minion_id}",
}
"""Functions that have a value of their own. All others fail as they do on a minion that lacks them."""


def _value_of(call: Call, minion_id: str, grains: Mapping[str, Any]) -> tuple[Any, str]:
    """The value and the error of a function."""
    function = _FUNCTIONS.get(call.fun)
    if function is None:
        return None, f"'{call.fun}' is not available: this minion is simulated (saltern swarm)"
    return function(call, minion_id, grains), ""
