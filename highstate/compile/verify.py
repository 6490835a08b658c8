"""Checks the form of the high data and reports every fault at once.

Called after the first `apply_extends`, before the requisites are looked at. It changes nothing but `High.problems`.
Source: salt/state.py `_verify_high`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from highstate.compile.high import REQUISITE_ARGUMENTS, High, states_of
from highstate.compile.positions import SourceLocation
from highstate.types import Problem, Value

_PLACE = frozenset(("__id__", "__sls__", "__sls_included_from__"))
"""What a chunk says of where it comes from."""


def verify(high: High) -> None:
    """Add a problem for each declaration that is badly formed."""
    for id_, body in high.bodies.items():
        if id_.startswith("__"):
            continue
        if not _plainly_placed(body):
            high.problems.extend(_place_problems(high.location(id_), f"ID {id_!r}", body))
        for state in states_of(body):
            if not _plainly_right(state, body[state]):
                high.problems.extend(_state_problems(high.location(id_), id_, state, body[state]))


def _plainly_placed(body: dict[Value, Value]) -> bool:
    """The same for what a body says of where it comes from: its SLS, as each has it."""
    return isinstance(body.get("__sls__", ""), str) and "__id__" not in body and "__sls_included_from__" not in body


def _plainly_right(state: str, run: Value) -> bool:
    """A quick look that most declarations pass; the others are looked at closely."""
    if not isinstance(run, list) or "." in state:
        return False
    functions = 0
    for argument in run:
        if isinstance(argument, str):
            functions += 1
            if " " in argument:
                return False
        elif isinstance(argument, dict):
            if not argument:
                return False
            key = next(iter(argument))
            if (
                (not _PLACE.isdisjoint(argument) and any(_place_faults(argument)))
                or key == "names"
                or (key in REQUISITE_ARGUMENTS and not _right_requisites(argument, argument[key]))
            ):
                return False
    return functions == 1


def _place_faults(data: dict[Value, Value]) -> Iterator[tuple[Value, str]]:
    """What Salt itself writes into a chunk and does not have Salt's form, where an author wrote it."""
    for key in _PLACE.intersection(data):
        value = data[key]
        if key != "__sls_included_from__":
            if not isinstance(value, str):
                yield key, "a string"
        elif not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            yield key, "a list of strings"


def _place_problems(location: SourceLocation, where: str, data: dict[Value, Value], *keys: str) -> Iterator[Problem]:
    for key, form in _place_faults(data):
        yield location.problem(f"{key} of {where} is not {form}", *keys, key, hint="leave it out: it is set by itself")


def _right_requisites(argument: dict[Value, Value], requisites: Value) -> bool:
    if len(argument) != 1 or not isinstance(requisites, list):
        return False
    for requisite in requisites:
        if not isinstance(requisite, dict) or len(requisite) != 1:
            return False
        [(kind, name)] = requisite.items()
        if not isinstance(kind, str) or "." in kind or not isinstance(name, str):
            return False
    return True


def _state_problems(location: SourceLocation, id_: str, state: str, run: Value) -> Iterator[Problem]:
    where = f"{id_!r} in SLS {location.sls!r}"
    if run is None:
        yield location.problem(
            f"ID {id_!r} in SLS {location.sls!r} contains a short declaration ({state}) with a trailing colon",
            state,
            hint="leave the colon out when a state has no arguments",
        )
        return
    if not isinstance(run, list):
        yield location.problem(
            f"State {where} is not formed as a list ({state})", state, hint="put a dash before each argument"
        )
        return
    yield from _function_problems(location, state, run, where)
    for argument in run:
        if isinstance(argument, dict):
            yield from _argument_problems(location, state, argument, where)


def _function_problems(location: SourceLocation, state: str, run: list[Value], where: str) -> Iterator[Problem]:
    functions = [state.split(".", 1)[1]] if "." in state else []
    functions += [argument for argument in run if isinstance(argument, str)]
    for function in functions:
        if " " in function.strip():
            yield location.problem(
                f"The function {function!r} of {state} in ID {where} has whitespace",
                state,
                hint="perhaps this is an argument that lacks its colon",
            )
    if not functions:
        yield location.problem(
            f"No function declared in state {where} ({state})",
            state,
            hint=f"write {state}.FUNCTION: or add `- FUNCTION`",
        )
    elif len(functions) > 1:
        yield location.problem(
            f"Too many functions declared in state {where}. Please choose one of the following: {', '.join(functions)}",
            state,
        )


def _argument_problems(
    location: SourceLocation, state: str, argument: dict[Value, Value], where: str
) -> Iterator[Problem]:
    if not argument:
        yield location.problem(f"An argument of {state} in ID {where} is an empty mapping", state)
        return
    yield from _place_problems(location, f"{state} in ID {where}", argument, state)
    key = next(iter(argument))
    if key == "names":
        yield from _names_problems(location, state, argument[key], where)
    if key not in REQUISITE_ARGUMENTS:
        return
    if not isinstance(argument[key], list):
        yield location.problem(
            f"The {key} statement in state {where} needs to be formed as a list ({state})", state, key
        )
        return
    if len(argument) != 1:
        yield location.problem(
            f"The {key} statement of {state} in ID {where} shares its dash with other arguments", state, key
        )
    for index, requisite in enumerate(argument[key]):
        yield from _requisite_problems(location, (state, key, index), requisite, where)


def _names_problems(location: SourceLocation, state: str, names: Value, where: str) -> Iterator[Problem]:
    if not isinstance(names, list):
        yield location.problem(f"The names of {state} in ID {where} need to be formed as a list", state, "names")
        return
    for name in names:
        if isinstance(name, dict) and not (name and _is_argument_list(next(iter(name.values())))):
            yield location.problem(
                f"The name {next(iter(name), '')!r} of {state} in ID {where} needs a list of arguments",
                state,
                "names",
                hint="put a dash before each argument of the name",
            )
        elif not isinstance(name, (str, int, float, dict)):
            yield location.problem(f"{name!r} of {state} in ID {where} cannot be a name", state, "names")


def _is_argument_list(value: Value) -> bool:
    return isinstance(value, list) and all(isinstance(argument, dict) for argument in value)


def _requisite_problems(
    location: SourceLocation, keys: tuple[str, str, int], requisite: Value, where: str
) -> Iterator[Problem]:
    if isinstance(requisite, str):
        return
    if not isinstance(requisite, dict) or len(requisite) != 1:
        yield location.problem(
            f"Requisite declaration {requisite!r} in state {where} is not formed as a single key dictionary",
            *keys,
            hint="write `- STATE: ID`, each with its own dash",
        )
        return
    kind, name = next(iter(requisite.items()))
    if not isinstance(kind, str):
        yield location.problem(f"The requisite type {kind!r} of {keys[0]} in ID {where} is not a string", *keys)
    elif "." in kind:
        yield location.problem(
            f"Invalid requisite type {kind!r} of {keys[0]} in ID {where}: requisite types must not contain dots",
            *keys,
            hint=f"did you mean {kind.split('.')[0]!r}?",
        )
    if not isinstance(name, Hashable):
        yield location.problem(f"Illegal requisite {name!r} of {keys[0]} in ID {where}", *keys)
