"""Drafts -> chunks in running order: a topological sort of the requisites, by `order` where they leave a choice.

Called by `compile_minion` last. Steps (source: salt/utils/requisite.py and salt/state.py `order_chunks` of 3008):
1. Index every chunk by tag, (state, name), (state, ID), (`id`, name or ID) and SLS.
2. Turn `watch` into `require` where the state has no `mod_watch`; find what each requisite names and add an edge
   from it. A `prereq` adds a second, test-mode node of the chunk that it names, before the one that declares it.
   A requisite that names nothing is a problem.
3. Settle the cap: the order of chunks without one of their own.
4. Kahn's algorithm with a heap, by (order, lowered to that of the chunks that need this one; own order; name).
   What is left over when the heap runs dry are cycles: a problem that shows the chain.
"""

from __future__ import annotations

import fnmatch
import heapq
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from highstate.compile.chunks import Draft
from highstate.compile.high import REQUISITES
from highstate.compile.positions import near
from highstate.types import Chunk, Problem, Value

MOD_WATCH = frozenset(("at", "cmd", "etcd", "event", "module", "mount", "pkg", "service", "test"))
"""State modules that react to `watch` (Salt 3008); for all others it is a `require`."""

_WEIGHT = {kind: weight for weight, kind in enumerate(REQUISITES)}
_EDGES = (
    "require",
    "require_any",
    "watch",
    "watch_any",
    "prereq",
    "onfail",
    "onfail_any",
    "onfail_all",
    "onchanges",
    "onchanges_any",
)
"""The requisites that order chunks, in the order in which Salt looks at them; `listen` does not."""
_EDGE_KINDS = frozenset(_EDGES)
_LAST = 1_000_000
_TEST = "_|-__prereq_test__"
_GLOB = re.compile(r"[*?\[\]]")


def ordered(
    drafts: Sequence[Draft], *, disabled: Collection[str] = (), excluded: Collection[str] = ()
) -> tuple[tuple[Chunk, ...], list[Problem]]:
    """The chunks in running order, or the problems that keep them from having one.

    `disabled` requisites do not order; `excluded` IDs are named as the reason where one of them is required.
    """
    graph = _Graph(drafts, excluded)
    problems: list[Problem] = []
    cap = 1
    for draft in drafts:
        _watch_as_require(draft)
        found = graph.require(draft, disabled)
        problems.extend(found)
        if not found and isinstance(draft.order, int) and draft.order > max(cap - 1, 0):
            cap = draft.order + 100
    order = graph.sorted(cap)
    if len(order) < len(graph.drafts):
        problems.append(graph.cycle_problem())
    if problems:
        return (), problems
    chunks = {id(draft): draft.chunk() for draft in drafts}  # a draft that is prerequired stands twice in the order
    return tuple(chunks[id(graph.drafts[node])] for node in order), []


def _watch_as_require(draft: Draft) -> None:
    if draft.state in MOD_WATCH:
        return
    for watch, require in (("watch", "require"), ("watch_any", "require_any")):
        if watch in draft.arguments:
            draft.arguments[require] = [*draft.arguments.get(require, ()), *draft.arguments.pop(watch)]


