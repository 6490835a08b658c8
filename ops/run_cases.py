"""The cases of `oracle_runs`: the truth table of requisites, options of states, and graphs drawn at random.

A case of the table has many groups of states side by side, which know nothing of each other: `T` is what a requisite
names, `D` the state that has it, and the ID begins with the group's name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import yaml
from oracle_runs import Case

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
State = dict[str, Any]
States = dict[str, State]


def state(fun: str, *arguments: Mapping[str, Any]) -> State:
    """One state, its arguments in order."""
    return {fun: [dict(one) for one in arguments]}


def logged(own_id: str, *arguments: Mapping[str, Any]) -> State:
    """A command that leaves its ID in the log."""
    return state("cmd.run", {"name": f"echo {own_id} >> @ROOT@/log"}, *arguments)


TARGETS = ("changed", "same", "failed", "failed_changed", "unless", "onlyif", "unmet", "waits", "ran")


def target(kind: str, own_id: str) -> States:
    """States of which the one called `own_id` ends as the kind says."""
    plain = {
        "changed": "test.succeed_with_changes",
        "same": "test.succeed_without_changes",
        "failed": "test.fail_without_changes",
        "failed_changed": "test.fail_with_changes",
    }
    match kind:
        case "unless":
            return {own_id: logged(own_id, {"unless": "true"})}
        case "onlyif":
            return {own_id: logged(own_id, {"onlyif": "false"})}
        case "ran":
            return {own_id: logged(own_id)}
        case "unmet":
            first = f"{own_id}.first"
            return {first: state("test.fail_without_changes"), own_id: logged(own_id, {"require": [first]})}
        case "waits":
            first = f"{own_id}.first"
            return {first: state("test.succeed_without_changes"), own_id: logged(own_id, {"onchanges": [first]})}
        case _:
            return {own_id: state(plain[kind])}


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
        yield _case(f"table-{kind}", states, test)
        pairs: States = {}
        for one, other in product(("changed", "same", "failed", "unless", "unmet"), repeat=2):
            name = f"{one}-{other}"
            pairs |= target(one, f"{name}.T") | target(other, f"{name}.U")
            pairs |= {f"{name}.D": logged(f"{name}.D", {kind: [f"{name}.T", f"{name}.U"]})}
        yield _case(f"pairs-{kind}", pairs, test)


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
                yield _case(f"mixed-{left}", states, test)


def in_forms() -> Iterator[Case]:
    """The `_in` forms, on a state that comes later and on one that came before."""
    for test in (False, True):
        states: States = {}
        for kind in ("require", "watch", "onchanges", "onfail", "prereq", "listen"):
            for one in ("changed", "same", "failed"):
                name = f"{kind}-{one}"
                [(own_id, body)] = target(one, f"{name}.T").items()
                [arguments] = body.values()
                arguments.append({f"{kind}_in": [f"{name}.before", f"{name}.after"]})
                states |= {f"{name}.before": logged(f"{name}.before"), own_id: body}
                states |= {f"{name}.after": logged(f"{name}.after")}
        yield _case("in-forms", states, test)


def _case(name: str, states: States, test: bool = False, **opts: Any) -> Case:
    text = yaml.safe_dump(states, sort_keys=False, default_flow_style=False)
    return Case(name=name + (".test" if test else ""), text=text, test=test, opts=opts)


def drawn(seed: int) -> Case:
    """A graph of states with requisites among them, drawn at random; some have cycles."""
    chance = random.Random(seed)  # noqa: S311  (no secret)
    ids = [f"s{number}" for number in range(chance.randint(2, 7))]
    states: States = {}
    for own_id in ids:
        states |= {own_id: target(chance.choice(("changed", "same", "failed", "ran", "ran", "unless")), own_id)[own_id]}
        [arguments] = states[own_id].values()
        for kind in chance.sample(
            (*KINDS, "require_in", "watch_in", "onchanges_in", "listen_in"), chance.choice((0, 1, 1, 2))
        ):
            others = [one for one in ids if one != own_id]
            if chance.random() < 0.8:  # most of them backwards, so that most graphs have no cycle
                others = [one for one in others if one < own_id]
            if others:
                arguments.append({kind: chance.sample(others, min(len(others), chance.choice((1, 1, 2))))})
        if chance.random() < 0.1:
            arguments.append({"order": chance.choice(("last", "first", 1, 5, -1))})
        if chance.random() < 0.05:
            arguments.append({"failhard": True})
    return _case(f"drawn-{seed}", states, chance.random() < 0.4)


def all_cases() -> list[Case]:
    """Every case that is recorded."""
    return [*table(), *mixed(), *in_forms()]
