"""Test runs of the connected minions, as the report has them. Pure; called by `preview`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from controller.observe.run_text import count_states, run_summary
from controller.preview.live.drift_apart import with_overwritten
from controller.schema.reports import ChangeClass, LiveTest
from wire.messages import RunResult

NOT_KEPT = "not tested: the documents of this preview are larger than the limit (limits: preview: document_bytes)"


def live_test(minion: str, run_id: str, result: RunResult | None) -> LiveTest:
    """What came of a test run; None: nothing did."""
    if result is None:
        why = "did not answer in time" if run_id else "not connected: nothing was tested there"
        return LiveTest(minion=minion, outcome="unreachable", run_id=run_id, summary=why)
    changes, failed = count_states(result.states)
    return LiveTest(
        minion=minion,
        outcome=result.outcome,
        run_id=run_id,
        changes=changes,
        failed=failed,
        summary=run_summary(result.states, result.error),
        states=result.states,
    )


def as_foretold(test: LiveTest) -> LiveTest:
    """The test, in which of a stock minion no state counts as failed that follows one which would act.

    Salt says such a state fails where what it needs is not there yet.
    """
    if not test.agent or not test.failed:
        return test
    failed = sum(entry.get("result") is False and not entry.get("uncertain") for entry in test.states.values())
    outcome = "pending" if test.outcome == "failed" and not failed else test.outcome
    return structs.replace(test, failed=failed, outcome=outcome)


def found_after(result: RunResult | None) -> Mapping[str, Any]:
    """What the minion would find after the push; nothing where a state of that fails, as no check follows then."""
    if result is None or result.outcome == "failed" or not isinstance(result.value, Mapping):
        return {}
    return result.value


def with_tests(classes: Sequence[ChangeClass], tests: Mapping[str, LiveTest]) -> tuple[ChangeClass, ...]:
    """The classes with what their minions said."""
    return tuple(_with_tests(each, tests) for each in classes)


def _with_tests(one: ChangeClass, tests: Mapping[str, LiveTest]) -> ChangeClass:
    found = tuple(tests[minion] for minion in one.minions if minion in tests)
    return with_overwritten(structs.replace(one, tests=found, sampled=len(found)))
