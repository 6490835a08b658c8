"""The cases of `oracle_runs`: the truth table of requisites, options of states, and graphs drawn at random.

A case of the table has many groups of states side by side, which know nothing of each other: `T` is what a requisite
names, `D` the state that has it, and the ID begins with the group's name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
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


class _Plain(yaml.SafeDumper):
    """Writes twice what two states share: Salt gives those that are one object one place in the order."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


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
                arguments.append({f"{kind}_in": [{"cmd": f"{name}.before"}, {"cmd": f"{name}.after"}]})
                states |= {f"{name}.before": logged(f"{name}.before"), own_id: body}
                states |= {f"{name}.after": logged(f"{name}.after")}
        yield _case("in-forms", states, test)


def options() -> Iterator[Case]:
    """What a state may have besides requisites, each by itself."""
    changed, failed = state("test.succeed_with_changes"), state("test.fail_without_changes")
    hard = {"a": changed, "b": state("test.fail_without_changes", {"failhard": True}), "c": logged("c"), "d": changed}
    for test in (False, True):
        yield _case("failhard", hard, test)
        yield _case("failhard-listen", {"l": logged("l", {"listen": ["a"]}), **hard}, test)
        yield _case("failhard-everywhere", {"a": changed, "b": failed, "c": logged("c")}, test, failhard=True)
        yield _case(
            "failhard-not",
            {"b": state("test.fail_without_changes", {"failhard": False}), "c": changed},
            test,
            failhard=True,
        )
        yield _case("failhard-required", {"a": logged("a", {"require": ["b"]}), **hard, "a2": logged("a2")}, test)
        yield _case("retry", {f"r{n}": _retried(f"r{n}", given) for n, given in enumerate(RETRIES)}, test)
        yield _case("conditions", {f"c{n}": logged(f"c{n}", given) for n, given in enumerate(CONDITIONS)}, test)
        yield _case("conditions-watch", _watching_conditions(), test)
        yield _case("check-cmd", _checked(), test)
        yield _case("order", {f"o{n}": logged(f"o{n}", {"order": given}) for n, given in enumerate(ORDERS)}, test)
        yield _case("commands", {f"k{n}": state("cmd.run", *given) for n, given in enumerate(COMMANDS)}, test)
        yield _case("failed-watch", _failed_watchers(), test)
        yield replace(_case("parallel", _parallel(), test), unordered=True)
        yield _case("many-names", _names(), test)
        yield _case("listening", _listening(), test)
        yield _case("prereq-chain", _prereq_chain(), test)
        yield _case("slots", {f"s{n}": state("cmd.run", *given) for n, given in enumerate(SLOTS)}, test)
    for number, given in enumerate(RETRIES_SAID):
        yield _case(f"retry-said-{number}", {"r": state("test.succeed_with_changes", {"retry": given})}, test=True)


RETRIES: tuple[Any, ...] = (
    {"attempts": 3, "interval": 0},
    {"attempts": 2, "interval": 0},
    {"attempts": 4, "interval": 0, "until": False},
    {"attempts": 1, "interval": 0},
    {"attempts": 0, "interval": 0},
    False,
)
RETRIES_SAID: tuple[Any, ...] = (
    True,
    False,
    {"interval": "x", "attempts": 5},
    "often",
    3,
    {},
    {"splay": 7, "until": 1},
)


def _retried(own_id: str, given: Any) -> State:
    """Succeeds at the third attempt."""
    count = f"echo x >> @ROOT@/{own_id}; test $(wc -l < @ROOT@/{own_id}) -ge 3"
    return state("cmd.run", {"name": count}, {"retry": given})


