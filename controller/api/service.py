"""What people may ask of a controller: the implementation of `ControllerApi`, served by `controller.api`.

Every method runs on the controller's loop. It looks things up and hands over to the module that knows; the decisions
about minions stay with `reconcile`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from controller.adoption.adoptions import Adoptions
from controller.api.activity import runs_under_way, slowest_minions
from controller.api.blames import blame
from controller.api.key_changes import KeyChanges, token_view
from controller.api.listings import RevisionMarks, revision_page, search
from controller.api.lookups import Lookups
from controller.api.minion_details import minion_detail
from controller.api.minion_pages import chosen_by_name, chosen_by_state, needs_a_look
from controller.api.run_details import entries_with_causes, with_cause
from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.cluster.executor_report import ExecutorReport
from controller.compilation.source_reconciler import SourceReconciler
from controller.engines.engines import Engines
from controller.enrolment.tokens import BadEnrolmentToken, EnrolmentDesk
from controller.fleet_status.fleet_status import FleetStatus
from controller.jobs.batches import Batches
from controller.jobs.job_reports import JobReports
from controller.jobs.jobs import Jobs, progress_view
from controller.jobs.minion_presence import ConnectedMinion, presence_of
from controller.jobs.targets import Targets
from controller.messages.key_rotations import KeyRotations
from controller.notifications.views import NotificationViews
from controller.observe.causes import steps_of
from controller.observe.event_log import EventLog
from controller.observe.metrics import Metrics
from controller.observe.run_text import count_states, run_summary
from controller.orchestration import views as orchestration_views
from controller.preview.pending import PendingChanges
from controller.preview.preview import Previews
from controller.preview.report_archive import ReportArchive
from controller.pull_requests.reconciler import PullRequests
from controller.reactions import traces
from controller.reactions.traces import view_of
from controller.reconcile.deciding.instructions import AfterRun, Declined
from controller.reconcile.deciding.observed_state import Request
from controller.reconcile.fleet_drift import FleetDrift
from controller.reconcile.live import LiveRevision
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.status import Status
from controller.reload.config_reloads import ConfigReloads
from controller.replacement.replacements import AgentReplacements
from controller.returners.returners import Returners
from controller.rollouts.minion_rollbacks import MinionRollbacks
from controller.rollouts.quarantine import CannotRollBack, Quarantine
from controller.rollouts.rollout import Rollout
from controller.rollouts.rollouts import NotPossible, RolloutReconciler
from controller.rollouts.views import minion_rollback_view, quarantine_view, rollout_view, taken_back_view
from controller.runners.runner_jobs import RunnerJobs
from controller.runners.waiting import call_and_wait
from controller.schedules.controller_schedule import ControllerSchedule
from controller.schema.blame import BlameView
from controller.schema.errors import ServiceError
from controller.schema.events import DROPPED, EventView, WhyView
from controller.schema.fleet.activity import ActivityQuery, ActivityView
from controller.schema.fleet.adoption import AdoptQuestion, AdoptView
from controller.schema.fleet.comparisons import MinionComparison, SaltsSide
from controller.schema.fleet.listings import RevisionPage, RevisionsQuery, SearchQuery, SearchView
from controller.schema.fleet.minion_details import MinionDetail
from controller.schema.fleet.minion_pages import MinionPage, MinionPageQuery
from controller.schema.fleet.notifications import NotificationsView, ReceiverTestView, SpooledMessage
from controller.schema.fleet.policies import PolicyView
from controller.schema.fleet.reloads import ReloadView
from controller.schema.fleet.replacements import ReplacementQuestion, ReplacementView
from controller.schema.fleet.rollouts import (
    QuarantineQuestion,
    QuarantineView,
    RollbackQuestion,
    RolloutAction,
    RolloutView,
)
from controller.schema.fleet.ssh import SshQuestion, SshRawQuestion, SshRawView, SshTargetsView, SshVisitView
from controller.schema.fleet.status import FleetStatusView, GroupScope
from controller.schema.jobs import JobDetail, JobKill, JobsQuery, JobView
from controller.schema.keys import (
    ControllerKey,
    EnrolmentTokenQuestion,
    EnrolmentTokenView,
    KeyRefusals,
    KeyView,
    NewEnrolmentToken,
    NewKeyQuestion,
    NextController,
    RotatedKey,
)
from controller.schema.minions import (
    CompileView,
    EngineStatus,
    ExecutorStatus,
    MinionPresence,
    MinionStatus,
    ReturnerStatus,
)
from controller.schema.orchestrations import OrchestrationDetail, OrchestrationsQuery, OrchestrationView
from controller.schema.plans import MinionDiff
from controller.schema.preview_stream import PreviewItem
from controller.schema.pulls import PullReportQuery, PullView
from controller.schema.reactions import ReactionsQuery, ReactionTrace, ReactionView
from controller.schema.remotes import RemoteStatus
from controller.schema.reports import ReportPage
from controller.schema.requests import (
    BlameQuery,
    CallQuestion,
    EventsQuery,
    HistoryQuery,
    PreviewQuestion,
    RunnerQuestion,
    SyncQuestion,
    WhyQuery,
)
from controller.schema.runners import RunnerItem
from controller.schema.runs import CallItem, CallProgress, CallStarted, CausedEntry, HistoryEntry, RunView, SyncReturn
from controller.schema.schedules import ScheduleRunView, ScheduleView
from controller.schema.targets import TargetExpression
from controller.ssh.visits import SshVisits
from controller.store import Store
from gitfs.changes import Changes
from gitfs.config.urls import redact
from gitfs.source import Source
from reactors.bus import Bus
from reactors.events import Event
from reactors.tag_patterns import BadTagPattern, TagPattern, tag_pattern
from wire.keys import KeyPair, fingerprint
from wire.limits import KEY_REQUEST_LIMITS
from wire.messages import RunProgress, RunResult

SYNC_SECONDS = 3600.0
"""How long `saltern sync` waits for a run."""

_TOGETHER = 100
"""Events that are sent to a reader in one piece: a tenth of the time that they take one by one."""
_TOGETHER_BYTES = 64 * 1024
_ROLLOUTS = 20
"""The newest, of which those are told that go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSources:
    """The remotes, what of them is live, and what is compiled of that."""

    source: Source
    changes: Changes
    live: LiveRevision
    reconciler: SourceReconciler
    builds: BuildReconciler


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionActions:
    """What people have minions do."""

    targets: Targets
    reconciler: Reconciler
    jobs: Jobs
    batches: Batches
    previews: Previews
    adoptions: Adoptions
    reports: ReportArchive


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What happened and happens."""

    bus: Bus
    event_log: EventLog
    metrics: Metrics
    returners: Returners
    executor: ExecutorReport
    notifications: NotificationViews


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedKeys:
    """Keys of minions, and the controller's own."""

    changes: KeyChanges
    own: KeyPair
    tokens: EnrolmentDesk
    rotations: KeyRotations


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChanges:
    """How revisions go to the fleet, and are taken back."""

    rollouts: RolloutReconciler
    quarantine: Quarantine
    minion_rollbacks: MinionRollbacks
    status: FleetStatus


