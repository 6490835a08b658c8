"""Requisites that need each other, in high data that does not compile for another reason.

A compile stops before it puts chunks in order when anything else is wrong; here the declarations alone are looked at,
so that one mistake does not hide another. prereq is left to the compile: it has rules of its own. Called by `trees`,
before the high data is reconciled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from highstate.compile.high import High, first_key
from highstate.lint.findings import Finding
from highstate.lint.requisites import targets_of
from highstate.types import Value

_KINDS = ("require", "watch", "onchanges", "onfail")

Node = tuple[str, str]
"""(ID, state)"""


def find_cycle(high: High) -> Finding | None:
    """A circle of requisites, if there is one."""
    edges = _edges(high)
    done: set[Node] = set()
    for start in edges:
        cycle = _cycle_from(start, edges, done)
        if cycle:
            id_, state = cycle[0]
            shown = " -> ".join(f"{state}: {id_}" for id_, state in cycle)
            problem = high.location(id_).problem(f"Recursive requisites were found: {shown}", state)
            return Finding.of(problem, "cycle")
    return None


def _edges(high: High) -> dict[Node, list[Node]]:
    """Who has to run after whom."""
    named: dict[tuple[str, str], list[Node]] = {}
    runs: dict[Node, list[Value]] = {}
    for id_, state, run in high.declarations():
        runs[id_, state] = run
        for name in {id_, *(one["name"] for one in run if isinstance(one, dict) and isinstance(one.get("name"), str))}:
            for module in (state, "", "id"):
                named.setdefault((module, name), []).append((id_, state))
    edges: dict[Node, list[Node]] = {node: [] for node in runs}
    for node, run in runs.items():
        for argument in run:
            kind = str(first_key(argument) or "")
            plain = kind.partition("_")[0]
            if plain not in _KINDS:
                continue
            for target in (one for wanted in targets_of(argument[kind]) for one in named.get(wanted, ())):
                first, second = (target, node) if kind.endswith("_in") else (node, target)
                edges[first].append(second)
    return edges


def _cycle_from(start: Node, edges: Mapping[Node, list[Node]], done: set[Node]) -> list[Node]:
    """A circle that can be reached from a node, its first node last again; `done` are those that lead to none."""
    way: list[Node] = []
    waiting: list[Iterator[Node]] = [iter((start,))]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
            if way:
                done.add(way.pop())
        elif node in way:
            return [*way[way.index(node) :], node]
        elif node not in done:
            way.append(node)
            waiting.append(iter(edges[node]))
    return []
