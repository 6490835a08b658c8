"""Splits a rendered SLS into its states, `extend` and `exclude`, in the form that later stages use.

Called by `assemble` for each SLS. `pkg.installed:` becomes `pkg:` with the function in its list, short forms are
padded, and what has no place in high data becomes a problem. Source: salt/state.py `_handle_state_decls`.
"""

from __future__ import annotations

from collections.abc import Iterator

from highstate.compile.high import REQUISITE_ARGUMENTS, Body, Extend, High, first_key
from highstate.compile.positions import SourceLocation
from highstate.types import Value


def read_states(
    high: High, data: dict[Value, Value], location: SourceLocation, *, dotted_functions: bool = False
) -> dict[str, Body]:
    """The bodies of an SLS by ID; `high.locations` learns where each is.

    `dotted_functions`: of `local.state.apply` the function is `state.apply`, as in SLS of reactors.
    """
    bodies: dict[str, Body] = {}
    for id_, declaration in data.items():
        own = SourceLocation(location.source_file, (id_,))
        if not isinstance(id_, str):
            high.problems.append(
                own.problem(
                    f"ID '{id_}' in SLS {location.sls!r} is not formed as a string, but is type {type(id_).__name__}",
                    hint="quote it",
                )
            )
            continue
        body = _read_body(high, id_, declaration, own, dotted_functions=dotted_functions)
        if body is not None:
            bodies[id_] = body
            high.locations.setdefault(id_, own)
    return bodies


def read_extends(high: High, data: Value, location: SourceLocation) -> None:
    """Queue the entries of an `extend:`."""
    if not isinstance(data, dict):
        high.problems.append(location.problem(f"The extend of SLS {location.sls!r} is not a dictionary", "extend"))
        return
    for id_, declaration in data.items():
        own = SourceLocation(location.source_file, ("extend", id_))
        if not isinstance(id_, str) or not isinstance(declaration, dict):
            high.problems.append(own.problem(f"The extension of {id_!r} in SLS {location.sls!r} is not a dictionary"))
            continue
        body: Body = dict(_split(high, id_, declaration, own, strict=False))
        body.setdefault("__sls__", location.sls)
        body.setdefault("__env__", location.saltenv)
        high.extends.append(Extend(id=id_, body=body, location=own))


def read_excludes(high: High, data: Value, location: SourceLocation) -> None:
    """Queue the entries of an `exclude:`."""
    if not isinstance(data, list):
        high.problems.append(
            location.problem(f"The exclude of SLS {location.sls!r} is not formed as a list", "exclude")
        )
        return
    for index, entry in enumerate(data):
        named = isinstance(entry, dict) and len(entry) == 1 and isinstance(entry.get("sls", entry.get("id")), str)
        if named or isinstance(entry, str):
            high.excludes.append(entry)
        else:
            high.warnings.append(
                location.problem(
                    f"{entry!r} in the exclude of SLS {location.sls!r} excludes nothing",
                    "exclude",
                    index,
                    hint="write `- sls: NAME` or `- id: NAME`",
                )
            )


def _read_body(
    high: High, id_: str, declaration: Value, location: SourceLocation, *, dotted_functions: bool
) -> Body | None:
    sls, saltenv = location.sls, location.saltenv
    if isinstance(declaration, str) and "." in declaration:
        state, function = declaration.split(".", 1)
        return {"__sls__": sls, "__env__": saltenv, state: [function if dotted_functions else function.split(".")[0]]}
    if not isinstance(declaration, dict):
        high.problems.append(
            location.problem(
                f"ID {id_!r} in SLS {sls!r} is not a dictionary", hint="below an ID stands STATE.FUNCTION, indented"
            )
        )
        return None
    body: Body = dict(_split(high, id_, declaration, location, strict=True, dotted_functions=dotted_functions))
    body.setdefault("__sls__", sls)
    body.setdefault("__env__", saltenv)
    return body


def _split(
    high: High,
    id_: str,
    declaration: dict[Value, Value],
    location: SourceLocation,
    *,
    strict: bool,
    dotted_functions: bool = False,
) -> Iterator[tuple[str, Value]]:
    """The states of a body; those with a dotted key come after the others, as in Salt.

    `strict`: the same state twice is a problem.
    """
    later: list[tuple[str, list[Value]]] = []
    seen: set[str] = set()
    for key, run in declaration.items():
        if not isinstance(key, str):
            high.problems.append(
                location.problem(f"{key!r} below ID {id_!r} in SLS {location.sls!r} is not a string", key)
            )
            continue
        if key.startswith("_") or not isinstance(run, list):
            yield key, run
            continue
        state, *function = key.split(".")
        if strict and state in seen:
            high.problems.append(
                location.problem(
                    f"ID {id_!r} in SLS {location.sls!r} contains multiple state declarations of the same type "
                    f"({state})",
                    key,
                    hint="give the second declaration an ID of its own and set `name`",
                )
            )
            continue
        seen.add(state)
        if strict:
            _warn_of_repeats(high, key, run, location)
        if function:
            location.written_keys[state] = key
            later.append((state, [*run, ".".join(function) if dotted_functions else function[0]]))
        else:
            yield state, list(run)
    yield from later


def _warn_of_repeats(high: High, state: str, run: list[Value], location: SourceLocation) -> None:
    """A second `require` of one state replaces the first, as in Salt, which does not say so."""
    keys = [key for argument in run if (key := first_key(argument)) in REQUISITE_ARGUMENTS]
    if len(keys) == len(set(keys)):
        return
    for key in dict.fromkeys(key for key in keys if keys.count(key) > 1):
        high.warnings.append(
            location.problem(
                f"{state} of ID {location.keys[-1]!r} has `{key}` more than once: the last one alone counts",
                state,
                key,
                hint=f"put all its items under one `{key}`",
            )
        )