class _Graph:
    """Chunks and the edges between them, from what is needed to what needs it, by kind of requisite."""

    def __init__(self, drafts: Iterable[Draft], excluded: Collection[str]) -> None:
        self.excluded = excluded
        self.drafts: dict[str, Draft] = {}
        self.into: dict[str, dict[str, dict[str, None]]] = {}
        self.out: dict[str, dict[str, dict[str, None]]] = {}
        self.by_name: dict[tuple[str, Value], dict[str, None]] = {}
        self.by_sls: dict[str, dict[str, None]] = {}
        for draft in drafts:
            tag, state, id_, name = draft.tag, draft.state, draft.id, draft.name
            self._add_node(tag, draft)
            keys: tuple[tuple[str, Value], ...] = (state, id_), ("id", id_)
            if name != id_:
                keys = (state, name), *keys, ("id", name)
            for key in keys:
                self.by_name.setdefault(key, {})[tag] = None
            for sls in (draft.sls, *draft.arguments.get("__sls_included_from__", ())):
                self.by_sls.setdefault(sls, {})[tag] = None

    def require(self, draft: Draft, disabled: Collection[str]) -> list[Problem]:
        """Add the edges of a chunk's requisites; the first that names nothing ends it, as in Salt."""
        arguments = draft.arguments
        if _EDGE_KINDS.isdisjoint(arguments):
            return []
        tag = draft.tag
        for kind in _EDGES:
            if kind not in arguments or kind in disabled:
                continue
            for requisite in arguments[kind] or ():
                problem = self._require_one(draft, tag, kind, requisite)
                if problem is not None:
                    return [problem]
        return []

    def _require_one(self, draft: Draft, tag: str, kind: str, requisite: Value) -> Problem | None:
        if isinstance(requisite, str):
            requisite = {"id": requisite}
        if not isinstance(requisite, dict) or not requisite or not isinstance(next(iter(requisite)), str):
            return draft.location.problem(
                f"{requisite!r} is not a requisite ({kind} of {_label(draft)})", draft.state, kind
            )
        state, name = next(iter(requisite.items()))
        if "." in state:
            state = state.split(".", 1)[0]
        if name is None:
            return None
        if not isinstance(name, str):
            return draft.location.problem(
                f"Requisite [{kind}: {state}] in state [{draft.name}] in SLS [{draft.sls}] must have a string as the "
                f"value, not {name!r}",
                draft.state,
                kind,
                hint="quote it",
            )
        needed = self._named(state, name)
        if needed is None:
            return draft.location.problem(
                f"Referenced state does not exist for requisite [{kind}: ({state}: {name})] in state [{draft.name}] "
                f"in SLS [{draft.sls}]",
                draft.state,
                kind,
                hint=self._missing_hint(state, name),
            )
        for one in needed:
            self._add_requisite(draft, tag, kind, one)
        return None

    def _named(self, state: str, name: str) -> list[str] | None:
        """Tags of the chunks that a requisite names; None when there are none and there must be."""
        if not _glob(name):
            tags = self.by_sls.get(name) if state == "sls" else self.by_name.get((state, name))
            return None if tags is None else list(tags)
        index: Mapping[Value, dict[str, None]] = self.by_sls
        if state != "sls":
            index = {known: tags for (of, known), tags in self.by_name.items() if of == state}
        found = {
            tag: None
            for known, tags in index.items()
            if isinstance(known, str) and fnmatch.fnmatch(known, name)
            for tag in tags
        }
        return list(found) if found or state == "sls" else None

    def _missing_hint(self, state: str, name: str) -> str:
        if state == "sls":
            return near(name, self.by_sls) or "an SLS can be required when it is included and declares states"
        if name in self.excluded:
            return f"ID {name!r} is excluded: exclude what requires it too, or take the requisite out"
        others = sorted({self.drafts[tag].state for tag in self.by_name.get(("id", name), ())})
        if others:
            return f"{name!r} is a state of {', '.join(others)}"
        return near(name, (known for of, known in self.by_name if of == state)) or near(
            name, (known for of, known in self.by_name if of == "id")
        )

    def _add_requisite(self, draft: Draft, tag: str, kind: str, needed: str) -> None:
        if kind == "prereq":
            self._add_prereq(tag, needed)
            return
        if draft.arguments.get("__prereq__"):
            self._add_edge(needed, tag + _TEST, kind)
        self._add_edge(needed, tag, kind)

    def _add_prereq(self, tag: str, required: str) -> None:
        """`tag` runs only if `required` would change something: a node for that test goes before `tag`."""
        self.drafts[tag].arguments["__prerequiring__"] = True
        self.drafts[required].arguments["__prereq__"] = True
        test = required + _TEST
        if test not in self.drafts:
            self._add_node(test, self.drafts[required])
            for source, kinds in list(self.into[required].items()):
                for kind in kinds:
                    if kind != "prereq":
                        self._add_edge(source, test, kind)
        self._add_edge(test, tag, "prereq")
        self._add_edge(tag, required, "require")
        if tag + _TEST in self.drafts:
            self._add_edge(test, tag + _TEST, "prereq")

    def _add_node(self, node: str, draft: Draft) -> None:
        self.drafts[node] = draft
        if node not in self.into:
            self.into[node], self.out[node] = {}, {}

    def _add_edge(self, source: str, target: str, kind: str) -> None:
        kinds = self.out[source].get(target)
        if kinds is None:  # both sides hold the same kinds
            kinds = self.out[source][target] = self.into[target][source] = {}
        kinds[kind] = None

    def sorted(self, cap: int) -> list[str]:
        """Nodes in running order; those of cycles, and what hangs on them, are left out. Settles every order."""
        waiting = {node: len(sources) for node, sources in self.into.items()}
        heap = [(self._key(node, cap), node) for node, count in waiting.items() if not count]
        heapq.heapify(heap)
        done: list[str] = []
        while heap:
            _, node = heapq.heappop(heap)
            done.append(node)
            for target in self.out[node]:
                waiting[target] -= 1
                if not waiting[target]:
                    heapq.heappush(heap, (self._key(target, cap), target))
        return done

    def _key(self, node: str, cap: int) -> tuple[float, float, str]:
        draft = self.drafts[node]
        own = _settle(draft, cap)
        lowest, weight = math.inf, -1
        for target, kinds in self.out[node].items():
            for kind in kinds:
                if _WEIGHT[kind] >= weight:
                    weight = _WEIGHT[kind]
                    needing = self.drafts[target]
                    if needing.has_order:
                        lowest = min(lowest, _number(needing, cap))
        return min(own, lowest), own, f"{draft.state}{draft.name}{draft.fun}"

    def cycle_problem(self) -> Problem:
        """The first cycle, shown as a chain."""
        cycle = self._cycle()
        parts = [_label(self.drafts[cycle[0]])]
        for needer, needed in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            kind = next(iter(self.into[needer][needed]))
            if kind == "require" and kind not in self.drafts[needer].arguments:
                kind = "prereq"
            parts.append(f"-> ({kind}) {_label(self.drafts[needed])}")
        draft = self.drafts[cycle[0]]
        kinds = [kind for kind in _EDGES if kind in draft.arguments]
        return draft.location.problem(
            "Recursive requisites were found: " + " ".join(parts),
            *((draft.state, kinds[0]) if kinds else (draft.state,)),
            hint="take out one requisite of this chain (Salt refuses it since 3008)",
        )

    def _cycle(self) -> list[str]:
        """Nodes of a cycle, each needing the next: peel off what nothing stuck needs, then walk until one returns."""
        stuck = set(self.drafts) - set(self.sorted(1))
        node = next(node for node in self.drafts if node in stuck)
        walk: dict[str, None] = {}
        while node not in walk:
            walk[node] = None
            node = next(source for source in self.into[node] if source in stuck)
        nodes = list(walk)
        return nodes[nodes.index(node) :]


def _number(draft: Draft, cap: int) -> float:
    """The order as a number: not a number is the cap; the words are settled for good, as Salt does."""
    if not isinstance(draft.order, (int, float)):
        draft.order = {"last": cap + _LAST, "first": 0}.get(draft.order, cap) if isinstance(draft.order, str) else cap
    draft.has_order = True
    return draft.order


def _settle(draft: Draft, cap: int) -> float:
    order = _number(draft, cap)
    if draft.name_order:
        order += draft.name_order / 10000.0
        draft.name_order = 0
        draft.order = order
    if order < 0:
        order += cap + _LAST
        draft.order = order
    return order


def _glob(name: str) -> bool:
    return _GLOB.search(name) is not None


def _label(draft: Draft) -> str:
    name = "" if draft.name == draft.id else f" (name {draft.name})"
    return f"{draft.state}: {draft.id}{name} in SLS {draft.sls!r}"
