"""Plans: what was made with blanks, found again for minions of which the same was read but for the blanks.

Which values are worth a blank is learned: those texts that two minions of one kind have in other words, among what
was read of both. A kind is the key of a memo: the same SLS. Used by `highstate.compile.blank_compile` and by pillar.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from highstate.memo.blank_recorder import BlankInputs
from highstate.memo.blanks import MOST_BLANKS, BlankRefused, Leaf, fillable, has_blanks
from highstate.memo.memo import Hit, Memo
from highstate.memo.sources import Read, ReadSources, deep_value, digest_value
from highstate.memo.tracked import Recorder
from highstate.types import Value

Plan = TypeVar("Plan")

FEWEST = 5.0
"""Renders that a minion must have cost for a plan to be worth its while."""
FOUND = 8
"""So many SLS that are found in a memo cost as much as one that is rendered."""
PRICE = 4.0
"""A first try costs as much as so many compiles in full, in which each SLS is rendered, with the code of templates."""
PROVEN = 2.0
"""And one where the last try gave a plan: these minions are of a class that is new, or a file is another one."""
_SETS = 4
_REFUSALS = 6
"""Times that one is begun anew without the blanks that a template looks into."""
_ROOTS = ("grains", "pillar")
_DEEPEST = 50


@dataclass(slots=True, eq=False)
class BlankHistory:
    """What was learned from the minions of one kind: which values of theirs are worth a blank."""

    roots: Mapping[str, Mapping[str, Value]]
    """Of the costly one that came last: minions that are alike come one after the other."""
    leaves: dict[Leaf, None] = field(default_factory=dict)
    sets: list[bytes] = field(default_factory=list)
    """Names of the sets of leaves that there are plans with, the newest first: at most `_SETS`."""
    refused: set[Leaf] = field(default_factory=set)
    """Those that a template looks into."""
    spent: float = 0.0
    """What costly minions have cost since the last try, in renders."""
    owed: int = 1
    """Tries that they have to be worth before the next; 0: the last one gave a plan."""

    def refuse(self, leaves: Iterable[Leaf]) -> None:
        """No blanks for these any more."""
        for leaf in tuple(leaves):
            self.leaves.pop(leaf, None)
            self.refused.add(leaf)

    def learn(self, sources: ReadSources, reads: Mapping[Read, bytes]) -> list[Leaf]:
        """Add the texts that another minion has in other words, among what was read of it; those that are new."""
        new: list[Leaf] = []
        for read in reads:
            if read[0] in ("peek", "value") and read[1] in _ROOTS:
                root, path = read[1], read[2]
                here = deep_value(sources.roots[root], path)
                if read[0] == "peek" and isinstance(here, Mapping):
                    continue
                for place in differences(deep_value(self.roots[root], path), here):
                    leaf = root, (*path, *place)
                    if leaf not in self.refused and leaf not in self.leaves and len(self.leaves) < MOST_BLANKS:
                        self.leaves[leaf] = None
                        new.append(leaf)
        return new

    def keep_set(self) -> bytes:
        """Name the leaves as they are now: there is a plan with them."""
        name = digest_value(list(self.leaves))
        self.sets[:] = [name, *(each for each in self.sets if each != name)][:_SETS]
        return name


def differences(one: Value, other: Value, depth: int = 0) -> Iterator[tuple[Any, ...]]:
    """Places of the texts in two values that could be filled in and are not the same in both."""
    if one is other or depth > _DEEPEST:
        return
    if fillable(one) and fillable(other):
        if one != other:
            yield ()
    elif isinstance(one, dict) and isinstance(other, dict):
        for key, inner in one.items():
            if key in other:
                for place in differences(inner, other[key], depth + 1):
                    yield (key, *place)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (inner, another) in enumerate(zip(one, other, strict=True)):
            for place in differences(inner, another, depth + 1):
                yield (at, *place)


Key = tuple[Hashable, ...]


def cost_of(renders: int, sls: int) -> float:
    """What a minion with so many SLS has cost, in renders; 0 where others of its kind can hardly be had for less."""
    cost = renders + sls / FOUND
    return cost if renders and cost >= FEWEST else 0.0


def _history_key(key: Key) -> Key:
    return ("history of blanks", *key)


def _plan_key(key: Key, leaves: bytes) -> Key:
    return ("with blanks", leaves, *key)


def find_plan(key: Key, memo: Memo, sources: ReadSources, kind: Key = ()) -> Hit | None:
    """The plan for a minion; None when there is none. `kind`: as in `learn_plan`."""
    known = memo.find(_history_key(kind or key), sources)
    if known is None:
        return None
    history: BlankHistory = known.result
    for leaves in history.sets:
        hit = memo.find(_plan_key(key, leaves), sources)
        if hit is not None:
            return hit
    return None


def learn_plan(
    key: Key,
    memo: Memo,
    recorder: Recorder,
    make: Callable[[BlankInputs, Recorder], Plan],
    is_right: Callable[[Plan], bool],
    kind: Key = (),
    cost: float = 1.0,
    whole: float = 2.0,
) -> None:
    """Make a plan of what was read of a minion, if there can be one.

    Args:
        key: of the kind of minion.
        memo: where plans are.
        recorder: what was read of this minion, by value.
        make: makes a plan with blanks, and records what that reads; BlankRefused where it cannot.
        is_right: whether the plan, filled in for this minion, is what was made for it without.
        kind: of minions that learn together, where that is more than those of one key.
        cost: of this minion, in renders.
        whole: of a compile in full.
    """
    sources = recorder.sources
    roots = {root: sources.roots[root] for root in _ROOTS}
    known = memo.find(_history_key(kind or key), sources)
    if known is None:
        memo.store(_history_key(kind or key), {}, BlankHistory(roots=roots))
        return
    history: BlankHistory = known.result
    history.spent += cost
    if history.spent >= (history.owed * PRICE or PROVEN) * whole:
        history.spent, history.owed = 0.0, 0
        _try(key, memo, recorder, history, make, is_right)
    history.roots = roots


def _try(
    key: Key,
    memo: Memo,
    recorder: Recorder,
    history: BlankHistory,
    make: Callable[[BlankInputs, Recorder], Plan],
    is_right: Callable[[Plan], bool],
) -> None:
    new = history.learn(recorder.sources, recorder.reads)
    for _ in range(_REFUSALS):
        if not history.leaves:
            history.owed += 1
            return
        reads = Recorder(recorder.sources)
        try:
            plan = make(BlankInputs(recorder.sources, tuple(history.leaves)), reads)
        except BlankRefused as refused:
            history.owed += 1
            history.refuse(refused.leaves or history.leaves.keys() & new or tuple(history.leaves))
            continue
        if not (reads.live or _mentions(reads.reads)) and is_right(plan):
            memo.store(_plan_key(key, history.keep_set()), reads.reads, plan)
        else:
            history.owed += _REFUSALS
        return


def texts_of(leaves: Sequence[Leaf], sources: ReadSources) -> list[str]:
    """The texts of a minion; one that cannot be filled in was not read, or the plan had not been found."""
    found = (deep_value(sources.roots[root], path) for root, path in leaves)
    return [value if fillable(value) else "" for value in found]


def _mentions(reads: Mapping[Read, bytes]) -> bool:
    """Whether a path, question or key that was read has a blank in it: it would be another one for each minion."""
    return any(has_blanks(repr(read)) for read in reads)