@dataclass(slots=True, kw_only=True)
class ControllerService:
    """The controller, as far as people may ask it (`ControllerApi` says what each method does)."""

    store: Store
    state: Status
    key_pairs: ServedKeys
    git: GitSources
    minions: MinionActions
    pull_requests: PullRequests
    runners: RunnerJobs
    scheduled: ControllerSchedule
    running_engines: Engines
    telemetry: Telemetry
    fleet: FleetChanges
    reloads: ConfigReloads
    lookups: Lookups
    ssh: SshVisits
    agents: AgentReplacements

    # --- status ---

    async def status(self, target: TargetExpression | None) -> Sequence[MinionStatus]:
        """See `ControllerApi`."""
        return self.state.minions(None if target is None else await self.minions.targets.find(target))

    async def minion_page(self, query: MinionPageQuery) -> MinionPage:
        """See `ControllerApi`."""
        target = None if query.expression is None else TargetExpression(kind=query.kind, expression=query.expression)
        ids = self.state.keyring.accepted if target is None else await self.minions.targets.find(target)
        at = self.runners.ports.clock()
        if needs_a_look(query):
            standings, at = await self.fleet.status.last()
            chosen = await asyncio.to_thread(chosen_by_state, standings, ids, query)
        else:
            chosen = chosen_by_name(ids, query)
        wanted = chosen[query.offset : query.offset + query.limit]
        found = {each.minion: each for each in self.state.minions(wanted)} if wanted else {}
        shown = tuple(found[each] for each in wanted if each in found)
        return MinionPage(minions=shown, total=len(chosen), offset=query.offset, at=at)

    async def minion_detail(self, minion: str) -> MinionDetail:
        """See `ControllerApi`."""
        name = self.state.known(minion).minion.id
        [status] = self.state.minions([name])
        [presence] = await self.presence(TargetExpression(kind="list", expression=name))
        return await asyncio.to_thread(minion_detail, self.state, status, presence)

    async def presence(self, target: TargetExpression | None) -> Sequence[MinionPresence]:
        """See `ControllerApi`."""
        accepted = self.store.keys.accepted_ids()
        minions = sorted(accepted) if target is None else await self.minions.targets.find(target)
        sessions = self.minions.jobs.sessions
        there = {each.minion: ConnectedMinion(each.problems, each.relay, each.agent) for each in sessions}
        shadowed = self.minions.reconciler.shadowed(set(minions))
        return await asyncio.to_thread(presence_of, self.store, minions, there, shadowed)

    async def select(self, target: TargetExpression) -> Sequence[str]:
        """See `ControllerApi`."""
        return await self.minions.targets.find(target)

    async def fleet_status(self, by: GroupScope, *, recent: bool = False) -> FleetStatusView:
        """See `ControllerApi`."""
        return await self.fleet.status.view(by, recent=recent)

    async def activity(self, query: ActivityQuery) -> ActivityView:
        """See `ControllerApi`."""
        sessions = self.minions.jobs.sessions
        runs, open_runs = await runs_under_way(self.store, sessions, query.limit)
        slowest = await slowest_minions(self.store, query.limit)
        return ActivityView(
            at=self.runners.ports.clock(),
            events=self.telemetry.bus.last,
            accepted=self.state.keyring.count_accepted(),
            connected=len(sessions),
            runs=runs,
            open_runs=open_runs,
            queue=self.minions.reconciler.waiting(),
            compiling=self.git.builds.compiling,
            compile_queue=self.git.builds.waiting(),
            rollouts=tuple(rollout_view(one) for one in self.fleet.rollouts.newest(_ROLLOUTS) if not one.ended),
            slowest=slowest,
        )

    def returners(self) -> Sequence[ReturnerStatus]:
        """See `ControllerApi`."""
        return self.telemetry.returners.statuses

    def engines(self) -> Sequence[EngineStatus]:
        """See `ControllerApi`."""
        return self.running_engines.statuses

    def executor(self) -> ExecutorStatus:
        """See `ControllerApi`."""
        return self.telemetry.executor.status()

    def remotes(self) -> Sequence[RemoteStatus]:
        """See `ControllerApi`."""
        places = dict(self.git.live.trees.revision.remotes) if self.git.live.trees else {}
        errors = self.git.reconciler.fetch_errors
        found = []
        for remote in self.git.source.remotes:
            place = places.get(remote.name)
            found.append(
                RemoteStatus(
                    name=remote.name,
                    url=redact(remote.url),
                    commit=place.short if place else "",
                    branch=place.branch if place else "",
                    subject=place.subject if place else "",
                    last_fetch=self.git.reconciler.fetched_at.get(remote.name),
                    error=errors.get(remote.name, "") or self._policy_error(remote.name),
                )
            )
        return found

    def _policy_error(self, remote: str) -> str:
        """Why what this remote brought last is not live, when its policy cannot be read."""
        return self.git.reconciler.error if remote in self.git.reconciler.refused_remotes else ""

    async def diff(self, minion: str | None) -> Sequence[MinionDiff]:
        """See `ControllerApi`."""
        if minion is not None:
            self.state.known(minion)
        ids = [minion] if minion is not None else [record.id for record in self.store.minions.all()]
        found = await self.state.diff(ids)
        return found if minion is not None else [each for each in found if _to_tell(each)]

    def fleet_diff(self, target: TargetExpression | None) -> AsyncIterator[PreviewItem]:
        """See `ControllerApi`."""
        return PendingChanges(previews=self.minions.previews, drifted=FleetDrift(self.state).of).report(target)

    async def history(self, query: HistoryQuery) -> Sequence[HistoryEntry]:
        """See `ControllerApi`. Thousands of runs take a second to read."""
        return await self.lookups.ask(partial(self.state.history, query))

    async def revisions(self, query: RevisionsQuery) -> RevisionPage:
        """See `ControllerApi`."""
        return await self.lookups.ask(partial(revision_page, self.store, query, self._marks()))

    async def search(self, query: SearchQuery) -> SearchView:
        """See `ControllerApi`."""
        return await self.lookups.ask(partial(search, self.store, query, tuple(self.state.keyring.accepted)))

    def _marks(self) -> RevisionMarks:
        taken_back = frozenset(each.digest for each in self.fleet.quarantine.records)
        return RevisionMarks(live=self.git.live.digest, quarantined=taken_back)

    async def history_with_causes(self, query: HistoryQuery) -> Sequence[CausedEntry]:
        """See `ControllerApi`."""
        entries = await self.history(query)
        await self.telemetry.event_log.flush()
        return await asyncio.to_thread(entries_with_causes, entries, self.store, self.fleet.rollouts)

    def compile_detail(self, minion: str) -> CompileView:
        """See `ControllerApi`."""
        return self.state.compile(minion)

    async def compare_with_master(self, theirs: SaltsSide) -> MinionComparison:
        """See `ControllerApi`."""
        return await self.lookups.ask(partial(self.state.compare_with_master, theirs))

    async def blame(self, query: BlameQuery) -> BlameView:
        """See `ControllerApi`."""
        return await asyncio.to_thread(blame, self.state, self.git.source, query.minion, query.state)

    async def adopt(self, question: AdoptQuestion, *, user: str = "") -> AdoptView:
        """See `ControllerApi`."""
        return await self.minions.adoptions.adopt(question, user)

    async def why(self, query: WhyQuery) -> WhyView:
        """See `ControllerApi`."""
        row = self.state.known(query.minion)
        await self.telemetry.event_log.flush()
        states = await asyncio.to_thread(self.state.why_states, row, query.state)
        return WhyView(
            minion=query.minion,
            steps=tuple(steps_of(self.store, query.minion)),
            states=states,
            unnamed=self.state.unnamed(row, query.state),
        )

    async def run_detail(self, run_id: str) -> RunView:
        """See `ControllerApi`."""
        view = self.state.run(run_id)
        await self.telemetry.event_log.flush()
        return await asyncio.to_thread(with_cause, view, self.store, self.fleet.rollouts)

    # --- keys ---

    async def keys(self) -> Sequence[KeyView]:
        """See `ControllerApi`."""
        return await self.key_pairs.changes.all()

    def key_refusals(self) -> KeyRefusals:
        """See `ControllerApi`."""
        refused = self.telemetry.metrics.limit_refusals("stranger")
        return KeyRefusals(limits={limit: refused[limit] for limit in KEY_REQUEST_LIMITS if refused.get(limit)})

    def controller_key(self) -> ControllerKey:
        """See `ControllerApi`."""
        return ControllerKey(public=self.key_pairs.own.public, fingerprint=fingerprint(self.key_pairs.own.public))

    async def accept(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """See `ControllerApi`."""
        return await self.key_pairs.changes.set_state(names, ("rejected", "pending"), "accepted", user)

    async def reject(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """See `ControllerApi`."""
        return await self.key_pairs.changes.set_state(names, ("accepted", "pending"), "rejected", user)

    async def delete(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """See `ControllerApi`."""
        return await self.key_pairs.changes.delete(names, user)

    def add_key(self, question: NewKeyQuestion, *, user: str = "") -> KeyView:
        """See `ControllerApi`."""
        return self.key_pairs.changes.add(question.minion, question.public_key, user, question.role)

    async def rotate_key(self, minion: str, *, user: str = "") -> RotatedKey:
        """See `ControllerApi`."""
        return await self.key_pairs.rotations.rotate(minion, user)

    def rotate_controller_key(self) -> NextController:
        """See `ControllerApi`."""
        return self.key_pairs.rotations.begin()

    def enrolment_tokens(self) -> Sequence[EnrolmentTokenView]:
        """See `ControllerApi`."""
        return [token_view(record) for record in self.key_pairs.tokens.all()]

    def create_enrolment_token(self, question: EnrolmentTokenQuestion, *, user: str = "") -> NewEnrolmentToken:
        """See `ControllerApi`."""
        try:
            token, record = self.key_pairs.tokens.give(question.minions, question.count, question.seconds, user)
        except BadEnrolmentToken as error:
            raise ServiceError("bad-request", str(error)) from error
        return NewEnrolmentToken(token=token, view=token_view(record))

    def revoke_enrolment_tokens(self, ids: Sequence[str], *, user: str = "") -> Sequence[str]:
        """See `ControllerApi`."""
        return self.key_pairs.tokens.revoke(ids)

    # --- functions and runs ---

    async def call(self, question: CallQuestion, *, user: str = "") -> AsyncIterator[CallItem]:
        """See `ControllerApi`."""
        jobs = self.minions.jobs
        await jobs.returners.look(question.ret)
        minions = self._subset(await self.minions.targets.find(question.target), question.subset)
        unknown = () if question.subset else tuple(self.minions.targets.unknown(question.target))
        if question.batch:
            async for item in self.minions.batches.call(minions, question, user):
                yield structs.replace(item, unknown=unknown) if isinstance(item, CallStarted) else item
            return
        asked = jobs.start(minions, question, user=user)
        jid = next(run_id for run_id, _ in asked.values())
        missing = tuple(minion for minion, (_, future) in asked.items() if future is None)
        try:
            yield CallStarted(jid=jid, minions=tuple(asked), missing=missing, unknown=unknown)
            if question.wait:
                async for item in jobs.returns(asked, question):
                    yield item
        finally:
            jobs.forget(asked)

    def _subset(self, minions: Sequence[str], size: int) -> Sequence[str]:
        """So many of those that are connected, by chance; ServiceError when none is."""
        if size < 1:
            return minions
        connected = [minion for minion in minions if self.minions.jobs.sessions.session(minion) is not None]
        if not connected:
            raise ServiceError("no-target", f"none of {len(minions)} minions is connected")
        return sorted(random.sample(connected, min(size, len(connected))))

    async def ssh_targets(self, question: SshQuestion) -> SshTargetsView:
        """See `ControllerApi`."""
        return await self.ssh.targets(question)

    def ssh_visit(self, question: SshQuestion) -> AsyncIterator[SshVisitView]:
        """See `ControllerApi`."""
        return self.ssh.visit(question)

    async def replace_agents(self, question: ReplacementQuestion, *, user: str = "") -> AsyncIterator[ReplacementView]:
        """See `ControllerApi`."""
        return self.agents.replace(await self.minions.targets.find(question.target), question, user)

    def replacements(self) -> Sequence[ReplacementView]:
        """See `ControllerApi`."""
        return self.agents.views()

    def ssh_raw(self, question: SshRawQuestion) -> AsyncIterator[SshRawView]:
        """See `ControllerApi`."""
        return self.ssh.raw(question)

    def rollouts(self, limit: int) -> Sequence[RolloutView]:
        """See `ControllerApi`."""
        return [rollout_view(each) for each in self.fleet.rollouts.newest(max(1, min(limit, 200)))]

    def rollout(self, name: str) -> RolloutView:
        """See `ControllerApi`."""
        found = self._rollout(name)
        return rollout_view(found, self.fleet.rollouts.standings(found))

    def _rollout(self, name: str) -> Rollout:
        try:
            return self.fleet.rollouts.find(name)
        except LookupError:
            text = f"no rollout {name!r}" if name else "there was no rollout yet"
            hint = "`saltern rollout list` shows all" if name else "saltern.yaml has the key `rollout` for them"
            raise ServiceError("not-found", text, hint=hint) from None

    def change_rollout(self, name: str, action: RolloutAction, *, user: str = "") -> RolloutView:
        """See `ControllerApi`."""
        found = self._rollout(name)
        try:
            changed = self.fleet.rollouts.change(found, action, user)
        except NotPossible as error:
            raise ServiceError("conflict", str(error), hint="`saltern rollout show` says where it stands") from None
        return rollout_view(changed, self.fleet.rollouts.standings(changed))

    def quarantined(self) -> Sequence[QuarantineView]:
        """See `ControllerApi`."""
        some = [minion_rollback_view(each) for each in self.fleet.minion_rollbacks.all()]
        return [*(quarantine_view(each) for each in self.fleet.quarantine.records), *some]

    async def roll_back(self, question: RollbackQuestion, *, user: str = "") -> QuarantineView:
        """See `ControllerApi`."""
        to, why, target = question.to, question.why, question.target
        try:
            if target is None:
                await self.telemetry.event_log.flush()  # which revisions did not compile
                return taken_back_view(await self.fleet.quarantine.roll_back(to, user=user, why=why))
            minions, compile_at = await self.minions.targets.find(target), self.minions.previews.documents_at
            held = self.fleet.minion_rollbacks.roll_back(minions, to, compile_at=compile_at, user=user, why=why)
            return minion_rollback_view(await held)
        except CannotRollBack as error:
            raise ServiceError("conflict", str(error), hint="`saltern history` shows what was applied") from None

    async def release_quarantined(self, question: QuarantineQuestion, *, user: str = "") -> Sequence[QuarantineView]:
        """See `ControllerApi`."""
        name, target = question.name, question.target
        minions = None if target is None else frozenset(await self.minions.targets.find(target))
        some = [minion_rollback_view(each) for each in self.fleet.minion_rollbacks.release(name, minions, user=user)]
        if minions is not None:
            return some
        for each in self.fleet.quarantine.records:
            if each.label.startswith(name):
                self.fleet.rollouts.forget_rollback(each.digest)
        return [*(quarantine_view(each) for each in await self.fleet.quarantine.release(name, user=user)), *some]

    async def policy(self, minion: str) -> PolicyView:
        """See `ControllerApi`."""
        return await asyncio.to_thread(self.state.policy, minion)

    async def newest_jobs(self, query: JobsQuery) -> Sequence[JobView]:
        """See `ControllerApi`."""
        return await self.lookups.ask(JobReports(self.minions.jobs).newest(query))

    async def job_detail(self, jid: str) -> JobDetail:
        """See `ControllerApi`."""
        return await JobReports(self.minions.jobs).detail(jid)

    async def kill_job(self, jid: str, *, user: str = "") -> Sequence[JobKill]:
        """See `ControllerApi`."""
        reports = JobReports(self.minions.jobs)
        self.minions.batches.stop((await reports.detail(jid)).job.jid)
        return await reports.kill(jid, user)

    async def sync(self, question: SyncQuestion, *, user: str = "") -> AsyncIterator[SyncReturn | CallProgress]:
        """See `ControllerApi`."""
        minions = await self.minions.targets.find(question.target)
        whole, test = question.whole, question.test
        data = {"target": question.target.expression, "whole": whole, "test": test, "user": user}
        event = self.telemetry.bus.publish("saltern/sync", data)
        while minions:
            asked, busy = {}, {}
            answers = self.minions.reconciler.request(minions, Request(whole=whole, test=test, user=user), event.id)
            idle = [minion for minion, answer in answers.items() if answer is Declined.NOTHING_PENDING]
            drifted = {each.minion: each.drifted for each in self.state.minions(idle)} if idle else {}
            for minion, answer in answers.items():
                match answer:
                    case Declined():
                        forbidden = self.state.forbidden(minion)
                        yield _declined(minion, answer, drifted.get(minion, 0), forbidden, test=test)
                    case AfterRun(run_id=run_id):
                        busy[minion] = (run_id, self.minions.jobs.wait(run_id))
                    case _:
                        asked[minion] = (answer, self.minions.jobs.wait(answer))
            async for minion, run_id, news in self.minions.jobs.gather(asked, SYNC_SECONDS, progress=question.progress):
                if isinstance(news, RunProgress):
                    yield progress_view(minion, news)
                else:
                    yield _sync_return(minion, run_id, news)
            minions = []
            async for minion, run_id, news in self.minions.jobs.gather(busy, SYNC_SECONDS):
                if news is None:
                    yield _sync_return(minion, run_id, news)
                else:
                    minions.append(minion)

    def runner(self, question: RunnerQuestion, *, user: str = "") -> AsyncIterator[RunnerItem]:
        """See `ControllerApi`."""
        return call_and_wait(self.runners, question, user)

    async def pause(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """See `ControllerApi`."""
        return await self._set_paused(target, user, paused=True)

    async def resume(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """See `ControllerApi`."""
        return await self._set_paused(target, user, paused=False)

    async def confirm(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """See `ControllerApi`."""
        rows = self.store.minions.status(await self.minions.targets.find(target))
        found = self.minions.reconciler.confirmations.confirm(rows, user)
        for minion, event in found.items():
            self.minions.reconciler.wake([minion], cause=event)
        return sorted(found)

    async def _set_paused(self, target: TargetExpression, user: str, *, paused: bool) -> list[str]:
        minions = await self.minions.targets.find(target)
        self.store.minions.set_paused(minions, paused)
        for minion in minions:
            tag = f"saltern/minion/{minion}/{'paused' if paused else 'resumed'}"
            self.minions.reconciler.wake(
                [minion], cause=self.telemetry.bus.publish(tag, {"id": minion, "user": user}).id
            )
        return minions

    def preview(self, question: PreviewQuestion, *, user: str = "") -> AsyncIterator[PreviewItem]:
        """See `ControllerApi`."""
        return self.minions.previews.preview(question, user)

    def pulls(self) -> Sequence[PullView]:
        """See `ControllerApi`."""
        return self.pull_requests.views()

    async def pull_report(self, query: PullReportQuery) -> bytes:
        """See `ControllerApi`."""
        found = await asyncio.to_thread(self.store.pull_requests.report, query.forge, query.project, query.number)
        if found is None:
            name = f"{query.forge}:{query.project}#{query.number}"
            raise ServiceError("not-found", f"there is no report of {name}", hint="`saltern pulls` shows all of them")
        return found

    async def unapply(self, pull: str, target: TargetExpression | None, *, user: str = "") -> Sequence[str]:
        """See `ControllerApi`."""
        chosen = None if target is None else frozenset(await self.minions.targets.find(target))
        return self.pull_requests.unapply(pull, chosen, user)

    async def events(self, query: EventsQuery) -> AsyncIterator[Sequence[EventView]]:
        """See `ControllerApi`."""
        telemetry = self.telemetry
        try:
            wanted = tag_pattern(query.tag, query.match)
        except BadTagPattern as error:
            raise ServiceError("bad-request", str(error)) from None
        with telemetry.bus.subscribe_to(lambda event: wanted.matches(event.tag)) as subscription:
            newest = query.after
            async for found in self._kept_events(query, wanted):
                for first in range(0, len(found), _TOGETHER):
                    yield [view_of(event) for event in found[first : first + _TOGETHER]]
                newest = found[-1].id if found else newest
            if not query.follow:
                return
            told = 0
            while True:
                some = await subscription.take_some(_TOGETHER, _TOGETHER_BYTES)
                views = [view_of(event) for event in some if event.id > newest]
                if subscription.dropped > told:
                    data = {"count": subscription.dropped - told}
                    views.insert(0, EventView(tag=DROPPED, time=some[0].time, data=data))
                    told = subscription.dropped
                if views:
                    yield views

    async def _kept_events(self, query: EventsQuery, wanted: TagPattern) -> AsyncIterator[Sequence[Event]]:
        """What a reader of events gets of those that are kept."""
        log, after = self.telemetry.event_log, query.after
        if after or query.since:
            await log.flush()
        if not after:
            if query.since:
                yield await asyncio.to_thread(log.kept, wanted, query.since)
            return
        while page := await asyncio.to_thread(log.page_after, after, wanted.head):
            after = page[-1].id
            yield [event for event in page if wanted.matches(event.tag)]

    async def reactions(self, query: ReactionsQuery) -> Sequence[ReactionView]:
        """See `ControllerApi`."""
        await self.telemetry.event_log.flush()
        return await self.lookups.ask(partial(traces.recent, self.store.events, query))

    async def reaction(self, reaction_id: str) -> ReactionTrace:
        """See `ControllerApi`."""
        await self.telemetry.event_log.flush()
        found = await self.lookups.ask(partial(traces.trace, self.store.events, reaction_id))
        if found is None:
            raise ServiceError(
                "not-found", f"no reaction {reaction_id!r}", hint="`saltern reactions list` shows the newest"
            )
        return found

    async def orchestrations(self, query: OrchestrationsQuery) -> Sequence[OrchestrationView]:
        """See `ControllerApi`."""
        return await asyncio.to_thread(orchestration_views.newest, self.store, query, self.runners.ports.clock())

    async def orchestration(self, jid: str) -> OrchestrationDetail:
        """See `ControllerApi`."""
        found = await asyncio.to_thread(orchestration_views.detail, self.store, jid, self.runners.ports.clock())
        if found is None:
            raise ServiceError(
                "not-found", f"no orchestration {jid!r}", hint="`saltern orchestrations list` shows the newest"
            )
        return found

    async def schedule(self) -> ScheduleView:
        """See `ControllerApi`."""
        return await self.scheduled.view()

    async def run_scheduled(self, job: str, *, force: bool = False, user: str = "") -> ScheduleRunView:
        """See `ControllerApi`."""
        return await self.scheduled.start_now(job, user=user, force=force)

    async def switch_schedule(self, job: str, enabled: bool, *, user: str = "") -> ScheduleView:
        """See `ControllerApi`."""
        return await self.scheduled.switch(job, enabled, user=user)

    async def notifications(self) -> NotificationsView:
        """See `ControllerApi`."""
        return await self.telemetry.notifications.overview()

    async def spool(self, limit: int) -> Sequence[SpooledMessage]:
        """See `ControllerApi`."""
        return await self.telemetry.notifications.spool(limit)

    async def test_receiver(self, receiver: str, *, user: str = "") -> ReceiverTestView:
        """See `ControllerApi`."""
        return await self.telemetry.notifications.test(receiver, user)

    async def retry_message(self, message: str) -> Sequence[str]:
        """See `ControllerApi`."""
        return await self.telemetry.notifications.retry(message)

    async def reload(self, *, check: bool = False, user: str = "") -> ReloadView:
        """See `ControllerApi`."""
        return await self.reloads.reload(user, check=check)

    async def report_page(self, report_id: str, expires: str, signature: str, form: str) -> ReportPage:
        """See `ControllerApi`."""
        return await self.minions.reports.page(report_id, expires, signature, form)

    async def hook(self, remote: str | None, *, user: str = "") -> int:
        """See `ControllerApi`."""
        return self.runners.ports.fetch(remote, user)


def _declined(minion: str, why: Declined, drifted: int, forbidden: str, *, test: bool) -> SyncReturn:
    match why:
        case Declined.UNREACHABLE:
            return SyncReturn(minion=minion, outcome="unreachable", summary="not connected")
        case Declined.FOLLOWS_ANOTHER:
            return SyncReturn(minion=minion, outcome="refused", summary="it follows another controller: ask that one")
        case Declined.PAUSED:
            return SyncReturn(minion=minion, outcome="paused", summary=forbidden or "`saltern resume` first")
        case Declined.OUTSIDE_WINDOW:
            return SyncReturn(minion=minion, outcome="outside-window", summary=forbidden)
        case Declined.GATED:
            return SyncReturn(minion=minion, outcome="waits-for-rollout", summary=forbidden)
        case Declined.NOTHING_PENDING:
            states = f"{drifted} state{'' if drifted == 1 else 's'}"
            drift = f", but {states} drifted; --whole heals {'it' if drifted == 1 else 'them'}" if drifted else ""
            # A test of nothing says nothing of the machine, which who asks for a test wants to know.
            whole = "; --test --whole tests the whole highstate" if test else ""
            return SyncReturn(minion=minion, outcome="ok", summary=f"nothing is pending{drift}{whole}")


def _sync_return(minion: str, run_id: str, result: RunResult | None) -> SyncReturn:
    if result is None:
        return SyncReturn(minion=minion, outcome="error", run_id=run_id, summary="no result in time")
    changes, failed = count_states(result.states)
    return SyncReturn(
        minion=minion,
        outcome=result.outcome,
        run_id=run_id,
        changes=changes,
        failed=failed,
        summary=run_summary(result.states, result.error),
        states=result.states,
        seconds=result.seconds,
    )


def _to_tell(found: MinionDiff) -> bool:
    return bool(found.changes or found.drift or found.ignored or found.errors or found.warnings)
