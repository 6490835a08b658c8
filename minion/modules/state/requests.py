"""state.request and state.disable: runs that wait for a person's word, and SLS that may not run.

Requests are kept in the cache, what is disabled in the static grain `state_runs_disabled`, as Salt has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.commands import Words
from minion.arguments.types import CommaList
from minion.execution.context import Context
from minion.execution.json_store import keep, read_kept
from minion.execution.loader import Modules
from minion.modules.grains import write

FILE = "requests.json"
_GRAIN = "state_runs_disabled"


def request(
    context: Context, /, mods: str | Words | None = None, name: str = "default", **options: Any
) -> dict[str, Any]:
    """Do a test run, and keep the request until somebody runs it; the test run."""
    options = {key: value for key, value in options.items() if key != "test"}
    tried = _apply(context, mods, {**options, "test": True})
    keep(
        context,
        FILE,
        {**read_kept(context, FILE), name: {"test_run": tried, "mods": mods, "kwargs": {**options, "test": True}}},
    )
    return tried


def check_request(context: Context, name: str | None = None) -> dict[str, Any]:
    """The requests that wait, or the one of this name."""
    kept = read_kept(context, FILE)
    return dict(kept.get(name, {})) if name else kept


def run_request(context: Context, /, name: str = "default", **options: Any) -> dict[str, Any]:
    """Run a request, and forget it; empty when there is none."""
    kept = read_kept(context, FILE)
    if name not in kept:
        return {}
    found = kept.pop(name)
    given = {key: value for key, value in {**found["kwargs"], **options}.items() if key != "test"}
    ran = _apply(context, found["mods"], given)
    keep(context, FILE, kept)
    return ran


def clear_request(context: Context, name: str | None = None) -> bool:
    """Forget all requests, or the one of this name."""
    kept = read_kept(context, FILE)
    if name and name not in kept:
        return False
    keep(context, FILE, {key: value for key, value in kept.items() if name and key != name})
    return True


def list_disabled(context: Context) -> Any:
    """What may not run: `highstate`, names of SLS, patterns of names. Empty text when nothing was ever disabled."""
    return context.grains.get(_GRAIN, "")


def disable(context: Context, states: CommaList) -> dict[str, Any]:
    """Do not let these run: names with commas; `highstate` for the highstate."""
    return _switch(context, states, disabled=True)


def enable(context: Context, states: CommaList) -> dict[str, Any]:
    """Let these run again."""
    return _switch(context, states, disabled=False)


def _switch(context: Context, states: tuple[str, ...], *, disabled: bool) -> dict[str, Any]:
    now, said = list(list_disabled(context) or ()), []
    for name in states:
        word = "disabled" if disabled else "enabled"
        if (name in now) is disabled:
            said.append(f"Info: {name} state already {word}.")
            continue
        said.append(f"Info: {name} state {word}.")
        now = [*now, name] if disabled else [one for one in now if one != name]
    write(context, {_GRAIN: now}, gone=[])
    return {"res": True, "msg": "\n".join(said)}


def _apply(context: Context, mods: str | list[str] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    ran: dict[str, Any] = Modules(context).call("state.apply", (mods,), options)
    return ran


FUNCTIONS: Mapping[str, Any] = {
    "check_request": check_request,
    "clear_request": clear_request,
    "disable": disable,
    "enable": enable,
    "list_disabled": list_disabled,
    "request": request,
    "run_request": run_request,
}
