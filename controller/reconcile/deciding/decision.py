"""The decision: what is to be done for one minion now. Pure; `controller.reconcile.reconciler` carries it out.

Level-triggered: the answer follows from the facts in `ObservedState` alone, whatever woke the loop, so that a crash at
any point resumes by asking again. The order of the rules is the order of the text below.
"""

from __future__ import annotations

import math

from controller.policy.policy import MinionPolicy
from controller.reconcile.deciding.confirming import ReachedDocument, confirming
from controller.reconcile.deciding.instructions import (
    AfterRun,
    Apply,
    ApplyMissed,
    ApplyRequested,
    CheckPush,
    CheckRun,
    Decline,
    Declined,
    Instruction,
    JoinRun,
    LookInShadow,
    ReleaseHold,
    Remediate,
    RemediateApplied,
    RequeueAfter,
    Resend,
    SendApplied,
    SendAutonomy,
    SendConfirmed,
    SendDesired,
    SkipCheck,
    TakeApplied,
    TimeOutRun,
    WaitForRemotes,
)
from controller.reconcile.deciding.observed_state import Drift, Health, ObservedState, OpenRun, Request, Sync
from reactors.confirmation import ConfirmRules, digest_of_confirm_rules
from reactors.remediation import MOST_ACTING, AutonomyRules, digest_of_rules, remediation_pause
from reactors.windows import look
from wire.messages import APPLIES_NOW

_CHANGING = (Apply, Remediate, RemediateApplied, ApplyMissed)
"""What a window may keep back."""


def reconcile(
    state: ObservedState, policy: MinionPolicy, now: float, *, run_timeout: float = 3600.0
) -> list[Instruction]:
    """What to do for a minion.

    `run_timeout`: seconds after which a run without a result is given up.
    """
    told = [*_tell_autonomy(state, policy), *_tell_confirmed(state, policy, run_timeout)]
    if state.request is not None:
        return told + _answer(state, state.request, policy, now)
    return told + _unasked(state, policy, now, run_timeout)


def _unasked(state: ObservedState, policy: MinionPolicy, now: float, run_timeout: float) -> list[Instruction]:
    if state.hold_until is None:
        asked = confirming(state.confirmation, _reached(state), policy, now) if state.follows else (None, None)
        noted, look_at = asked
        if noted is not None:
            return [noted, *([] if look_at is None else [RequeueAfter(look_at)])]  # then it is looked at again
        following = _next(state, policy, now, run_timeout)
        return following if look_at is None else _and_look_at(following, look_at)
    if state.superseded or now >= state.hold_until:
        return [ReleaseHold()]  # then it is looked at again
    return _and_look_at(_next(state, policy, now, run_timeout), state.hold_until)


def _tell_autonomy(state: ObservedState, policy: MinionPolicy) -> list[Instruction]:
    """Whatever else waits: a pause has to be known before the controller is gone."""
    if not (state.connected and state.follows and state.knows_autonomy):
        return []
    rules = autonomy_rules(state, policy)
    return [] if digest_of_rules(rules) == state.autonomy else [SendAutonomy(rules)]


def autonomy_rules(state: ObservedState, policy: MinionPolicy) -> AutonomyRules | None:
    """By which rules a minion puts drift right while it reaches no controller; None: not at all.

    Only the controller knows when a minion leaves what it is held at (a pull request, an earlier revision), what
    nobody has confirmed yet, and what was taken back.
    """
    drift = policy.drift
    unconfirmed = state.confirmation is not None and state.confirmation.waiting
    if state.paused or unconfirmed or state.taken_back or state.hold_until is not None:
        return None
    if drift.mode != "remediate" or isinstance(drift.autonomy, bool):
        return None
    last = state.last_run
    known = last is not None and last.good and last.digest == state.applied  # by its own runs
    return AutonomyRules(
        after=drift.autonomy,
        windows=policy.windows,
        retry=policy.retry,
        applied="" if known else state.applied,
        acting=state.acting[:MOST_ACTING],
    )


def _tell_confirmed(state: ObservedState, policy: MinionPolicy, run_timeout: float) -> list[Instruction]:
    """Before anything is run that somebody has to confirm, and as soon as somebody has."""
    if not (state.connected and state.follows and state.knows_confirmed):
        return []
    rules = confirm_rules(state, policy, run_timeout)
    return [] if digest_of_confirm_rules(rules) == state.confirmed else [SendConfirmed(rules)]


def confirm_rules(state: ObservedState, policy: MinionPolicy, run_timeout: float) -> ConfirmRules | None:
    """By which rules a minion that reaches no controller goes back to what is confirmed; None: it does not."""
    known = state.confirmation
    if known is None or policy.apply != "confirm":
        return None
    return ConfirmRules(
        confirmed=known.confirmed,
        waiting=known.waiting,
        seconds=policy.confirm,
        run_seconds=run_timeout,
        windows=policy.windows,
        retry=policy.retry,
        paused=state.paused or state.hold_until is not None,
    )


