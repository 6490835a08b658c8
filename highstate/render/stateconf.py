"""`stateconf`: IDs that are local to their SLS, implicit order, and a state that stands for the whole SLS.

    #!stateconf -o yaml . jinja
    .params:                      # pkg.sub::params; its arguments are variables after the end marker
      stateconf.set: [{port: 80}]
    # --- end of state config ---
    .service: ...                 # pkg.sub::service; requires what stands before it (-o)

Follows Salt's documentation of its stateconf renderer. Pure: data in, data out; called by `renderers`. What another
SLS extends in `stateconf.set` does not reach the variables here, as each SLS is rendered for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from highstate.types import Value

END_MARKER = re.compile(r"#\s*-+\s*end of state config\s*-+")
_SET = "stateconf.set"
_START, _GOAL = ".start", ".goal"
_BEFORE = ("require", "watch", "listen", "onchanges", "onfail")
_AFTER = tuple(f"{name}_in" for name in _BEFORE)
_REQUISITES = (*_BEFORE, *_AFTER, "use", "use_in")


class BadStateconf(Exception):
    """The SLS cannot be brought into order; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateconfOptions:
    """What stands after `#!stateconf`."""

    data: str = "yaml"
    template: str = "jinja"
    no_goal: bool = False
    implicit: bool = False
    start: bool = False
    given_data: bool = False
    """-p: data comes in, from an earlier step of the pipeline."""


def options_of(argument: str) -> StateconfOptions:
    """Parse `-Gos yaml . jinja`; BadStateconf when it is something else."""
    words = argument.split()
    flags = set()
    while words and words[0].startswith("-"):
        flags |= set(words.pop(0)[1:])
    if flags - set("Gosp"):
        raise BadStateconf(f"stateconf has no option -{min(flags - set('Gosp'))}: there are -G, -o, -s and -p")
    data, dot, template = " ".join(words or ["yaml . jinja"]).partition(" . ")
    if not dot:
        raise BadStateconf("stateconf takes two renderers, written as: yaml . jinja")
    return StateconfOptions(
        data=data.split()[0],
        template=template.split()[0],
        no_goal="G" in flags,
        implicit="o" in flags,
        start="s" in flags,
        given_data="p" in flags,
    )


def prepared(
    data: dict[str, Value], sls: str, options: StateconfOptions, *, first_pass: bool = False
) -> dict[str, Value]:
    """The SLS in Salt's usual form. `data` is changed. The first pass is only looked at for its variables."""
    _expand_short(data)
    _absolute_includes(data, sls)
    if options.implicit and not first_pass:
        _require_in_order(data)
    if options.start:
        _add_start(data, sls)
    if not first_pass and not options.no_goal:
        _add_goal(data)
    _rename(data, sls)
    return data


def variables_of(data: Mapping[str, Value], sls: str) -> dict[str, Value]:
    """The arguments of each `stateconf.set`, under its ID without the SLS's name."""
    found: dict[str, Value] = {}
    for sid, states in data.items():
        if sid == "extend" or not isinstance(states, dict):
            continue
        arguments = states.get(_SET, states.get("stateconf"))
        if isinstance(arguments, list):
            pairs = (next(iter(one.items())) for one in arguments if isinstance(one, dict) and one)
            found[str(sid).removeprefix(f"{sls}::")] = dict(pairs)
    return found


def _states(data: Mapping[str, Value], without: tuple[str, ...]) -> Iterator[tuple[str, str, list[Any]]]:
    """ID, state and arguments of each declaration."""
    for sid, states in data.items():
        if not isinstance(sid, str) or sid.startswith("__") or sid in without:
            continue
        if not isinstance(states, dict):
            raise BadStateconf(f"ID {sid!r} is a {type(states).__name__}, not a mapping of states")
        for name, arguments in states.items():
            if not str(name).startswith("__") and isinstance(arguments, list):
                yield sid, str(name), arguments


