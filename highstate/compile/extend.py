"""`extend` and `exclude`: what one SLS says about the IDs of another.

Called by `compile_minion` after all SLS are assembled, and again for what the `_in` requisites amount to.
"""

from __future__ import annotations

import fnmatch

from highstate.compile.high import REQUISITE_ARGUMENTS, Extend, High, copy_body, first_key, states_of
from highstate.compile.positions import near
from highstate.types import Value


def apply_extends(high: High, *, strict: bool = False) -> None:
    """Put the pending extends into the bodies they name; those whose target is not there become problems.

    `strict`: a target must have the state that is named (the `_in` requisites); otherwise an ID that lacks the
    state gets it. Source: salt/state.py `reconcile_extend`, and the notes on `extend` in docs/salt-compatibility.md.
    """
    extends, high.extends = high.extends, []
    excluded = excluded_sls(high)
    for extend in extends:
        states = states_of(extend.body)
        if not states:
            high.problems.append(extend.location.problem(f"The extension of ID {extend.id!r} names no state"))
            continue
        target = _target(high, extend, states[0], strict)
        if target is None or extend.body.get("__sls__") in excluded:
            continue
        for state in states:
            _extend_state(high, target, state, extend)


def excluded_sls(high: High) -> list[str]:
    """SLS names that an `exclude` names."""
    entries = [entry if isinstance(entry, str) else entry.get("sls") for entry in high.excludes]
    return [entry for entry in entries if entry]


def apply_exclude(high: High) -> frozenset[str]:
    """Remove the excluded IDs, and the IDs of the excluded SLS; returns those that were there."""
    patterns: list[str] = []
    ids: set[Value] = set()
    for entry in high.excludes:
        if isinstance(entry, str):
            patterns.append(entry)
        elif "sls" in entry:
            patterns.append(entry["sls"])
        else:
            ids.add(entry["id"])
    for id_, body in high.bodies.items():
        sls = body.get("__sls__", "")
        if not id_.startswith("__") and sls and any(fnmatch.fnmatch(sls, pattern) for pattern in patterns):
            ids.add(id_)
    removed = frozenset(id_ for id_ in high.bodies if id_ in ids)
    for id_ in removed:
        del high.bodies[id_]
    high.excludes = []
    return removed


def find_ids(high: High, name: str, state: str, *, strict: bool) -> list[str]:
    """IDs that `name` may mean: the ID itself, or those with an argument of exactly that value (mostly `name`)."""
    if name in high.bodies and (not strict or state in high.bodies[name]):
        return [name]
    if state == "sls":
        return [id_ for id_, body in high.bodies.items() if body.get("__sls__") == name]
    return [
        id_
        for id_, body in high.bodies.items()
        if isinstance(body.get(state), list)
        for argument in body[state]
        if isinstance(argument, dict) and len(argument) == 1 and next(iter(argument.values())) == name
    ]


def _target(high: High, extend: Extend, state: str, strict: bool) -> str | None:
    if extend.id in high.bodies and state in high.bodies[extend.id]:
        return extend.id
    ids = find_ids(high, extend.id, state, strict=strict)
    if len(ids) == 1:
        return ids[0]
    if not (high.incomplete and not ids):
        high.problems.append(
            extend.location.problem(
                f"Cannot extend ID {extend.id!r} in '{extend.location.saltenv}:{extend.location.sls}'. "
                + (f"It may be any of {', '.join(ids)}." if ids else "It is not part of the high state.")
                + f" The extension names {state}",
                hint=_missing_hint(high, extend.id, state),
            )
        )
    return None


def _missing_hint(high: High, name: str, state: str) -> str:
    if name in high.bodies:
        return f"ID {name!r} declares {', '.join(states_of(high.bodies[name]))}, not {state}"
    return near(name, high.bodies) or "include the SLS that declares it, or check the ID"


def _extend_state(high: High, target: str, state: str, extend: Extend) -> None:
    body, arguments = high.bodies[target], extend.body[state]
    if state not in body:
        body[state] = list(arguments) if isinstance(arguments, list) else arguments
        return
    if not isinstance(arguments, list) or not isinstance(body[state], list):
        high.problems.append(
            extend.location.problem(f"Extending {state} of ID {target!r} needs lists on both sides", state)
        )
        return
    existing = body[state]
    names = {first_key(value) for value in existing}
    for argument in arguments:
        key = first_key(argument)
        # Most are new: what is there need not be gone through for them.
        new = isinstance(argument, dict) and key not in names and key != "name"
        if new or not _extend_argument(high, existing, argument, extend):
            existing.append(argument)
            names.add(key)


def _extend_argument(high: High, existing: list[Value], argument: Value, extend: Extend) -> bool:
    """Replace or join what is there under the same name; False when nothing is."""
    found = False
    key = first_key(argument)
    for index, value in enumerate(existing):
        if isinstance(argument, str) and isinstance(value, str):
            existing[index] = argument
            found = True
        elif isinstance(argument, dict) and isinstance(value, dict):
            first = first_key(value)
            if key == first:
                existing[index] = _joined(high, value, argument, extend) if key in REQUISITE_ARGUMENTS else argument
                found = True
            elif key == "name" and first == "names":
                existing[index] = argument
    return found


def _joined(high: High, old: dict[str, Value], new: dict[str, Value], extend: Extend) -> dict[str, Value]:
    """A requisite of the target with the extension's entries after its own."""
    key = first_key(old)
    if isinstance(old[key], list) and isinstance(new[key], list):
        return {**old, key: [*old[key], *new[key]]}
    high.problems.append(
        extend.location.problem(
            f"The {key} statement in the extension of ID {extend.id!r} needs to be formed as a list"
        )
    )
    return old


def without_duplicates(extends: list[Extend]) -> list[Extend]:
    """The extends in order, each that says exactly the same once (two SLS saying the same are two)."""
    kept: list[Extend] = []
    for extend in extends:
        if not any(extend.id == other.id and extend.body == other.body for other in kept):
            kept.append(Extend(id=extend.id, body=copy_body(extend.body), location=extend.location))
    return kept
