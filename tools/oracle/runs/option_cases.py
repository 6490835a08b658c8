"""Cases of what a state may have besides requisites, each by itself. Part of `run_cases.all_cases`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tools.oracle.runs.case_parts import State, States, case_of, logged, state
from tools.oracle.runs.runs import Case


def options() -> Iterator[Case]:
    """What a state may have besides requisites, each by itself."""
    changed, failed = state("test.succeed_with_changes"), state("test.fail_without_changes")
    hard = {"a": changed, "b": state("test.fail_without_changes", {"failhard": True}), "c": logged("c"), "d": changed}
    for test in (False, True):
        yield case_of("failhard", hard, test)
        yield case_of("failhard-listen", {"l": logged("l", {"listen": ["a"]}), **hard}, test)
        yield case_of("failhard-everywhere", {"a": changed, "b": failed, "c": logged("c")}, test, failhard=True)
        yield case_of(
            "failhard-not",
            {"b": state("test.fail_without_changes", {"failhard": False}), "c": changed},
            test,
            failhard=True,
        )
        yield case_of("failhard-required", {"a": logged("a", {"require": ["b"]}), **hard, "a2": logged("a2")}, test)
        yield case_of("retry", {f"r{n}": _retried(f"r{n}", given) for n, given in enumerate(RETRIES)}, test)
        yield case_of("conditions", {f"c{n}": logged(f"c{n}", given) for n, given in enumerate(CONDITIONS)}, test)
        yield case_of("conditions-watch", _watching_conditions(), test)
        yield case_of("check-cmd", _checked(), test)
        yield case_of("order", {f"o{n}": logged(f"o{n}", {"order": given}) for n, given in enumerate(ORDERS)}, test)
        yield case_of("commands", {f"k{n}": state("cmd.run", *given) for n, given in enumerate(COMMANDS)}, test)
        yield case_of("failed-watch", _failed_watchers(), test)
        yield replace(case_of("parallel", _parallel(), test), unordered=True)
        yield case_of("many-names", _names(), test)
        yield case_of("listening", _listening(), test)
        yield case_of("prereq-chain", _prereq_chain(), test)
        yield case_of("slots", {f"s{n}": state("cmd.run", *given) for n, given in enumerate(SLOTS)}, test)
    for number, given in enumerate(RETRIES_SAID):
        yield case_of(f"retry-said-{number}", {"r": state("test.succeed_with_changes", {"retry": given})}, test=True)


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
    {"onlyif": [{"fun": "test.retcode"}]},
    {"onlyif": [{"fun": "test.retcode", "code": 0}]},
    {"unless": [{"fun": "test.retcode"}]},
    {"unless": [{"fun": "test.retcode", "code": 0}]},
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
