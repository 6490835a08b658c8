"""Cases of what a run has to do with the world around it: events, grains and modules that change, other SLS, time.

Part of `run_cases.all_cases`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tools.oracle.runs.case_parts import State, States, case_of, logged, state
from tools.oracle.runs.runs import Case


def world() -> Iterator[Case]:
    """All of them."""
    for test in (False, True):
        yield replace(case_of("fire-event", _firing(), test), events=True)
        yield replace(case_of("ignored-differences", _ignoring(), test), files={"same": "b\na\n", "more": "b\na\n"})
        for what in ("grains", "pillar", "modules"):
            yield replace(case_of(f"reload-{what}", _reloading(what), test, **OPTS), files=FILES)
        yield replace(case_of("sls", _on_sls(*KINDS), test), files=SLS)
        yield replace(case_of("sls-prereq", _on_sls("prereq"), test), files=SLS)
        yield replace(case_of("sls-listen", _on_sls("listen"), test), files=SLS)
        yield case_of("times", {f"t{n}": state("cmd.run", *given) for n, given in enumerate(TIMES)}, test)
        yield case_of("retry-more", {f"r{n}": state(*given) for n, given in enumerate(RETRIED)}, test)
        yield case_of("check-cmd-more", _checked(), test)
        yield case_of("as-others", {f"k{n}": state(*given) for n, given in enumerate(AS_OTHERS)}, test)
        yield case_of("failhard-more", _hard(), test)
        yield case_of("failhard-everywhere-more", _hard_everywhere(), test, failhard=True)
        for most in (1, 2):
            limited = case_of(f"parallel-{most}", _limited(), test, state_max_parallel=most)
            yield replace(limited, unordered=True)


def _firing() -> States:
    changed, failed = "test.succeed_with_changes", "test.fail_without_changes"
    return {
        "a": state(changed, {"fire_event": True}),
        "b": state(changed, {"fire_event": "own/tag"}),
        "c": state(changed, {"fire_event": False}),
        "d": state(failed, {"fire_event": True}),
        "e": logged("e", {"fire_event": "never"}, {"require": ["d"]}),
        "f": logged("f", {"fire_event": "kept"}, {"unless": "true"}),
        "g": logged("g", {"fire_event": True}, {"name": "echo g/g >> @ROOT@/log"}),
        "h": logged("h", {"fire_event": "heard"}, {"listen": ["a"]}),
        "i": logged("i", {"fire_event": "waits"}, {"onchanges": ["f"]}),
        "j": logged("j", {"fire_event": 1}),
        "k": state("cmd.wait", {"name": "echo k >> @ROOT@/log"}, {"watch": ["a"]}, {"fire_event": "watched"}),
        "l": logged("l", {"fire_event": "first"}, {"prereq": ["m"]}),
        "m": state(changed, {"fire_event": "second"}),
    }


def _ignoring() -> States:
    """What follows of a file whose lines are only put into another order, and of one that gets a line more."""

    def managed(name: str, text: str) -> State:
        given = {"name": f"@ROOT@/{name}", "contents": text, "ignore_ordering": True}
        return state("file.managed", *({key: value} for key, value in given.items()))

    files = {"same": managed("same", "a\nb"), "more": managed("more", "a\nb\nc")}
    kinds = ("require", "onchanges", "onchanges_any", "watch", "watch_any", "listen", "onfail", "prereq")
    following = {
        f"{kind}-{'-'.join(named)}": logged(f"{kind}-{'-'.join(named)}", {kind: list(named)})
        for kind in kinds
        for named in (("same",), ("more",), ("same", "more"))
    }
    waiting = {
        f"wait-{one}": state("cmd.wait", {"name": f"echo {one} >> @ROOT@/log"}, {"watch": [one]}) for one in files
    }
    return {**files, **following, **waiting}


OPTS: Mapping[str, Any] = {"module_dirs": ["@ROOT@/modules"]}
FILES = {
    "grains": "r2grain: old\n",
    "pillar/top.sls": "base: {'*': [data]}\n",
    "pillar/data.sls": "r2pillar: old\n",
    "modules/r2module.py": "def said():\n    return 'old'\n",
}
_ASKED = {"grains": "grains.get(r2grain)", "pillar": "pillar.get(r2pillar)", "modules": "r2module.said()"}
_WRITTEN = {
    "grains": 'echo \'{{"r2grain":"{0}"}}\' > @ROOT@/grains',
    "pillar": 'echo \'{{"r2pillar":"{0}"}}\' > @ROOT@/pillar/data.sls',
    "modules": "printf 'def said():\\n    return \"{0}\"\\n' > @ROOT@/modules/r2module.py",
}


def _reloading(what: str) -> States:
    """What is written is seen after a state that says so: one that acts, one with nothing to do, one that fails."""

    def shown(own_id: str) -> States:
        return {own_id: state("cmd.run", {"name": f'echo "{own_id}=$A" >> @ROOT@/log'}, {"env": [{"A": asked}]})}

    asked = f"__slot__:salt:{_ASKED[what]}"
    again = {f"reload_{what}": True}
    write = _WRITTEN[what]
    return {
        **shown("before"),
        "first": state("cmd.run", {"name": write.format("one")}),
        **shown("unseen"),
        "second": state("cmd.run", {"name": write.format("longer")}, again),
        **shown("seen"),
        "third": state("cmd.run", {"name": write.format("the third")}),
        "nothing": state("test.succeed_without_changes", again),
        **shown("after-nothing"),
        "fourth": state("cmd.run", {"name": write.format("the one after")}),
        "kept": state("cmd.run", {"name": "true"}, {"unless": "true"}, again),
        **shown("after-kept"),
        "fifth": state("cmd.run", {"name": write.format("the very last one")}),
        "failed": state("test.fail_with_changes", again),
        **shown("after-failed"),
    }


SLS = {
    "tree/good.sls": "g1: {test.succeed_with_changes: []}\ng2: {test.succeed_without_changes: []}\n",
    "tree/quiet.sls": "q1: {test.succeed_without_changes: []}\nq2: {test.nop: []}\n",
    "tree/bad.sls": "b1: {test.succeed_with_changes: []}\nb2: {test.fail_without_changes: []}\n",
    "tree/outer/init.sls": "include: [outer.inner]\no1: {test.nop: []}\n",
    "tree/outer/inner.sls": "i1: {test.succeed_with_changes: []}\n",
}


KINDS = ("require", "watch", "onchanges", "onfail", "require_any", "onchanges_any", "onfail_all")


def _on_sls(*kinds: str) -> dict[str, Any]:
    states: dict[str, Any] = {"include": ["good", "quiet", "bad", "outer"]}
    for kind in kinds:
        for sls in ("good", "quiet", "bad", "outer", "outer.inner"):
            own_id = f"{kind}-{sls}"
            states[own_id] = logged(own_id, {kind: [{"sls": sls}]})
    return states


TIMES: tuple[tuple[Mapping[str, Any], ...], ...] = (
    ({"name": "sleep 30"}, {"timeout": 1}),
    ({"name": "echo said; sleep 30"}, {"timeout": 1}),
    ({"name": "sleep 30"}, {"timeout": 1}, {"success_retcodes": [1]}),
    ({"name": "true"}, {"timeout": 20}),
    ({"name": "sleep 30"}, {"timeout": 1}, {"check_cmd": "true"}),
    ({"name": "trap '' TERM; sleep 3"}, {"timeout": 1}),
    ({"name": "true"}, {"timeout": 0}),
    ({"name": "true"}, {"timeout": "2"}),
)

_THIRD = "echo x >> @ROOT@/{0}; test $(wc -l < @ROOT@/{0}) -ge 3"
_ONCE = {"attempts": 3, "interval": 0}
RETRIED: tuple[Any, ...] = (
    ("cmd.run", {"name": _THIRD.format("a")}, {"retry": {"attempts": 3, "interval": 0, "splay": 0}}),
    ("cmd.run", {"name": _THIRD.format("b")}, {"retry": {"attempts": 5, "interval": 0, "until": True}}),
    ("test.succeed_with_changes", {"retry": {"attempts": 2, "interval": 0, "until": False}}),
    ("test.succeed_without_changes", {"retry": _ONCE}),
    ("test.fail_with_changes", {"retry": _ONCE}),
    ("test.fail_without_changes", {"retry": _ONCE}, {"failhard": False}),
    ("cmd.run", {"name": "true"}, {"unless": "true"}, {"retry": _ONCE}),
    ("cmd.run", {"name": "false"}, {"onlyif": _THIRD.format("c")}, {"retry": _ONCE}),
    ("cmd.run", {"name": "echo ran >> @ROOT@/log"}, {"check_cmd": _THIRD.format("d")}, {"retry": _ONCE}),
    ("cmd.run", {"name": "false"}, {"retry": {"attempts": 2, "interval": 0, "until": None}}),
    ("cmd.run", {"name": "false"}, {"retry": {"attempts": "2", "interval": 0}}),
)


def _checked() -> States:
    commands = ("true", "false", "exit 3", "echo out; false", ["true", "true"], ["true", "false"], "no-such-program")
    found = {
        f"c{n}{kind[0]}": state("cmd.run", {"name": kind}, {"check_cmd": given})
        for n, given in enumerate(commands)
        for kind in ("true", "false")
    }
    watched = {
        "W": state("cmd.wait", {"name": "true"}, {"watch": ["c0t"]}, {"check_cmd": "false"}),
        "D": logged("D", {"require": ["c1t"]}),
        "O": logged("O", {"onchanges": ["c1t"]}),
        "F": logged("F", {"onfail": ["c1t"]}),
        "E": state("cmd.run", {"name": "true"}, {"check_cmd": "echo $PWD >> @ROOT@/log"}, {"cwd": "/"}),
    }
    return {**found, **watched}


AS_OTHERS: tuple[Any, ...] = (
    ("cmd.run", {"name": "id -un"}, {"runas": "nobody"}, {"unless": "test $(id -un) = nobody"}),
    ("cmd.run", {"name": "id -un"}, {"runas": "nobody"}, {"onlyif": "test $(id -un) = nobody"}),
    ("cmd.run", {"name": "id -un"}, {"runas": "nobody"}, {"check_cmd": "test $(id -un) = nobody"}),
    ("cmd.run", {"name": "id -un"}, {"runas": "no-such-user-here"}),
    ("cmd.run", {"name": "echo $HOME; umask"}, {"runas": "nobody"}, {"umask": "077"}),
    ("cmd.run", {"name": "umask"}, {"umask": "0027"}),
    ("cmd.run", {"name": "umask"}, {"umask": 22}),
    ("cmd.run", {"name": "umask"}, {"umask": "no"}),
    ("test.succeed_with_changes", {"umask": "077"}),
    ("file.managed", {"name": "@ROOT@/masked"}, {"contents": "x"}, {"umask": "077"}),
    (
        "cmd.run",
        {"name": "stat -c %a @ROOT@/masked"},
    ),
    ("cmd.run", {"name": "pwd; echo as root"}),
    ("cmd.run", {"name": "pwd"}, {"runas": "nobody"}),
    ("cmd.run", {"name": "true"}, {"unless": "test $PWD = /root"}),
    ("cmd.run", {"name": "true"}, {"unless": "test $PWD = /etc"}, {"cwd": "/etc"}),
    ("cmd.run", {"name": "exit 4"}, {"success_retcodes": [3, 4]}),
    ("cmd.run", {"name": "exit 4"}, {"success_retcodes": "4"}),
    ("cmd.run", {"name": "exit 4"}, {"success_retcodes": ["4"]}),
    ("cmd.run", {"name": "true"}, {"success_retcodes": [4]}),
    ("cmd.run", {"name": "exit 4"}, {"success_retcodes": []}),
)


def _hard() -> States:
    """What a failure stops, and what it does not: those before it, their listeners, what it is required by."""
    return {
        "a": state("test.succeed_with_changes"),
        "l": state("cmd.wait", {"name": "echo l >> @ROOT@/log"}, {"listen": ["a"]}),
        "kept": logged("kept", {"unless": "true"}, {"failhard": True}),
        "unmet": logged("unmet", {"require": ["soft"]}),
        "soft": state("test.fail_without_changes", {"failhard": False}),
        "saved": logged("saved", {"onfail": ["hard"]}),
        "hard": logged("hard", {"name": "false"}, {"failhard": True}, {"retry": _ONCE}),
        "after": logged("after"),
    }


def _hard_everywhere() -> States:
    return {
        "soft": state("test.fail_without_changes", {"failhard": False}),
        "unmet": logged("unmet", {"require": ["soft"]}),
        "after": logged("after"),
    }


def _limited() -> States:
    """More of them than may run at once, with requisites among them."""
    both = {"parallel": True}
    waits = {"name": "sleep 0.2"}
    return {
        **{f"p{n}": state("cmd.run", waits, both) for n in range(4)},
        "a": logged("a", both, {"require": ["p0", "p3"]}),
        "b": logged("b", both, {"onchanges": ["p1"]}),
        "c": logged("c", {"watch": ["p2"]}),
        "bad": state("test.fail_without_changes", both),
        "d": logged("d", both, {"require": ["bad"]}),
        "e": logged("e", both, {"onfail": ["bad"]}),
        "last": logged("last", {"require": ["a", "b", "c"]}),
    }
