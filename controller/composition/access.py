"""Wires who may have what done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from controller.access.access import Access
from controller.access.audit import Audit
from controller.access.decision import SelectMinions
from controller.access.logins import Logins
from controller.access.oidc import OidcTokens
from controller.access.pam import PamPasswords, shadow_trouble
from controller.access.tokens import Tokens
from controller.composition.shared import Shared
from controller.config.settings import ControllerSettings
from controller.jobs.jobs import Jobs
from controller.jobs.targets import Targets
from controller.observe.metrics import Metrics
from controller.runners.runner_jobs import RunnerJobs
from controller.runners.waiting import call_and_wait
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion, RunnerQuestion
from controller.schema.runners import RunnerItem
from controller.schema.runs import CallProgress, CallReturn
from controller.schema.targets import TargetExpression
from controller.store import Store

log = structlog.get_logger("saltern.access")


def compose_access(shared: Shared) -> Access:
    """Decides about requests of people."""
    resources = shared.resources
    return make_access(
        resources.settings,
        resources.store,
        shared.metrics,
        shared.clock,
        partial(_select, shared.targets),
        shared.redactor.of_nobody,
    )


def make_access(
    settings: ControllerSettings,
    store: Store,
    metrics: Metrics,
    clock: Callable[[], float],
    select: SelectMinions,
    redact: Callable[[str], str],
) -> Access:
    """The same of its parts.

    Args:
        settings: of the controller.
        store: where tokens and the audit log are kept.
        metrics: count refusals.
        clock: seconds since the epoch.
        select: finds the minions of the target of a rule.
        redact: takes secrets out of what goes into the audit log.
    """
    limits, rules = settings.limits.access, settings.access
    if "pam" in rules.external_auth and (trouble := shadow_trouble()):
        log.warning(trouble)
    on_refusal = partial(metrics.limit_refused, "access")
    audit = Audit(store=store, clock=clock, limits=limits, redact=redact, on_refusal=on_refusal)
    tokens = Tokens(store=store, clock=clock, limits=limits)
    logins = Logins(
        settings=rules,
        passwords=PamPasswords(rules.pam_service, limits.logins_at_once, limits.login_seconds),
        tokens=tokens,
        audit=audit,
        clock=clock,
        limits=limits,
        on_refusal=on_refusal,
    )
    issuer = settings.api.oidc
    oidc = None if issuer is None else OidcTokens(options=issuer, limits=settings.limits.oidc, clock=clock)
    return Access(settings=rules, audit=audit, tokens=tokens, logins=logins, select=select, oidc=oidc)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePeerWork:
    """Does what minions ask of one another (`PeerWork`)."""

    targets: Targets
    jobs: Jobs
    runners: RunnerJobs

    def select(self, target: TargetExpression) -> Sequence[str]:
        """See `PeerWork`."""
        return self.targets.select(target)

    def call(
        self, minions: Sequence[str], question: CallQuestion, user: str, asker: str
    ) -> AsyncIterator[CallReturn | CallProgress]:
        """See `PeerWork`."""
        return self.jobs.call(minions, question, user=user, asker=asker)

    def runner(self, question: RunnerQuestion, user: str) -> AsyncIterator[RunnerItem]:
        """See `PeerWork`."""
        return call_and_wait(self.runners, question, user)


def _select(targets: Targets, expression: str) -> frozenset[str]:
    """The minions of the target of a rule; none where it cannot be read, or names nobody."""
    try:
        return frozenset(targets.select(TargetExpression(kind="compound", expression=expression)))
    except ServiceError:
        return frozenset()
