"""Compiles now and then a minion that pushes left out, and compares: whom a push concerns is told by recorded reads.

A document that turns out to be another shows a read that was not recorded. Then all minions are compiled. Started by
the controller as a task of its own; it stores and publishes nothing itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import structlog

from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.compile_pool import CompilePort
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.decision import Inputs
from controller.observe.metrics import Metrics
from controller.store import DesiredRecord, Store, StoreError

log = structlog.get_logger("saltern.build")

AuditResult: TypeAlias = Literal["equal", "different", "error"]

_TRIES = 20
"""Minions that are looked at to find one that the live revision left out."""


@dataclass(frozen=True, slots=True)
class _Audited:
    """A minion whose document was carried over, as it stands."""

    inputs: Inputs
    record: DesiredRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileAudit:
    """Checks one minion in each interval.

    Args:
        interval: seconds between two checks, on the average; 0: none.
        chosen: puts minions into the order in which they are looked at.
    """

    builds: BuildReconciler
    requests: CompileRequests
    compiler: CompilePort
    store: Store
    metrics: Metrics
    interval: float
    chosen: Callable[[list[str]], list[str]] = lambda ids: random.sample(ids, min(_TRIES, len(ids)))

    async def run(self) -> None:
        """Work until cancelled."""
        while self.interval:
            await asyncio.sleep(self.interval * random.uniform(0.5, 1.5))  # noqa: S311  (no secret)
            try:
                await self.check_one()
            except StoreError as error:
                log.error("store cannot be read; retrying", error=str(error))
            except Exception:
                log.exception("a check of a compile failed; retrying")

    async def check_one(self) -> AuditResult | None:
        """Compile a minion that the live revision left out; None where there is none, or it changed meanwhile."""
        trees = self.builds.live.trees
        found = self._carried_over()
        if trees is None or found is None:
            return None
        minion = found.record.minion
        request = self.requests.request(trees, self.requests.known({minion}))
        held = {minion: found.record.digest}
        answers = await self.compiler.compile(replace(request, held=held, check_rate=1.0))
        if not answers or answers[0].unanswered or self._now(minion) != found:
            return None
        answer = answers[0]
        result = _result(answer, found.record)
        self.metrics.compile_audited(result)
        if result == "error":
            self.builds.compile_again([minion])
        elif result == "different":
            self._distrust(answer, found.record)
        return result

    def _carried_over(self) -> _Audited | None:
        looked_at = map(self._now, self.chosen(self.builds.carried_over()))
        return next((found for found in looked_at if found is not None), None)

    def _now(self, minion: str) -> _Audited | None:
        inputs, record = self.builds.settled_inputs(minion), self.store.desired.get(minion)
        if inputs is None or record is None or record.errors or record.revision != inputs.revision:
            return None
        return _Audited(inputs, record)

    def _distrust(self, answer: CompiledMinion, record: DesiredRecord) -> None:
        log.error(
            "a document that a push should have changed was left as it was; all minions are compiled; report this bug",
            minion=record.minion,
            revision=record.revision,
            held=record.digest,
            fresh=answer.digest,
        )
        self.builds.compile_all()


def _result(answer: CompiledMinion, record: DesiredRecord) -> AuditResult:
    if not answer.ok:
        return "error"
    return "equal" if answer.digest == record.digest else "different"
