"""Wires the previews of pull requests on forges."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pygit2
from msgspec.structs import replace

from controller.adapters.secrets.vault_reader import vault_reader
from controller.composition.shared import Shared
from controller.config.forges import ForgeProject, projects_of, withhold_secrets
from controller.forges.clients import client_of
from controller.forges.registry import forge_of
from controller.forges.settings import ForgeSettings
from controller.observe.pull_metrics import PullMetrics
from controller.preview.live.head_documents import HeadDocuments
from controller.preview.preview import Previews
from controller.preview.report_archive import ReportArchive
from controller.pull_requests.comment_template import read_template
from controller.pull_requests.instructions import PullRules, RunningPreview
from controller.pull_requests.look import LookedForge, LookParts
from controller.pull_requests.outcomes import Outcomes
from controller.pull_requests.preview_queue import Finished, PreviewQueue, PullKey
from controller.pull_requests.reconciler import ForgeWorker, PullRequests, WatchedForge
from controller.pull_requests.records import Records
from controller.reconcile.holds import PullHolds
from controller.reconcile.live import LiveRevision
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.revision_sources import commits_of
from controller.schema.errors import ServiceError
from controller.schema.preview_stream import PreviewFinished
from controller.schema.reports import PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from gitfs.source import Source

ENVIRONMENT = "base"


@dataclass(slots=True)
class _PullPreviews:
    """Makes previews of pull requests with what makes all previews."""

    previews: Previews
    controller: str

    async def make(self, key: PullKey, running: RunningPreview, target: str) -> PreviewReport | HeadDocuments:
        """See `MakePreview`."""
        preview = running.preview
        if running.minions:
            return await self.previews.head_documents(preview.base_branch, preview.head, running.minions)
        question = PreviewQuestion(
            base=preview.base_branch,
            head=preview.head,
            target=TargetExpression(expression=target) if target else None,
            live="none" if preview.restricted else "sample",
            merge=True,
            restricted=preview.restricted,
        )
        async with contextlib.aclosing(self.previews.preview(question, f"pull request {key}")) as items:
            async for item in items:
                if isinstance(item, PreviewFinished):
                    return replace(item.report, controller=self.controller, environment=ENVIRONMENT)
        raise ServiceError("internal", "the preview ended without a report")


def compose_pull_requests(
    shared: Shared, previews: Previews, reports: ReportArchive, reconciler: Reconciler
) -> PullRequests:
    """The loop over pull requests; without `forges` there is nothing that it does."""
    settings = shared.resources.settings
    source, limits = shared.resources.source, settings.limits.pull_request
    metrics = PullMetrics(shared.metrics.registry)
    workers: dict[str, ForgeWorker] = {}
    name = shared.controller_name
    queue = PreviewQueue(
        _PullPreviews(previews, name).make,
        partial(_previewed, workers, metrics),
        at_once=limits.at_once,
        limit=limits.preview_seconds,
    )
    holds = PullHolds(
        store=shared.resources.store, bus=shared.bus, files=shared.files, source=source, wake=reconciler.wake
    )
    parts = LookParts(
        records=Records(
            store=shared.resources.store,
            bus=shared.bus,
            event_log=shared.event_log,
            clock=shared.clock,
            report_bytes=limits.report_bytes,
        ),
        previews=queue,
        outcomes=Outcomes(shared.resources.store, partial(_contains, source), limits),
        secret=_secret(shared),
        clock=shared.clock,
        predicted=metrics.predicted,
        keep_report=reports.keep,
        report_url=reports.url,
        base=partial(_live_base, shared.live),
        holds=holds,
        connected=lambda: frozenset(session.minion for session in shared.sessions),
    )
    projects = projects_of(settings.forges, {remote.name: remote.url for remote in source.remotes})
    refused = partial(shared.metrics.limit_refused, "pull_request")
    for forge in withhold_secrets(settings.forges, vault_reader(settings.ports.vault)):
        watched = _watched(shared, forge, [each for each in projects if each.forge == forge.name], name)
        workers[forge.name] = ForgeWorker(watched, parts, metrics, limits, refused)
    return PullRequests(workers, queue, shared.bus, holds)


def _watched(shared: Shared, forge: ForgeSettings, projects: Sequence[ForgeProject], controller: str) -> WatchedForge:
    settings = shared.resources.settings
    client = client_of(forge, settings.limits.forge, refused=partial(shared.metrics.limit_refused, "forge"))
    branches = {each.project: _branches(shared.resources.source, each) for each in projects}
    return WatchedForge(
        name=forge.name,
        forge=LookedForge(
            client=client,
            html=forge_of(forge.kind).shows_html,
            rules_of=partial(_rules, shared, forge, branches, controller),
        ),
        projects=tuple(branches),
        poll_interval=forge.poll_interval,
    )


def _rules(
    shared: Shared, forge: ForgeSettings, branches: dict[str, frozenset[str]], controller: str, project: str
) -> PullRules:
    """What the base says, which is live; what it leaves at the default, the forge's settings say."""
    policy, given = shared.live.policy.previews, forge.previews
    return PullRules(
        check=f"saltern/preview ({ENVIRONMENT})",
        comment=policy.comment if policy.comment != "update" else given.get("comment", "update"),
        strangers=policy.strangers if policy.strangers != "none" else given.get("strangers", "none"),
        drafts=policy.drafts and given.get("drafts", True),
        policy=policy,
        manual=shared.live.policy.apply == "manual",
        branches=branches.get(project, frozenset()),
        controller=controller,
        environment=ENVIRONMENT,
        template=read_template(shared.live.trees.files) if shared.live.trees is not None else "",
        again_seconds=shared.resources.settings.limits.pull_request.again_seconds,
    )


def _branches(source: Source, project: ForgeProject) -> frozenset[str]:
    """The branches of a project that are the base environment here."""
    found: set[str] = set()
    for remote in project.remotes:
        for settings, _ in source.mirrors_of(remote):
            found |= {settings.base} if settings.base else {"main", "master"}
    return frozenset(found)


def _contains(source: Source, commit: str, other: str) -> bool:
    """Whether a commit has another one in its history, in any mirror that has both."""
    for remote in source.remotes:
        for _, mirror in source.mirrors_of(remote.name):
            with contextlib.suppress(pygit2.GitError, KeyError, ValueError):
                if pygit2.Repository(mirror.path).descendant_of(commit, other):
                    return True
    return False


def _live_base(live: LiveRevision) -> str:
    """A digest of the commits that are the base of each remote; other branches may move."""
    if live.trees is None:
        return ""
    commits = sorted(commits_of(live.trees.revision).items())
    return hashlib.sha256(repr(commits).encode()).hexdigest()


def _secret(shared: Shared) -> bytes:
    """For the keys of comments; nothing else is signed with it."""
    return hmac.new(shared.keypair.secret.encode(), b"saltern pull request comments", hashlib.sha256).digest()


def _previewed(
    workers: dict[str, ForgeWorker], metrics: PullMetrics, key: PullKey, finished: Finished, seconds: float
) -> None:
    if not finished.running.minions:
        metrics.previewed(seconds, ok=finished.report is not None)
    workers[key.forge].look_at(key)
