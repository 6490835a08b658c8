"""Previews that begin and end. Pure; a part of `decision`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from controller.pull_requests.apply_rules import applying_minions
from controller.pull_requests.command_records import target_of, with_command
from controller.pull_requests.instructions import (
    CancelPreview,
    Look,
    LookAgainAt,
    PullInstruction,
    PullRules,
    RunningPreview,
    StartPreview,
)
from controller.pull_requests.wanted_previews import again_at, base_moved, is_current, same_preview
from controller.schema.reports import PreviewReport
from controller.store.pull_requests import Previewed, PullRecord, ReportCounts


def preview_steps(look: Look, rules: PullRules, wanted: Previewed | None, now: float) -> Iterator[PullInstruction]:
    """Previews that begin and end; first what is wanted, then what commands ask for, then what has another base."""
    record, running = look.record, look.running
    stale = (
        running is not None and not running.command and (wanted is None or not same_preview(running.preview, wanted))
    )
    if stale or _is_orphan(look, running):
        yield CancelPreview()
        running = None
    if wanted is not None and not is_current(record, wanted):
        yield from _preview(record, wanted, running, now)
    elif running is None and (asked := _targeted(look, rules)) is not None:
        yield asked
    elif running is None and wanted is not None:
        yield from _again(look, rules, wanted, now)


def previewed(
    record: PullRecord, running: RunningPreview, report: PreviewReport | None, failure: str, now: float
) -> PullRecord:
    """The record after a preview for the comment has ended.

    Args:
        record: before.
        running: the preview.
        report: that it gave.
        failure: why there is none that can be kept; empty when there is.
        now: seconds since the epoch.
    """
    if running.preview.head != record.head:
        return record  # there is a newer head
    if not failure and report is not None:
        counts = counts_of(report)
        return replace(record, previewed=running.preview, counts=counts, failure="", failures=0, retry_at=0.0)
    failures = record.failures + 1
    return replace(record, failure=failure, failures=failures, retry_at=now + backoff(failures))


def counts_of(report: PreviewReport) -> ReportCounts:
    """What lists show of a report."""
    approvable = sum(each.approvable for each in report.violations)
    return ReportCounts(
        made_at=report.made_at,
        base=report.base,
        minions=report.minions,
        changed=report.changed,
        classes=len(report.classes),
        broken=report.broken_minions,
        unknown=report.unknown_minions,
        approvable=approvable,
        violations=len(report.violations) - approvable,
    )


def answered(record: PullRecord, comment: str, answer: str, *, done: bool) -> PullRecord:
    """The record after what a command asked for was made, or could not be made."""
    state: Literal["done", "refused"] = "done" if done else "refused"
    return with_command(record, comment, state=state, answer=answer)


def backoff(failures: int) -> float:
    """Seconds until a preview is tried again after so many failures in a row: 10 s doubling to an hour."""
    return float(min(3600, 10 * 2 ** min(max(failures, 1) - 1, 10)))


def _is_orphan(look: Look, running: RunningPreview | None) -> bool:
    """Whether a preview with a target runs, and its command is not waited for any more or is about an older head."""
    if running is None or not running.command:
        return False
    waiting = {each.comment for each in look.record.commands if each.state in ("previewing", "applying")}
    return running.command not in waiting or running.preview.head != look.record.head


def _preview(
    record: PullRecord, wanted: Previewed, running: RunningPreview | None, now: float
) -> Iterator[PullInstruction]:
    if running is not None and not running.command:
        return
    if record.retry_at > now:
        yield LookAgainAt(record.retry_at)
        return
    if running is not None:
        yield CancelPreview()
    yield StartPreview(RunningPreview(preview=replace(wanted, at=now), head_at=record.head_at))


def _again(look: Look, rules: PullRules, wanted: Previewed, now: float) -> Iterator[PullInstruction]:
    """The preview of the same head on a newer base: now and then, however often the base moves."""
    record = look.record
    if record.previewed is None or not base_moved(record, look.base):
        return
    due = again_at(record, rules.again_seconds)
    if due > now:
        yield LookAgainAt(due)
        return
    yield StartPreview(RunningPreview(preview=replace(wanted, at=now), again=True, head_at=record.head_at))


def _targeted(look: Look, rules: PullRules) -> StartPreview | None:
    command = next((each for each in look.record.commands if each.state in ("previewing", "applying")), None)
    if command is None:
        return None
    preview = Previewed(head=look.record.head, base_branch=look.record.base_branch, at=command.at)
    if command.state == "applying":
        minions = applying_minions(look, rules, command)
        return StartPreview(RunningPreview(preview=preview, command=command.comment, minions=minions))
    return StartPreview(RunningPreview(preview=preview, command=command.comment), target_of(command))
