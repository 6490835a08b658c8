"""State functions and their arguments, as a rendered SLS declares them. Called by `trees`; changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from highstate.compile.high import High
from highstate.compile.positions import SourceLocation
from highstate.lint.findings import Finding
from highstate.lint.names import FOR_ALL, KnownStates, Signature
from highstate.lint.orchestrations import STEPS, check_step
from highstate.types import Value
from options.near_names import did_you_mean


def check_states(high: High, known: KnownStates) -> Iterator[Finding]:
    """Findings about all declarations of high data that is not reconciled yet."""
    for id_, state, run in high.declarations():
        location = high.location(id_)
        functions = [argument for argument in run if isinstance(argument, str)]
        if len(functions) == 1 and " " not in functions[0]:
            yield from _check_function(location, state, functions[0], run, known)


def _check_function(
    location: SourceLocation, state: str, function: str, run: list[Value], known: KnownStates
) -> Iterator[Finding]:
    name = f"{state}.{function}"
    ours, salts = known.ours.get(name), known.salts.get(name)
    if state in known.own_modules:
        return
    if state == STEPS and known.steps:
        yield from check_step(location, function, run, known)
        if name in known.steps:
            yield from _check_arguments(location, state, name, run, known.steps[name], salts)
        return
    if ours is None:
        yield _unknown_function(location, state, function, known)
        if salts is None:
            return
    yield from _check_arguments(location, state, name, run, ours, salts)


def _unknown_function(location: SourceLocation, state: str, function: str, known: KnownStates) -> Finding:
    name = f"{state}.{function}"
    if name in known.salts or (state not in known.modules and state in known.salt_modules):
        message = f"{name} is a state of Salt's that Saltern does not have"
        return Finding.of(location.problem(message, state, hint="it fails on the minion"), "missing-state")
    message = f"there is no state {name}" if state in known.modules else f"there is no state module {state!r}"
    return Finding.of(location.problem(message, state, hint=known.near(state, function)), "unknown-state")


def _check_arguments(
    location: SourceLocation, state: str, name: str, run: list[Value], ours: Signature | None, salts: Signature | None
) -> Iterator[Finding]:
    given = {key for argument in run if isinstance(argument, dict) for key in argument if isinstance(key, str)}
    first = ours or salts
    assert first is not None  # noqa: S101 - the caller looked
    for argument in sorted(given):
        if first.takes(argument):
            continue
        if salts is not None and argument in salts.arguments:
            message = f"{argument!r} is an argument of Salt's {name} that Saltern does not have"
            yield Finding.of(location.problem(message, state, argument), "not-implemented")
            continue
        hint = did_you_mean(argument, first.arguments | FOR_ALL, most=2)
        message = f"{name} takes no argument {argument!r}"
        yield Finding.of(location.problem(message, state, argument, hint=hint), "unknown-argument")
    if ours is not None and not ours.takes_anything and "use" not in given:
        for argument in sorted(ours.required - given - {"name"}):
            message = f"{name} of ID {location.keys[-1]!r} needs the argument {argument!r}"
            yield Finding.of(location.problem(message, state), "missing-argument")
