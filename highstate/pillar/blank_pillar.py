"""Pillars with blanks, filled in for minions of which the same was read but for the blanks. Called by `pillar`.

Law (property-tested): filled in = compiled afresh. Source: docs/adr/0026-blanks.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from highstate.memo.blank_plans import find_plan, texts_of
from highstate.memo.blank_recorder import BlankInputs
from highstate.memo.blanks import Filled, Leaf, NotAlike, form_of
from highstate.memo.memo import Memo
from highstate.memo.sources import ReadSources
from highstate.memo.tracked import Recorder
from highstate.render.yaml.blank_scalars import BlankScalars
from highstate.types import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankPillar:
    """A pillar with marks in the place of blanks."""

    leaves: tuple[Leaf, ...]
    pillar: Mapping[str, Value]
    form: Filled | None
    """What fills it in; None where nothing is to be filled in."""
    scalars: BlankScalars

    def filled(self, sources: ReadSources) -> Mapping[str, Value] | None:
        """The pillar of a minion; None when it has to be compiled."""
        if self.form is None:
            return self.pillar
        texts = texts_of(self.leaves, sources)
        try:
            self.scalars.check(texts)
            made: Mapping[str, Value] = self.form(texts)
        except NotAlike:
            return None
        return made


def blank_pillar(pillar: Mapping[str, Value], inputs: BlankInputs) -> BlankPillar:
    """What was made of inputs with blanks."""
    return BlankPillar(
        leaves=inputs.leaves, pillar=pillar, form=form_of(pillar), scalars=BlankScalars.of(inputs.scalars)
    )


def filled_pillar(key: tuple[Hashable, ...], memo: Memo, recorder: Recorder) -> Mapping[str, Value] | None:
    """The pillar of a minion, filled in; None when it has to be compiled."""
    hit = find_plan(key, memo, recorder.sources)
    if hit is None:
        return None
    plan: BlankPillar = hit.result
    made = plan.filled(recorder.sources)
    if made is not None:
        recorder.absorb(hit.reads)
    return made
