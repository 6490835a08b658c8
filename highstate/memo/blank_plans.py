"""Plans: what was made with blanks, found again for minions of which the same was read but for the blanks.

Which values are worth a blank is learned: those texts that two minions of one kind have in other words, among what
was read of both. A kind is the key of a memo: the same SLS. Used by `highstate.compile.blank_compile` and by pillar.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from highstate.memo.blank_recorder import BlankInputs
from highstate.memo.blanks import MOST_BLANKS, BlankRefused, Leaf, fillable, has_blanks
from highstate.memo.memo import Hit, Memo
from highstate.memo.sources import Read, ReadSources, deep_value, digest_value
from highstate.memo.tracked import Recorder
from highstate.types import Value

Plan = TypeVar("Plan")

FEWEST = 5
"""Renders that a minion must have cost for a plan to be worth its while."""
PART = 2
"""More than this part of its SLS must have been rendered."""
PRICE = 8
"""A try costs as much as some compiles: so many minions must have been costly, or served by a plan, for each."""
_REFUSALS = 6
"""Times that one is begun anew without the blanks that a template looks into."""
_ROOTS = ("grains", "pillar")
_DEEPEST = 50


@dataclass(slots=True, eq=False)
class BlankHistory:
    """What was learned from the minions of one kind: which values of theirs are worth a blank."""

    roots: Mapping[str, Mapping[str, Value]]
    """Of the first of them."""
    leaves: dict[Leaf, None] = field(default_factory=dict)
    digest: bytes = b""
    """Names the leaves."""
    refused: set[Leaf] = field(default_factory=set)
    """Those that a template looks into."""
    costly: int = 0
    """Minions for which most was rendered."""
    tried: int = 0
    """Times that a compile with blanks was begun."""
    used: int = 0
    """Minions that such a compile has served."""

    def refuse(self, leaves: frozenset[Leaf]) -> None:
        """No blanks for these any more; none given: for all."""
        for leaf in leaves or tuple(self.leaves):
            self.leaves.pop(leaf, None)
            self.refused.add(leaf)
        self.digest = digest_value(list(self.leaves))

    def learn(self, sources: ReadSources, reads: Mapping[Read, bytes]) -> None:
        """Add the texts that another minion has in other words, among what was read of it."""
        for read in reads:
            if read[0] in ("peek", "value") and read[1] in _ROOTS:
                root, path = read[1], read[2]
                here = deep_value(sources.roots[root], path)
                if read[0] == "peek" and isinstance(here, Mapping):
                    continue
                for place in differences(deep_value(self.roots[root], path), here):
                    leaf = root, (*path, *place)
                    if leaf not in self.refused and len(self.leaves) < MOST_BLANKS:
                        self.leaves[leaf] = None
        self.digest = digest_value(list(self.leaves))


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


def is_costly(renders: int, sls: int) -> bool:
    """Whether a minion with so many SLS cost so many renders that others of its kind may be had for less."""
    return renders >= FEWEST and renders * PART > sls


def _history_key(key: Key) -> Key:
    return ("history of blanks", *key)


def _plan_key(key: Key, history: BlankHistory) -> Key:
    return ("with blanks", history.digest, *key)


def find_plan(key: Key, memo: Memo, sources: ReadSources, kind: Key = ()) -> tuple[Hit, BlankHistory] | None:
    """The plan for a minion, and where its use is counted; None when there is none. `kind`: as in `learn_plan`."""
    known = memo.find(_history_key(kind or key), sources)
    if known is None or not known.result.leaves:
        return None
    hit = memo.find(_plan_key(key, known.result), sources)
    return None if hit is None else (hit, known.result)


def learn_plan(
    key: Key,
    memo: Memo,
    recorder: Recorder,
    make: Callable[[BlankInputs, Recorder], Plan],
    is_right: Callable[[Plan], bool],
    kind: Key = (),
    price: int = 1,
) -> None:
    """Make a plan of what was read of a minion, if there can be one.

    Args:
        key: of the kind of minion.
        memo: where plans are.
        recorder: what was read of this minion, by value.
        make: makes a plan with blanks, and records what that reads; BlankRefused where it cannot.
        is_right: whether the plan, filled in for this minion, is what was made for it without.
        kind: of minions that learn together, where that is more than those of one key.
        price: how many times `PRICE` a try has to be worth.
    """
    sources = recorder.sources
    known = memo.find(_history_key(kind or key), sources)
    if known is None:
        roots = {root: sources.roots[root] for root in _ROOTS}
        memo.store(_history_key(kind or key), {}, BlankHistory(roots=roots))
        return
    history: BlankHistory = known.result
    history.costly += 1
    if (history.tried + 1) * PRICE * price > history.costly + history.used:
        return
    history.learn(sources, recorder.reads)
    for _ in range(_REFUSALS):
        if not history.leaves:
            return
        history.tried += 1
        reads = Recorder(sources)
        try:
            plan = make(BlankInputs(sources, tuple(history.leaves)), reads)
        except BlankRefused as refused:
            history.refuse(refused.leaves)
            continue
        if not (reads.live or _mentions(reads.reads)) and is_right(plan):
            memo.store(_plan_key(key, history), reads.reads, plan)
        else:
            history.tried += _REFUSALS
        return


def texts_of(leaves: Sequence[Leaf], sources: ReadSources) -> list[str]:
    """The texts of a minion; one that cannot be filled in was not read, or the plan had not been found."""
    found = (deep_value(sources.roots[root], path) for root, path in leaves)
    return [value if fillable(value) else "" for value in found]


def _mentions(reads: Mapping[Read, bytes]) -> bool:
    """Whether a path, question or key that was read has a blank in it: it would be another one for each minion."""
    return any(has_blanks(repr(read)) for read in reads)
