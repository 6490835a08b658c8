"""Which check stands on the head, and on the head before. Pure; a part of `decision`."""

from __future__ import annotations

from collections.abc import Iterator

from controller.forges.client import CheckState, ForgeCheck
from controller.pull_requests import checks
from controller.pull_requests.instructions import Look, PullInstruction, PullRules, SetCheck
from controller.pull_requests.wanted_previews import is_current
from controller.store.pull_requests import Previewed

FAILURES_SHOWN = 2
"""Failures in a row of a preview after which the check says so."""


def check_steps(look: Look, rules: PullRules, wanted: Previewed | None) -> Iterator[PullInstruction]:
    """The check of the head, where it does not stand there yet; `wanted`: what is to be previewed."""
    record = look.record
    check = _check_of(look, rules, wanted)
    if record.check_digest != checks.digest_of(record.head, check):
        yield SetCheck(record.head, check)


def cancelled_check_steps(look: Look, rules: PullRules) -> Iterator[PullInstruction]:
    """A check does not run for ever on a commit that nobody previews any more."""
    if look.record.check_state == CheckState.RUNNING.value:
        yield SetCheck(look.record.check_head, checks.cancelled_check(rules.check))


def _check_of(look: Look, rules: PullRules, wanted: Previewed | None) -> ForgeCheck:
    record = look.record
    if wanted is None:
        return checks.waiting_check(rules.check, record.head)
    if look.report is not None and is_current(record, wanted):
        approved_by = record.approved_by if record.approved == record.head else ""
        return checks.check_of(look.report, rules.check, approved_by=approved_by, url=look.url)
    if record.failures >= FAILURES_SHOWN:
        return checks.failed_check(rules.check, record.failure)
    return checks.running_check(rules.check)