def _and_look_at(instructions: list[Instruction], until: float) -> list[Instruction]:
    """A minion has one timer, of which the earliest time counts."""
    if math.isinf(until):
        return instructions
    times = [each.time for each in instructions if isinstance(each, RequeueAfter)]
    others = [each for each in instructions if not isinstance(each, RequeueAfter)]
    return [*others, RequeueAfter(min([until, *times]))]


def _reached(state: ObservedState) -> ReachedDocument:
    """A run that ended badly may have changed the machine: its document is what is there."""
    last = state.last_run
    return ReachedDocument(
        applied=state.applied,
        digest=last.digest if last is not None and not last.good else state.applied,
        unchanged=state.unchanged,
        desired=state.desired,
        busy=state.open_run is not None,
        paused=state.paused,
    )


def _next(state: ObservedState, policy: MinionPolicy, now: float, run_timeout: float) -> list[Instruction]:
    if not state.connected or not state.generation:
        return []
    if state.open_run is None and state.applied_for_others == state.desired != state.applied:
        return [TakeApplied()]
    if not state.follows or (state.open_run is None and state.applied_for_others == APPLIES_NOW):
        return []  # the minion says when it follows, and when that run is over
    following = _following(state, policy, now, run_timeout)
    if not state.open_tests:
        return following
    asked_again: list[Instruction] = []
    for test in state.open_tests:
        if now >= test.asked_at + run_timeout:
            asked_again.append(TimeOutRun(test.run_id))
        elif not test.sent:
            asked_again.append(Resend(test.run_id))
    # The oldest is the first to be given up, and then the minion is looked at again.
    return asked_again + _and_look_at(following, max(now, state.open_tests[0].asked_at + run_timeout))


def _following(state: ObservedState, policy: MinionPolicy, now: float, run_timeout: float) -> list[Instruction]:
    """For a minion that is connected and does what this controller says."""
    if state.open_run is not None:
        return _with_open_run(state, state.open_run, policy, now, run_timeout)
    if state.lags:
        return [WaitForRemotes()]
    document = _keep_applied(state) if _waits(state, policy, now) else _send_desired(state)
    return document + _within_window(_next_run(state, policy, now), policy, now)


def _within_window(instructions: list[Instruction], policy: MinionPolicy, now: float) -> list[Instruction]:
    """A minion is changed only while its windows are open; it is looked at again when one begins or ends."""
    if not policy.windows or not any(isinstance(each, _CHANGING) for each in instructions):
        return instructions
    window = look(policy.windows, now)
    if window.open:
        return instructions
    return [] if window.changes_at is None else [RequeueAfter(window.changes_at)]


def _answer(state: ObservedState, request: Request, policy: MinionPolicy, now: float) -> list[Instruction]:
    """What a person asks for goes by the same rules as a push, but neither `manual` nor back-off waits.

    A window that is closed to people too does, and so does a rollout.
    """
    if not state.connected:
        return [Decline(Declined.UNREACHABLE)]
    if not state.follows:
        return [Decline(Declined.FOLLOWS_ANOTHER)]
    if state.paused and not request.test:
        return [Decline(Declined.PAUSED)]
    if not request.test and not (window := look(policy.windows, now)).open and not window.manual:
        return [Decline(Declined.OUTSIDE_WINDOW)]
    if state.gated and not request.test and (state.applied != state.desired or state.taken_back):
        return [Decline(Declined.GATED)]
    if state.open_run is not None:
        return [_joined(state.open_run, request, state.desired)]
    failed = state.last_run is not None and not state.last_run.good
    pending = failed or state.applied != state.desired
    if not state.generation or not (request.whole or pending):
        return [Decline(Declined.NOTHING_PENDING)]
    return [*_send_desired(state), ApplyRequested(request.whole or failed or not state.applied, request.test)]


def _joined(run: OpenRun, request: Request, desired: str) -> JoinRun | AfterRun:
    """A run in progress is the answer only if it does what is asked: a test is none, nor is a part for the whole."""
    answers = not request.test and (run.whole or not request.whole) and run.digest == desired
    return JoinRun(run.run_id) if answers else AfterRun(run.run_id)


def _with_open_run(
    state: ObservedState, run: OpenRun, policy: MinionPolicy, now: float, run_timeout: float
) -> list[Instruction]:
    if now >= run.asked_at + run_timeout:
        return [TimeOutRun(run.run_id)]
    # One run at a time, and no newer document before its result is there: the minion may have to take it up again,
    # and what it did decides what the next run has to look at.
    begins = _may_begin(state, run, policy, now) or not state.knows_checks
    resume: list[Instruction] = []
    if not run.sent:
        resume = [Resend(run.run_id) if begins else CheckRun(run.run_id)]
    if begins and run.digest == state.desired:
        resume = _send_desired(state) + resume
    return [*resume, RequeueAfter(run.asked_at + run_timeout)]


def _may_begin(state: ObservedState, run: OpenRun, policy: MinionPolicy, now: float) -> bool:
    """Whether a run that was asked for, and may be lost with its connection, may still begin."""
    if state.paused or run.digest != state.desired or (state.taken_back and run.digest == state.applied):
        return False
    if run.digest != state.applied and (state.gated or (policy.apply == "manual" and not run.person)):
        return False
    window = look(policy.windows, now)
    return window.open or (run.person and window.manual)


