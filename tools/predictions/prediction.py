"""What a preview says, state by state: the only module here that knows the form in which a preview comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.cli.client import Client
from controller.schema.preview_stream import PreviewFinished
from controller.schema.reports import PreviewReport
from controller.schema.requests import PreviewQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetoldState:
    """One state of one minion."""

    result: bool | None
    """None: it would change something."""
    changes: Mapping[str, Any]
    comment: str
    uncertain: str = ""
    """Why the preview does not vouch for it; empty when it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a preview says of a change."""

    states: dict[str, dict[str, ForetoldState]] = field(default_factory=dict)
    """Minion -> states that change or are run, by key."""
    broken: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    untested: frozenset[str] = frozenset()
    """Minions that change and that nobody asked."""
    timing: dict[str, frozenset[str]] = field(default_factory=dict)
    """Kind of what is said about when it is applied -> minions."""
    problems: tuple[str, ...] = ()
    missed: dict[str, dict[str, ForetoldState]] = field(default_factory=dict)
    """Minion -> states that the check after the push finds and has applied, by key; those that are uncertain it may."""


def predict(config: Path, base: str, head: str, *, merge: bool = False) -> Prediction:
    """Ask the controller of this configuration for a preview with test runs on all minions."""
    with Client(config) as client:
        for item in client.stream("/preview", PreviewQuestion(base=base, head=head, live="all", merge=merge)):
            if isinstance(item, PreviewFinished):
                return _prediction(item.report)
    raise ValueError("the preview ended without a report")


def _prediction(report: PreviewReport) -> Prediction:
    states: dict[str, dict[str, ForetoldState]] = {}
    untested: set[str] = set()
    missed: dict[str, dict[str, ForetoldState]] = {}
    for one in report.classes:
        states |= {minion: {} for minion in one.minions}
        for test in one.tests:
            if test.outcome == "unreachable":
                untested.add(test.minion)
            found = {**test.drift, **test.states}
            states[test.minion] = {key: _state(entry) for key, entry in found.items()}
            missed[test.minion] = {key: _state(entry) for key, entry in test.missed.items()}
    return Prediction(
        states=states,
        broken=frozenset(minion for each in report.broken for minion in each.minions),
        unknown=frozenset(minion for each in report.unknown for minion in each.minions),
        untested=frozenset(untested),
        timing={each.kind: frozenset(each.minions) for each in report.timing},
        problems=report.problems,
        missed=missed,
    )


def _state(entry: Mapping[str, Any]) -> ForetoldState:
    return ForetoldState(
        result=entry["result"],
        changes=entry["changes"],
        comment=entry["comment"],
        uncertain=entry.get("uncertain", ""),
    )