CONDITIONS: tuple[Mapping[str, Any], ...] = (
    {"unless": "true"},
    {"unless": "false"},
    {"unless": ["true", "false"]},
    {"unless": ["true", "true"]},
    {"unless": []},
    {"onlyif": "true"},
    {"onlyif": "false"},
    {"onlyif": ["true", "false"]},
    {"onlyif": ["true", "true"]},
    {"onlyif": []},
    {"onlyif": True},
    {"onlyif": False},
    {"unless": True},
    {"unless": False},
    {"creates": "/"},
    {"creates": "/not/there"},
    {"creates": ["/", "/not/there"]},
    {"creates": ["/", "/etc"]},
    {"onlyif": "true", "unless": "true"},
    {"onlyif": "false", "unless": "true"},
    {"onlyif": "true", "unless": "false", "creates": "/"},
    {"onlyif": [{"fun": "test.true"}]},
    {"onlyif": [{"fun": "test.false"}]},
    {"unless": [{"fun": "test.true"}]},
    {"unless": [{"fun": "test.true"}, "false"]},
    {"onlyif": [{"fun": "file.directory_exists", "args": ["/etc"]}]},
    {"onlyif": [{"fun": "file.directory_exists", "path": "/not/there"}]},
    {"onlyif": [{"fun": "test.arg", "get_return": "kwargs:a", "a": True}]},
    {"onlyif": [{"nofun": "test.true"}]},
    {"onlyif": 3},
    {"onlyif": "no-such-program-here"},
    {"unless": "exit 3"},
)


def _watching_conditions() -> States:
    """One that a condition keeps from running does not act on what it watches either."""
    states: States = {"T": state("test.succeed_with_changes")}
    for number, given in enumerate(({"unless": "true"}, {"onlyif": "false"}, {"creates": "/"}, {"unless": "false"})):
        name = f"echo w{number} >> @ROOT@/log"
        states[f"w{number}"] = state("cmd.wait", {"name": name}, given, {"watch": ["T"]})
        states[f"l{number}"] = state("cmd.wait", {"name": name}, given, {"listen": ["T"]})
    return states


def _checked() -> States:
    states: States = {}
    for fun in ("succeed_with_changes", "succeed_without_changes", "fail_with_changes", "fail_without_changes", "nop"):
        for number, given in enumerate(("true", "false", ["true", "false"], ["true", "true"], [])):
            states[f"{fun}-{number}"] = state(f"test.{fun}", {"check_cmd": given})
    return states


ORDERS: tuple[Any, ...] = ("last", 3, "first", -1, 1, 3, "last", -2, 0)

COMMANDS: tuple[tuple[Mapping[str, Any], ...], ...] = (
    ({"name": "exit 3"},),
    ({"name": "exit 3"}, {"success_retcodes": [3]}),
    ({"name": "exit 3"}, {"success_retcodes": 3}),
    ({"name": "echo fine; exit 3"}, {"success_stdout": ["fine"]}),
    ({"name": "echo fine >&2; exit 3"}, {"success_stderr": ["fine"]}),
    ({"name": "echo out; echo err >&2"}, {"hide_output": True}),
    ({"name": "id -un"}, {"runas": "nobody"}),
    ({"name": "id -G"}, {"runas": "nobody"}),
    ({"name": "umask"}, {"umask": "027"}),
    ({"name": "umask; pwd"}, {"umask": "077"}, {"cwd": "/"}),
    ({"name": "echo $A"}, {"env": [{"A": "b"}]}),
    ({"name": "echo changed=yes comment=because"}, {"stateful": True}),
    ({"name": "echo changed=no comment=because"}, {"stateful": True}),
    ({"name": "cat"}, {"stdin": "given"}),
    ({"name": "printf 'two\\nlines\\n\\n'"},),
    ({"name": "echo a"}, {"require": []}),
)


SLOTS: tuple[tuple[Mapping[str, Any], ...], ...] = (
    ({"name": "__slot__:salt:test.echo(true)"},),
    ({"name": "__slot__:salt:test.echo('echo a, b')"},),
    ({"name": '__slot__:salt:test.echo(text="echo c")'},),
    ({"name": "__slot__:salt:test.arg('x', k='echo d').kwargs.k"},),
    ({"name": "__slot__:salt:test.arg('x', k='echo d').kwargs.k ~ ' more'"},),
    ({"name": "__slot__:salt:test.echo('echo e') ~ f"},),
    ({"name": "echo $A"}, {"env": [{"A": "__slot__:other:test.echo(true)"}]}),
    ({"name": "echo $A"}, {"env": [{"A": "__slot__:salt:test.echo"}]}),
    ({"name": "id -un"}, {"runas": "__slot__:salt:file.get_user(/)"}),
    ({"name": "echo $A"}, {"env": [{"A": "__slot__:salt:test.echo(listed)"}]}),
    ({"name": "echo $B"}, {"env": {"B": "__slot__:salt:test.echo(mapped)"}}),
    ({"name": "true"}, {"cwd": "__slot__:salt:test.echo(/)"}),
    ({"name": "true"}, {"unless": "__slot__:salt:test.echo(true)"}),
)


