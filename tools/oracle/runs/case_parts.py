"""What the cases of runs are put together from: states as Salt writes them, and an SLS of several.

Used by `run_cases` and `run_option_cases`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from tools.oracle.runs.runs import Case


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


def case_of(name: str, states: Mapping[str, Any], test: bool = False, **opts: Any) -> Case:
    """An SLS of these states; `opts` are options of the minion."""
    text = yaml.dump(states, Dumper=_Plain, sort_keys=False, default_flow_style=False)
    return Case(name=name + (".test" if test else ""), text=text, test=test, opts=opts)
