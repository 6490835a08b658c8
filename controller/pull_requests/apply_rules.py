"""Whether a head may be applied before its merge, and on which minions. Pure; called for a command, and again when the
documents are there.
"""

from __future__ import annotations

from collections.abc import Collection

from controller.forges.client import CheckState
from controller.policy.policy import PreviewPolicy
from controller.preview.live.sampling import sampled
from controller.pull_requests import checks
from controller.pull_requests.commands import ApplyHead, parse
from controller.pull_requests.instructions import Look, PullRules
from controller.pull_requests.wanted_previews import base_moved
from controller.schema.reports import PreviewReport
from controller.store.pull_requests import CommandRecord


def apply_refusal(look: Look, rules: PullRules) -> str:
    """Why nothing is applied, with what to do about it; empty: it may be."""
    return _not_allowed(look, rules) or _not_previewed(look) or _not_good(look, rules) or _held(look)


def chosen_minions(
    report: PreviewReport, policy: PreviewPolicy, connected: Collection[str], *, canary: bool
) -> tuple[str, ...]:
    """The minions that a head is applied to: all that it concerns, or a few of each class of change.

    Args:
        report: of the head.
        policy: of the base.
        connected: minions that are connected; they are taken first.
        canary: whether a few are wanted.
    """
    if not canary:
        return tuple(sorted(minion for each in report.classes for minion in each.minions))
    return tuple(
        sorted(
            minion
            for each in report.classes
            for minion in sampled([each], connected, policy.canaries_of(len(each.minions)))
        )
    )


def applying_minions(look: Look, rules: PullRules, command: CommandRecord) -> tuple[str, ...]:
    """The minions of a command to apply."""
    parsed = parse(command.text)
    canary = isinstance(parsed, ApplyHead) and parsed.canary
    return () if look.report is None else chosen_minions(look.report, rules.policy, look.connected, canary=canary)


def _not_allowed(look: Look, rules: PullRules) -> str:
    if not rules.policy.apply:
        return (
            "The policy does not allow it: `previews: {apply: true}` in saltern.yaml of the base branch does. Without "
            "it a change is applied when it is merged."
        )
    if rules.manual:
        return "The policy is `apply: manual`: what minions apply is started by `saltern sync`, after the merge."
    if look.pull.from_fork:
        return "The commits come from another repository. Push them to a branch of this one to apply them."
    return ""


def _not_previewed(look: Look) -> str:
    record, report = look.record, look.report
    if report is None or record.previewed is None or record.previewed.head != look.pull.head:
        return "The head commit has not been previewed yet. Write the command again when the comment shows its preview."
    if record.previewed.restricted or not report.merged:
        return "The preview is not about the head as it would be merged; its comment says why. Mend that first."
    if base_moved(record, look.base) or record.previewed.base_branch != look.pull.base_branch:
        return (
            "The base has moved since the preview. `/saltern preview` makes a new one; look at it, then write the "
            "command again."
        )
    return ""


def _not_good(look: Look, rules: PullRules) -> str:
    record, report = look.record, look.report
    if report is None:
        return ""
    approved = record.approved == look.pull.head
    missing = [each for each in report.violations if each.approvable]
    if missing and not approved:
        return f"It needs an approval for {missing[0].rule}: `/saltern approve`, then write the command again."
    check = checks.check_of(report, rules.check, approved_by=record.approved_by if approved else "")
    if check.state is not CheckState.SUCCESS:
        return "The check fails: what it says has to be mended first."
    return "" if report.classes else "The preview says that nothing changes, so that there is nothing to apply."


def _held(look: Look) -> str:
    report = look.report
    if report is None or not look.held_by_others:
        return ""
    for minion in sorted(minion for each in report.classes for minion in each.minions):
        if minion in look.held_by_others:
            other = look.held_by_others[minion]
            if not other:
                return (
                    f"`{minion}` was taken back to an earlier revision. `saltern rollback --undo` lets it come again."
                )
            return (
                f"`{minion}` holds what was applied from {other}. `/saltern unapply` there releases it, or its merge."
            )
    return ""
