"""Steps of orchestrations: where they may stand, what they take, and which functions they call. Called by `states`.

`salt.state` and its like are run by the controller (`saltern runner state.orchestrate`); a minion has none of them.
Source: salt/states/saltmod.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from highstate.compile.assemble import sls_names, sls_path
from highstate.compile.positions import SourceLocation
from highstate.lint.findings import Finding
from highstate.lint.functions import CalledKind
from highstate.lint.names import KnownStates
from highstate.types import Value
from options.near_names import did_you_mean

STEPS = "salt"
"""The state module whose functions are steps."""
FOLDERS = frozenset(("orch", "orchestrate", "orchestration"))
"""Folders whose SLS are orchestrations by their names."""

_CALLS: Mapping[str, CalledKind] = {"function": "execution", "runner": "runner", "wheel": "wheel"}
_NOBODY: tuple[Any, ...] = ("", [], {}, None)


def check_step(location: SourceLocation, function: str, run: list[Value], known: KnownStates) -> Iterator[Finding]:
    """Findings about one step; whether its SLS is an orchestration at all is decided by who has seen all top files."""
    name = f"{STEPS}.{function}"
    if name not in known.steps:
        hint = did_you_mean(name, known.steps, cutoff=0.5) or f"there are {', '.join(sorted(known.steps))}"
        yield Finding.of(location.problem(f"there is no step {name}", STEPS, hint=hint), "unknown-state")
        return
    message = f"{name} is a step of an orchestration: it fails in the highstate of a minion"
    hint = "move the SLS out of what the top file gives, and run it by `saltern runner state.orchestrate SLS`"
    yield Finding.of(location.problem(message, STEPS, hint=hint), "orchestration-step")
    given = {key: value for argument in run if isinstance(argument, dict) for key, value in argument.items()}
    if "tgt" in given and given["tgt"] in _NOBODY:
        text = f"{name} of ID {location.keys[-1]!r} names no minion"
        yield Finding.of(location.problem(text, STEPS, "tgt", hint="give `tgt` a pattern"), "no-target")
    why, meant = known.minions.why_nobody(given.get("tgt"), str(given.get("tgt_type") or "glob"))
    if why:
        text = f"{name} of ID {location.keys[-1]!r} reaches nobody: {why}"
        yield Finding.of(location.problem(text, STEPS, "tgt", hint=meant), "nobody")
    yield from _missing_sls(location, function, given)
    for kind, fun in _functions(function, given, location.keys[-1]):
        if wrong := known.functions.why_not(kind, fun):
            yield Finding.of(location.problem(wrong.message, STEPS, "name", hint=wrong.hint), "unknown-function")


def _missing_sls(location: SourceLocation, step: str, given: Mapping[Value, Value]) -> Iterator[Finding]:
    """The SLS that a `salt.state` has minions apply, and that are not in the tree."""
    files, named = location.source_file.files, given.get("sls")
    if step != "state" or files is None or not named:
        return
    saltenv = str(given.get("saltenv") or "base")
    listed = named if isinstance(named, list) else str(named).split(",")
    for sls in (each.strip() for each in listed if isinstance(each, str)):
        if sls and "*" not in sls and sls_path(files, sls, saltenv) is None:
            text = f"there is no SLS {sls!r} in saltenv {saltenv!r}, which {STEPS}.state has minions apply"
            hint = did_you_mean(sls, sls_names(files, saltenv))
            yield Finding.of(location.problem(text, STEPS, "sls", hint=hint), "missing-sls")


def _functions(step: str, given: Mapping[Value, Value], id_: Value) -> Iterable[tuple[CalledKind, str]]:
    """What a step calls."""
    if step == "parallel_runners":
        for own, config in _runners(given.get("runners")):
            yield "runner", str(config.get("name", own))
        return
    names = given.get("names")
    for name in names if isinstance(names, list) else [given.get("name", id_)]:
        if step in _CALLS and isinstance(name, str):
            yield _CALLS[step], name
    if step == "function" and isinstance(given.get("fail_function"), str):
        yield "execution", str(given["fail_function"])


def _runners(runners: Value) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """(own name, configuration) of each; what is badly formed fails when it runs, which says why."""
    for own, config in runners.items() if isinstance(runners, dict) else ():
        parts = config if isinstance(config, list) else [config]
        yield str(own), {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