def _failed_watchers() -> States:
    """What fails without changes, though something that it watches has changed."""
    states: States = {"T": state("test.succeed_with_changes")}
    for fun in ("fail_without_changes", "fail_with_changes", "succeed_with_changes", "nop"):
        states[fun] = state(f"test.{fun}", {"watch": ["T"]})
    return states


def _parallel() -> States:
    both = {"parallel": True}
    return {
        "a": state("cmd.run", {"name": "sleep 0.3; echo a >> @ROOT@/log"}, both),
        "b": state("test.fail_without_changes", both),
        "c": logged("c", both, {"require": ["a"]}),
        "d": logged("d", {"require": ["b"]}),
        "e": logged("e", both, {"onchanges": ["a"]}),
        "f": logged("f", both, {"prereq": ["g"]}, {"require": ["e"]}),
        "g": state("test.succeed_with_changes", both),
        "h": logged("h", {"listen": ["a"]}),
        "i": logged("i", {"require": ["f", "c"]}),
    }


def _names() -> States:
    three = state("test.succeed_with_changes", {"names": ["one", "two", {"three": [{"order": 1}]}]})
    return {
        "many": three,
        "D": logged("D", {"watch": [{"test": "two"}]}),
        "E": logged("E", {"onchanges": [{"test": "many"}]}),
        "used": state("cmd.run", {"name": "echo used"}, {"use": [{"cmd": "D"}]}),
    }


def _listening() -> States:
    wait = state("cmd.wait", {"name": "echo w >> @ROOT@/log"})
    return {
        "first": logged("first", {"listen": [{"test": "T"}, {"test": "U"}]}),
        "w": {"cmd.wait": [*wait["cmd.wait"], {"listen": [{"test": "U"}]}]},
        "bad": state("cmd.run", {"name": "exit 1"}, {"listen": [{"test": "T"}]}),
        "T": state("test.succeed_with_changes", {"listen_in": [{"cmd": "heard"}]}),
        "U": state("test.succeed_without_changes", {"listen_in": [{"cmd": "not-heard"}]}),
        "heard": logged("heard"),
        "not-heard": logged("not-heard"),
        "after": logged("after", {"listen": [{"cmd": "first"}]}),
    }


def _prereq_chain() -> States:
    return {
        "a": logged("a", {"prereq": ["b"]}),
        "b": state("test.succeed_without_changes", {"prereq": ["c"]}),
        "c": state("test.succeed_with_changes", {"require": ["d"]}),
        "d": logged("d"),
        "e": logged("e", {"prereq": ["f"]}),
        "f": state("cmd.run", {"name": "echo f >> @ROOT@/log"}, {"unless": "true"}),
        "g": logged("g", {"prereq": ["h"]}),
        "h": state("test.nop", {"watch": ["d"]}),
        "i": state("test.fail_without_changes", {"prereq": ["j"]}),
        "j": logged("j"),
    }


def _case(name: str, states: States, test: bool = False, **opts: Any) -> Case:
    text = yaml.dump(states, Dumper=_Plain, sort_keys=False, default_flow_style=False)
    return Case(name=name + (".test" if test else ""), text=text, test=test, opts=opts)


def drawn(seed: int) -> Case:
    """A graph of states with requisites among them, drawn at random; some have cycles.

    Under test=True none waits for a failure: what we make of that is not what Salt makes of it, nor is what follows.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    test = chance.random() < 0.4
    ids = [f"s{number}" for number in range(chance.randint(2, 7))]
    kinds = ("changed", "same", "failed", "ran", "ran", "unless")
    states: States = {own_id: target(chance.choice(kinds), own_id)[own_id] for own_id in ids}
    for own_id in ids:
        [arguments] = states[own_id].values()
        some = (*(kind for kind in KINDS if not (test and "onfail" in kind)), "require_in", "watch_in")
        some = (*some, "onchanges_in", "listen_in")
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
        if chance.random() < 0.05:
            arguments.append({"failhard": True})
    return _case(f"drawn-{seed}", states, test)


def all_cases() -> list[Case]:
    """Every case that is recorded."""
    return [*table(), *mixed(), *in_forms(), *options()]
