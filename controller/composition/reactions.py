"""Wires reactors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import get_args

from controller.compilation.sandbox_policy import sandbox_policy_of
from controller.composition.compilation import CompilationParts
from controller.composition.shared import Shared
from controller.jobs.jobs import Jobs
from controller.observe.event_log import MOST_READ
from controller.reactions.actions import USER, ReactionActions
from controller.reactions.controller_machine import own_grains
from controller.reactions.durable_events import DurableEvents
from controller.reactions.reactor import Reactor, ReactorSettings
from controller.reactions.reactor_process import ReactorProcess
from controller.reactions.rules import RULE_STATE, RuleRecord
from controller.reconcile.deciding.instructions import AfterRun
from controller.reconcile.deciding.observed_state import Request
from controller.reconcile.reconciler import Reconciler
from controller.returners.returners import NotSent, Returners
from controller.runners import registry
from controller.runners.runner_jobs import ControllerCall, RunnerJobs
from controller.schema.errors import ServiceError
from reactors.rules.loop_guard import LoopBounds, LoopGuard
from reactors.rules.reaction import NOTIFIERS, Parameters, ReactionCall


def compose_reactor(
    shared: Shared,
    compilation: CompilationParts,
    jobs: Jobs,
    runners: RunnerJobs,
    reconciler: Reconciler,
    returners: Returners,
) -> Reactor:
    """What answers events."""
    settings = shared.resources.settings
    limits = settings.limits.reactor
    return Reactor(
        settings=ReactorSettings(
            reactors=runners.ports.reactors,
            rules=settings.rules,
            language=settings.language,
            limits=limits,
            grains=cache(own_grains),
            parameters=cache(_parameters),
        ),
        bus=shared.bus,
        live=shared.live,
        process=ReactorProcess(
            timeout=limits.sls_seconds,
            sandbox_policy=sandbox_policy_of(settings),
            ports=settings.ports,
            fleet=compilation.fleet,
            limits=settings.limits.compile_worker,
            on_refusal=partial(shared.metrics.limit_refused, "compile-worker"),
        ),
        actions=ReactionActions(
            targets=shared.targets,
            jobs=jobs,
            start_runner=partial(_start_runner, runners),
            sync=partial(_sync, reconciler),
            refresh=runners.ports.fetch,
            notify=partial(_notify, returners, shared.epoch),
            most_minions=limits.minions,
        ),
        guard=LoopGuard(LoopBounds(depth=limits.chain, firings=limits.firings_per_minute)),
        durable=DurableEvents(table=shared.resources.store.events),
        ids=shared.ids,
        metrics=shared.metrics,
        clock=shared.clock,
        record=RuleRecord(
            recent=lambda: list(reversed(shared.resources.store.events.tagged(RULE_STATE, MOST_READ))),
            event=shared.resources.store.events.get,
            keep=shared.event_log.flush,
        ),
    )


def _sync(reconciler: Reconciler, minions: Sequence[str], whole: bool, cause: int) -> Mapping[str, str]:
    answers = reconciler.request(minions, Request(whole=whole, test=False, user=USER), cause)
    return {
        minion: answer.run_id if isinstance(answer, AfterRun) else answer if isinstance(answer, str) else ""
        for minion, answer in answers.items()
    }


async def _notify(returners: Returners, epoch: str, call: ReactionCall, cause: int) -> None:
    message = {
        "title": str(call.kwarg.get("title") or ""),
        "text": str(call.kwarg.get("text") or ""),
        "reaction": call.id,
        "event": cause,
        "ret_config": str(call.kwarg.get("profile") or "") or None,
    }
    try:
        await returners.notify(NOTIFIERS[call.fun], message, f"{epoch}-{cause}-{call.id}")
    except NotSent as error:
        raise ServiceError("conflict", f"notify.{call.fun}: {error}") from error


async def _start_runner(runners: RunnerJobs, call: ReactionCall, cause: int) -> str:
    kind: registry.FunctionKind = "wheel" if call.type == "wheel" else "runner"
    started = await runners.start(
        ControllerCall(kind=kind, fun=call.fun, args=call.arg, kwargs=call.kwarg, user=USER, cause=cause)
    )
    return started.jid


def _parameters() -> Mapping[tuple[str, str], Parameters]:
    """(kind, function) -> parameters, of all functions of the controller."""
    found = {
        (kind, name): registry.parameters_of(kind, name)
        for kind in get_args(registry.FunctionKind)
        for name in registry.names(kind)
    }
    return {key: parameters for key, parameters in found.items() if parameters is not None}
