"""From what was compared to the report. Pure.

Called by `preview` in a thread, before a minion is asked for a test run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from controller.policy.policy import PreviewPolicy
from controller.preview.capabilities import capabilities
from controller.preview.classes import change_classes, error_classes, noted
from controller.preview.comparison import Comparison
from controller.preview.contents.pillar_keys import PillarOrigins
from controller.preview.folding import Fleet, folded
from controller.preview.forecast import FleetGroup, groups_of, restarts
from controller.preview.origins import Origins
from controller.preview.violations import changed_rules, unchecked, violations
from controller.schema.reports import PreviewReport
from highstate.types import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the fleet."""

    grains: Mapping[str, Mapping[str, Any]]
    """Minion -> grains; of all minions."""
    groups: Sequence[FleetGroup] = ()
    """Nodegroups, and targets of the top file where the policy has them."""


def completed(
    report: PreviewReport,
    found: Comparison,
    known: Known,
    policies: tuple[PreviewPolicy, PreviewPolicy],
    origins: Origins,
    pillars: tuple[Files, Files],
) -> PreviewReport:
    """The report with all that follows from the comparison.

    Args:
        report: with what is known before: refs, times.
        found: both sides of each minion.
        known: the whole fleet.
        policies: of the base, which holds, and of the head.
        origins: finds where states are written.
        pillars: the pillar of the base and of the head.
    """
    fleet = Fleet.of(known.grains)
    classes = noted(origins.located(change_classes(found.changes, known.grains, fleet)), found.whole, found.cut)
    classes = PillarOrigins(*pillars, origins.commits).located(classes)
    groups = (*known.groups, *groups_of(known.grains, policies[0].group_grains))
    services = restarts(found.acts, groups, fleet)
    place_of = origins.places.of_problem
    return structs.replace(
        report,
        minions=found.minions,
        changed=len(found.changes),
        unchanged=found.unchanged,
        classes=classes,
        broken=error_classes(found.broken, fleet, place_of),
        unknown=error_classes(found.unknown, fleet, place_of),
        warned=error_classes(found.warned, fleet, place_of),
        restarts=services,
        timing=tuple(structs.replace(each, folded=folded(each.minions, fleet)) for each in report.timing),
        capabilities=capabilities([(origins.before, origins.after), pillars], classes),
        violations=(
            *violations(policies[0], classes, services),
            *unchecked(policies[0], len(found.cut), len(found.not_run)),
        ),
        problems=(*report.problems, *changed_rules(*policies), *_cut(found), *_ungrouped(policies[0], known)),
    )


def as_plan(report: PreviewReport, *, moves_live: bool) -> PreviewReport:
    """The report of a comparison: no rule is checked, and when it would be applied is told from what is live alone."""
    timing = report.timing if moves_live else ()
    return structs.replace(report, kind="plan", violations=(), capabilities=(), timing=timing)


def _ungrouped(policy: PreviewPolicy, known: Known) -> tuple[str, ...]:
    if not policy.group_targets or any(group.is_target for group in known.groups):
        return ()
    return ("saltern.yaml: previews.groups: no target of the top file could be told; `top` makes no group",)


def _cut(found: Comparison) -> tuple[str, ...]:
    """What the report does not show because there is too much of it."""
    texts = []
    if found.shortened:
        names = f"of {_minions(found.shortened)} the states alone are named, without what changes in them"
        texts.append(f"The changes are too large to be shown whole: {names} (limits: preview: change_bytes)")
    if found.unrendered:
        minions = f"of {_minions(found.unrendered)} files are not compared as they are rendered"
        texts.append(f"Too many templates differ: {minions} (limits: preview: rendered)")
    if found.cut:
        left_out = f"of {_minions(len(found.cut))} not all states that change are shown"
        texts.append(f"Too much changes: {left_out} (limits: preview: change_bytes, minion_change_bytes)")
    return tuple(texts)


def _minions(count: int) -> str:
    return f"{count} minion" if count == 1 else f"{count} minions"
