"""Both sides of each minion, compiled in batches, with no program run of a tree that is not live unless allowed.

Called by `preview`; the next batch is compiled while one is compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.dependencies.index import DependencyIndex
from controller.compilation.workers.budget import CompileBudget
from controller.config.limits import PreviewLimits
from controller.policy.policy import Policy
from controller.preview.contents.rendered_texts import RenderedTexts
from controller.preview.contents.sides import rendered_sides
from controller.preview.contents.strangers import for_stranger
from controller.preview.live.live_facts import PreviewCompiles, with_facts
from controller.preview.sides.batches import batches_of
from controller.preview.sides.one_ahead import one_ahead
from controller.preview.sides.policies import SidePolicy
from controller.preview.sides.scope import Scope, stored_base
from controller.preview.threads import PreviewThreads
from controller.store import MinionRecord
from gitfs.source import Trees
from highstate.dummy_pillar import DummyPillar
from options.limits import CountRefusal

_Compiled: TypeAlias = list[CompiledMinion]
Pair: TypeAlias = tuple[_Compiled, _Compiled, Callable[[RenderedTexts], Awaitable[tuple[_Compiled, _Compiled]]]]
"""Bases and heads of the same minions, and what renders texts of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCompiles:
    """Compiles both sides of minions."""

    compiles: PreviewCompiles
    """In processes for previews alone, so that live compiles wait for none."""
    requests: CompileRequests
    index: DependencyIndex
    """What the live documents were made of."""
    run_programs: bool
    """Whether `#!py` and `#!mako` of trees that are not live are run."""
    limits: PreviewLimits
    threads: PreviewThreads
    on_refusal: CountRefusal

    async def pairs(
        self,
        sides: tuple[Trees, Trees],
        policies: tuple[SidePolicy, SidePolicy],
        scope: Scope,
        *,
        live: bool,
        dummies: DummyPillar | None,
    ) -> AsyncGenerator[Pair, None]:
        """Both sides of each batch. The next one is compiled while one is compared: no more documents are held."""
        budget = CompileBudget(self.limits.timeouts, self.limits.waiting_bytes)
        batches = await self.threads.run(batches_of, scope.concerned, self.index.shared_parts, self.compiles.processes)

        async def both(some: Sequence[MinionRecord]) -> Pair:
            answers = await self.compiles.asked_anew([record.id for record in some]) if live else {}
            old, new = (
                with_facts(self.request(trees, some, each.policy, dummies), answers)
                for trees, each in zip(sides, policies, strict=True)
            )
            bases = await self._bases(old, scope, budget, live=live)
            heads = await self.compiles.compile(new, budget, ask=live)
            heads = [_comparable(base, head, budget) for base, head in zip(bases, heads, strict=True)]
            return bases, heads, partial(rendered_sides, self.compiles, (old, new), budget)

        async with contextlib.aclosing(one_ahead(partial(both, batch) for batch in batches)) as pairs:
            async for pair in pairs:
                yield pair
                budget.release((*pair[0], *pair[1]))
        if budget.spent:
            self.on_refusal("timeouts")
        if budget.refused:
            self.on_refusal("waiting-bytes")

    async def _bases(
        self, request: CompileRequest, scope: Scope, budget: CompileBudget, *, live: bool
    ) -> list[CompiledMinion]:
        """The base of each minion of the request, from the store where it is there."""
        read = self.requests.store.documents.get
        kept = [scope.kept[each.id] for each in request.minions if each.id in scope.kept and request.dummies is None]
        stored = await self.threads.run(lambda: [stored_base(record, read) for record in kept])
        found = {each.minion_id: budget.admitted(each) for each in stored if each is not None}
        if rest := tuple(each for each in request.minions if each.id not in found):
            again = await self.compiles.compile(replace(request, minions=rest), budget, ask=live)
            found |= {each.minion_id: each for each in again}
        return [found[each.id] for each in request.minions]

    def request(
        self, trees: Trees, records: Sequence[MinionRecord], policy: Policy | None, dummies: DummyPillar | None
    ) -> CompileRequest:
        """What is live runs as it does live. Nobody has approved another tree yet, be it the head or the base: what it
        brings may be rendered in the sandbox, but not run as a program, or in a process that compiles nothing else.
        """
        if trees.revision.digest == self.requests.live.digest:
            request = self.requests.request(trees, records)
            return request if dummies is None else for_stranger(request, dummies)
        programs = self.run_programs and dummies is None
        more = None if programs else {"allow_py_renderer": False}
        request = self.requests.request(trees, records, more, policy)
        request = replace(request, ends_process=programs)
        return request if dummies is None else for_stranger(request, dummies)


def _comparable(base: CompiledMinion, head: CompiledMinion, budget: CompileBudget) -> CompiledMinion:
    """The head, or the error of a base that could not be held: without it, all of the head would seem to be new."""
    if head.minion_id not in budget.refused or base.ok or not head.ok:
        return head
    budget.release([head])
    return base