def _send_desired(state: ObservedState) -> list[Instruction]:
    return [SendDesired()] if state.held != state.desired and state.sent != state.desired else []


def _waits(state: ObservedState, policy: MinionPolicy, now: float) -> bool:
    """Whether what is pending is for a person to start, or for a window to open, and nothing of it was run yet.

    Until then the minion holds what it was told before: drift is looked for in that, and not in what is to come.
    """
    begun = state.last_run is not None and state.last_run.digest == state.desired
    if state.shadow:
        return False  # what it would become is what is looked at
    held_back = state.paused or state.gated or policy.apply == "manual" or not look(policy.windows, now).open
    return held_back and bool(state.applied) and state.applied != state.desired and not begun


def _keep_applied(state: ObservedState) -> list[Instruction]:
    """Take a document back that was sent for a test, and give one to a minion that has none."""
    keeps = state.held not in ("", state.desired) or state.sent == state.applied
    return [] if keeps else [SendApplied()]


def _next_run(state: ObservedState, policy: MinionPolicy, now: float) -> list[Instruction]:
    if state.unseen and not any(test.whole and test.digest == state.desired for test in state.open_tests):
        return [LookInShadow()]
    if state.paused:
        return []
    if state.applied != state.desired:
        return _apply(state, policy, now) or _remediate_meanwhile(state, policy, now)
    if state.taken_back:
        return []  # nothing puts it there once more
    failed = state.last_run is not None and not state.last_run.good
    if failed:
        return _apply(state, policy, now)
    if state.drift is not None and state.drift.missed and policy.verify == "apply":
        return [ApplyMissed(state.drift.run_id)]
    if state.drift is not None and policy.drift.mode == "remediate":
        return _remediate(state.drift, now)
    if not state.unchecked or any(test.whole and test.digest == state.desired for test in state.open_tests):
        return []
    return [SkipCheck(state.unchecked) if policy.verify == "none" else CheckPush(state.unchecked)]


def _apply(state: ObservedState, policy: MinionPolicy, now: float) -> list[Instruction]:
    if policy.apply == "manual" or state.gated:
        return []  # `saltern sync` or the rollout starts the run
    last = state.last_run
    if last is not None and not last.good and last.digest == state.desired:
        wait = policy.retry.wait(last.failures)
        if wait is None:
            return []  # a person or another push starts the next
        if now < last.finished_at + wait:
            return [RequeueAfter(last.finished_at + wait)]
    # After a bad end nobody knows which states were reached, so everything is looked at; so it is when another
    # controller made of the minion what is not known here.
    elsewhere = state.applied_for_others not in ("", state.applied)
    whole = policy.push == "whole" or not state.applied or elsewhere or (last is not None and not last.good)
    return [Apply(whole)]


def _remediate_meanwhile(state: ObservedState, policy: MinionPolicy, now: float) -> list[Instruction]:
    """While a push waits for a person or a rollout, drift from what was applied before is put right all the same."""
    waits = policy.apply == "manual" or state.gated
    kept = state.taken_back or (state.last_run is not None and not state.last_run.good)
    if not waits or kept or state.drift is None or policy.drift.mode != "remediate" or state.held != state.applied:
        return []
    return [
        RemediateApplied(each.drift_run) if isinstance(each, Remediate) else each
        for each in _remediate(state.drift, now)
    ]


def _remediate(drift: Drift, now: float) -> list[Instruction]:
    again = drift.remediated_at + remediation_pause(drift.remediations, touched=drift.touched)
    return [RequeueAfter(again)] if now < again else [Remediate(drift.run_id, drift.touched)]


def is_current(state: ObservedState) -> bool:
    """Whether the minion has applied what the last attempted revision says."""
    return bool(state.generation) and state.applied == state.desired and not state.broken and not _left_halfway(state)


def sync_of(state: ObservedState) -> Sync:
    """The minion's sync status."""
    if state.shadow:
        return Sync.SHADOW
    if state.paused:
        return Sync.PAUSED
    if state.broken:
        return Sync.OUT_OF_SYNC
    if not state.generation:
        return Sync.UNKNOWN
    if state.open_run is not None and state.connected:
        return Sync.PROGRESSING
    if state.applied != state.desired or _left_halfway(state):
        return Sync.OUT_OF_SYNC
    return Sync.SYNCED if state.hold_until is None else Sync.HELD


def _left_halfway(state: ObservedState) -> bool:
    """Whether a run of another document ended badly since: what it reached of the machine has to be taken back."""
    return state.last_run is not None and not state.last_run.good and state.last_run.digest != state.desired


def health_of(state: ObservedState) -> Health:
    """The minion's health; the worst that is known."""
    if not (state.connected or state.visited):
        return Health.UNREACHABLE
    if state.last_run is not None and not state.last_run.good:
        return Health.FAILED
    if state.broken:
        return Health.DEGRADED
    if state.drift is not None:
        return Health.DRIFTED
    goes_on = state.runs or (state.open_run is not None and state.connected)
    return Health.PROGRESSING if goes_on else Health.HEALTHY
