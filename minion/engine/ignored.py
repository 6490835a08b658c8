"""What the engine does about differences that policy ignores (`highstate.run.ignoring`).

A state in which nothing else differs is left alone. Where something else differs too, the plan is made again without
the arguments that are ignored, so that they stay as they are; a state that cannot be planned so is left alone, too.
What is made anew (a file, a user) is made whole: ignored is what differs, and not what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from highstate.run.ignoring import IgnoredAttribute, IgnoreRule, SplitChanges, split
from highstate.types import Chunk, StateResult, Value
from minion.engine.results import show
from minion.machine.plan import Change, Plan

_IGNORED = "What differs is ignored"
_CREATED = {"user": ("name",), "group": ("name",)}
"""State module -> attributes that only what is made anew has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedState:
    """A plan, and the arguments that it was made with."""

    plan: Plan
    arguments: Mapping[str, Any]
    inseparable: tuple[str, ...] = ()
    """What cannot be put right without what is ignored."""
    made_anew: bool = False
    """Whether it is not there yet, so that nothing is ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignoring:
    """The rules of a run."""

    rules: tuple[IgnoreRule, ...]

    def concerns(self, chunk: Chunk) -> bool:
        """Whether a rule is about a state."""
        return any(rule.concerns(chunk) for rule in self.rules)

    def replanned(
        self,
        chunk: Chunk,
        first: PlannedState,
        again: Callable[[Mapping[str, Any]], Plan],
        takes: Collection[str],
        *,
        there: bool,
    ) -> PlannedState:
        """The plan of a state without what is ignored, where it can be made.

        Args:
            chunk: the state.
            first: as it is made with all arguments.
            again: makes a plan with other ones; what it raises is raised.
            takes: names of the arguments that the function takes.
            there: whether what the state is about is there already.
        """
        found = split(chunk, shown(first.plan.changes), self.rules)
        made_anew = not there or set(found.left) & set(_CREATED.get(chunk.state, ()))
        if not found.ignored or not found.left or made_anew:
            return replace(first, made_anew=bool(made_anew))
        others = _without(first.arguments, found.ignored, takes)
        made = again(others)
        if split(chunk, shown(made.changes), self.rules).ignored:
            return replace(first, inseparable=tuple(found.left))
        return PlannedState(plan=made, arguments=others)

    def predicted(
        self, chunk: Chunk, result: StateResult, differs: Mapping[str, Value], inseparable: Sequence[str] = ()
    ) -> StateResult:
        """The prediction of a state: without what is ignored, which it shows apart.

        Args:
            chunk: the state.
            result: the prediction, by the plan that is followed.
            differs: all that differs, ignored or not.
            inseparable: what cannot be put right without what is ignored, where the plan is to be followed now.
        """
        found = split(chunk, differs, self.rules)
        if not found.ignored or result.result is False:
            return result
        apart = replace(result, changes=split(chunk, result.changes, self.rules).left, ignored=found.shown())
        if inseparable:
            comment = f"Left as it is: {', '.join(inseparable)} cannot be put right without what is ignored"
            return replace(apart, result=True, comment=comment, changes={})
        return apart if found.left else replace(apart, result=True, comment=_said(found), changes={})


def _said(found: SplitChanges) -> str:
    names = ", ".join(":".join(each.path) for each in found.ignored)
    reasons = dict.fromkeys(each.rule.reason for each in found.ignored if each.rule.reason)
    return f"{_IGNORED}: {names}" + (f" ({'; '.join(reasons)})" if reasons else "")


def shown(changes: Sequence[Change]) -> dict[str, Value]:
    """Changes as results have them."""
    found: dict[str, Value] = {}
    for change in changes:
        show(change, found)
    return found


def _without(
    arguments: Mapping[str, Any], ignored: Sequence[IgnoredAttribute], takes: Collection[str]
) -> dict[str, Any]:
    """The arguments without those that say what an ignored attribute is to be."""
    names = {each.name for each in ignored} | {each.path[0] for each in ignored}
    left = {key: value for key, value in arguments.items() if key not in names}
    if "diff" in names and "replace" in takes:
        left["replace"] = False
    if isinstance(packages := left.get("pkgs"), list | tuple):
        left["pkgs"] = tuple(one for one in packages if one[0] not in names)
    return left