def _targets(arguments: list[Any], kinds: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """(entry, state, ID) of each requisite of these kinds."""
    for argument in arguments:
        if not isinstance(argument, dict) or not argument:
            continue
        kind, entries = next(iter(argument.items()))
        if kind in kinds and isinstance(entries, list):
            for entry in entries:
                if isinstance(entry, dict) and entry:
                    state, sid = next(iter(entry.items()))
                    if isinstance(sid, str):
                        yield entry, str(state), sid


def _expand_short(data: dict[str, Value]) -> None:
    for sid, states in data.items():
        if isinstance(states, str):
            data[sid] = {states: []}
        elif isinstance(states, dict):
            data[sid] = {name: [] if arguments is None else arguments for name, arguments in states.items()}


def _absolute_includes(data: dict[str, Value], sls: str) -> None:
    includes: list[Any] = data["include"] if isinstance(data.get("include"), list) else []
    for index, item in enumerate(includes):
        if isinstance(item, str) and item.startswith("."):
            includes[index] = _absolute(item, sls)
        elif isinstance(item, dict) and len(item) == 1:
            [(saltenv, name)] = item.items()
            if isinstance(name, str) and name.startswith("."):
                includes[index] = {saltenv: _absolute(name, sls)}
    for item in data.get("exclude") or []:
        if isinstance(item, dict) and str(item.get("sls", "")).startswith("."):
            item["sls"] = _absolute(item["sls"], sls)


def _absolute(relative: str, sls: str) -> str:
    name = relative.lstrip(".")
    dots, parts = len(relative) - len(name), sls.split(".")
    if dots > len(parts):
        raise BadStateconf(f"{relative!r} leads out of the tree")
    return ".".join([*parts[:-dots], name])


def _absolute_id(sid: str, sls: str) -> str:
    """`.x` -> `pkg.sub::x`; `.other::x` -> `pkg.other::x`."""
    return _absolute(sid, sls) if "::" in sid else f"{sls}::{sid[1:]}"


def _state(name: str) -> str:
    return name.partition(".")[0]


def _require_in_order(data: dict[str, Value]) -> None:
    """Each state requires the one before it; what would close a circle is refused."""
    states = list(_states(data, ("include", "exclude", "extend")))
    for sid, _, arguments in states:
        if any(isinstance(one, dict) and "names" in one for one in arguments):
            raise BadStateconf(
                f"names (in ID {sid!r}) cannot be used with implicit order: write a loop in the template"
            )
    locations = {(sid, _state(name)): index for index, (sid, name, _) in enumerate(states)}
    for index, (sid, name, arguments) in enumerate(states):
        for kinds, wrong in ((_BEFORE, "after"), (_AFTER, "before")):
            for _, state, target in _targets(arguments, kinds):
                location = locations.get((target, state), index)
                if (location > index) if wrong == "after" else (location < index):
                    raise BadStateconf(
                        f"{_state(name)}: {sid} cannot have {state}: {target}, which stands {wrong} it, as a requisite "
                        "in implicit order"
                    )
        if index:
            above, above_name, _ = states[index - 1]
            _add_require(arguments, {_state(above_name): above})


def _add_require(arguments: list[Any], entry: dict[str, str]) -> None:
    for argument in arguments:
        if isinstance(argument, dict) and isinstance(argument.get("require"), list):
            argument["require"].insert(0, entry)
            return
    arguments.append({"require": [entry]})


def _add_start(data: dict[str, Value], sls: str) -> None:
    if _START in data:
        raise BadStateconf(f"the start state cannot be made: there is an ID {_START!r}")
    first = next(_states(data, ("include", "exclude", "extend")), None)
    if first is None:
        raise BadStateconf("the start state cannot be made: there are no states")
    data[_START] = {_SET: [{"require_in": [{_state(first[1]): first[0]}]}]}


def _add_goal(data: dict[str, Value]) -> None:
    if _GOAL in data:
        raise BadStateconf(f"the goal state cannot be made: there is an ID {_GOAL!r}")
    states = list(_states(data, ("include", "exclude", "extend")))
    data[_GOAL] = {_SET: [{"require": [{_state(name): sid} for sid, name, _ in states]}]}


def _rename(data: dict[str, Value], sls: str) -> None:
    """Local IDs get the SLS's name, here and where requisites name them; they keep their own as `name`."""
    extended = data.get("extend")
    if isinstance(extended, dict):
        _rename(extended, sls)
    for _, _, arguments in _states(data, ("include", "exclude", "extend")):
        for entry, state, target in _targets(arguments, _REQUISITES):
            if target.startswith("."):
                entry[state] = _absolute_id(target, sls)
    for sid in [sid for sid in data if isinstance(sid, str) and sid.startswith(".")]:
        full = _absolute_id(sid, sls)
        if full in data:
            raise BadStateconf(f"ID {sid!r} cannot become {full!r}: that is there already")
        for name, arguments in data[sid].items():
            if not isinstance(arguments, list):
                continue  # the compile says what is wrong with it
            named = any(isinstance(one, dict) and next(iter(one), None) == "name" for one in arguments)
            if _state(str(name)) != "stateconf" and not named:
                arguments.insert(0, {"name": sid[1:]})
        data[full] = data.pop(sid)
