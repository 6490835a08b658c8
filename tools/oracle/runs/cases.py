"""The cases of `tools/oracle/runs/`: the truth table of requisites, options of states, and graphs drawn at random.

A case of the table has many groups of states side by side, which know nothing of each other: `T` is what a requisite
names, `D` the state that has it, and the ID begins with the group's name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from tools.oracle.runs.case_parts import TARGETS, States, case_of, logged, state, target
from tools.oracle.runs.option_cases import options
from tools.oracle.runs.runs import Case
from tools.oracle.runs.world_cases import world

KINDS = (
    "require",
    "require_any",
    "watch",
    "watch_any",
    "onchanges",
    "onchanges_any",
    "onfail",
    "onfail_any",
    "onfail_all",
    "prereq",
    "listen",
)


def dependents(name: str, requisite: Mapping[str, Any]) -> States:
    """One that runs whatever happens, one that only answers a watch, and one that pretends."""
    return {
        f"{name}.D": logged(f"{name}.D", requisite),
        f"{name}.W": state("cmd.wait", {"name": f"echo {name}.W >> @ROOT@/log"}, requisite),
        f"{name}.N": state("test.nop", requisite),
    }


def table() -> Iterator[Case]:
    """Each requisite, on each kind of target and on pairs of them, really and under test=True."""
    for kind, test in product(KINDS, (False, True)):
        states: States = {}
        for one in TARGETS:
            states |= dependents(one, {kind: [f"{one}.T"]}) | target(one, f"{one}.T")
        yield case_of(f"table-{kind}", states, test)
        pairs: States = {}
        for one, other in product(("changed", "same", "failed", "unless", "unmet"), repeat=2):
            name = f"{one}-{other}"
            pairs |= target(one, f"{name}.T") | target(other, f"{name}.U")
            pairs |= {f"{name}.D": logged(f"{name}.D", {kind: [f"{name}.T", f"{name}.U"]})}
        yield case_of(f"pairs-{kind}", pairs, test)


def mixed() -> Iterator[Case]:
    """Two requisites in one state."""
    for test in (False, True):
        for left in ("require", "watch", "onchanges", "onfail", "prereq"):
            states: States = {}
            for right in ("require", "watch", "onchanges", "onfail", "prereq"):
                if left >= right:
                    continue
                for one, other in product(("changed", "same", "failed"), repeat=2):
                    name = f"{right}-{one}-{other}"
                    states |= target(one, f"{name}.T") | target(other, f"{name}.U")
                    states[f"{name}.D"] = logged(f"{name}.D", {left: [f"{name}.T"]}, {right: [f"{name}.U"]})
            if states:
                yield case_of(f"mixed-{left}", states, test)


def in_forms() -> Iterator[Case]:
    """The `_in` forms, on a state that comes later and on one that came before."""
    for test in (False, True):
        states: States = {}
        for kind in ("require", "watch", "onchanges", "onfail", "prereq", "listen"):
            for one in ("changed", "same", "failed"):
                name = f"{kind}-{one}"
                [(own_id, body)] = target(one, f"{name}.T").items()
                [arguments] = body.values()
                arguments.append({f"{kind}_in": [{"cmd": f"{name}.before"}, {"cmd": f"{name}.after"}]})
                states |= {f"{name}.before": logged(f"{name}.before"), own_id: body}
                states |= {f"{name}.after": logged(f"{name}.after")}
        yield case_of("in-forms", states, test)


def listeners() -> Iterator[Case]:
    """Listeners that are not there: named with their state, bare, and told nothing."""
    for test in (False, True):
        states: States = {}
        for one in ("changed", "same"):
            states |= {f"{one}.L": logged(f"{one}.L", {"listen": [{"test": f"{one}.gone"}, "bare"]})}
            [(own_id, body)] = target(one, f"{one}.T").items()
            [arguments] = body.values()
            arguments.append({"listen_in": [{"cmd": f"{one}.nobody"}]})
            states[own_id] = body
        yield case_of("listen-missing", states, test)


def drawn(seed: int) -> Case:
    """A graph of states with requisites among them, drawn at random; some have cycles.

    Under test=True none waits for a failure: what we make of that is not what Salt makes of it, nor is what follows.
    The same goes for check_cmd, which has no prereq beside it therefore. Parallel states require, or wait for a change,
    and no more: Salt calls mod_watch and check_cmd while the state itself still goes on.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    test = chance.random() < 0.4
    parallel = chance.random() < 0.2
    checks = not test and not parallel and chance.random() < 0.3
    ids = [f"s{number}" for number in range(chance.randint(2, 7))]
    kinds = ("changed", "same", "failed", "ran", "ran", "unless")
    states: States = {own_id: target(chance.choice(kinds), own_id)[own_id] for own_id in ids}
    for own_id in ids:
        [arguments] = states[own_id].values()
        some = (*(kind for kind in KINDS if not (test and "onfail" in kind)), "require_in", "watch_in")
        some = tuple(one for one in (*some, "onchanges_in", "listen_in") if not parallel or one in PARALLEL)
        some = tuple(one for one in some if not (checks and one == "prereq"))
        for kind in chance.sample(some, chance.choice((0, 1, 1, 2))):
            others = [one for one in ids if one != own_id]
            if chance.random() < 0.8:  # most of them backwards, so that most graphs have no cycle
                others = [one for one in others if one < own_id]
            named = chance.sample(others, min(len(others), chance.choice((1, 1, 2))))
            if named:  # Salt breaks down over an _in requisite that does not name the state
                full = [{next(iter(states[one])).partition(".")[0]: one} for one in named]
                arguments.append({kind: full if kind.endswith("_in") else named})
        if chance.random() < 0.1:
            arguments.append({"order": chance.choice(("last", "first", 1, 5, -1))})
        has = {name for given in arguments for name in given} | (set() if checks else {"check_cmd"})
        if chance.random() < 0.25:
            arguments.append(chance.choice([one for one in OPTIONS if has.isdisjoint(one)]))
        if parallel and chance.random() < 0.5:
            arguments.append({"parallel": True})
        if not parallel and chance.random() < 0.05:
            arguments.append({"failhard": True})
    return replace(case_of(f"drawn-{seed}", states, test), unordered=parallel)


PARALLEL = ("require", "require_any", "onchanges", "onchanges_any", "require_in", "onchanges_in", "listen", "listen_in")
OPTIONS: tuple[Mapping[str, Any], ...] = (
    {"onlyif": "true"},
    {"onlyif": ["true", "false"]},
    {"unless": "false"},
    {"unless": ["true", "true"]},
    {"retry": {"attempts": 2, "interval": 0}},
    {"retry": {"attempts": 3, "interval": 0, "until": False}},
    {"check_cmd": "true"},
    {"check_cmd": ["true", "false"]},
)
"""Of which some states of a drawn graph have one."""


def all_cases() -> list[Case]:
    """Every case that is recorded."""
    return [*table(), *mixed(), *in_forms(), *listeners(), *options(), *world()]
