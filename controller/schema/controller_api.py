"""The port through which the HTTP API asks the controller. `controller.api.service` implements it.

The methods decide nothing and look nothing up here: this folder is what server and client share.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from controller.schema.blame import BlameView
from controller.schema.events import EventView, WhyView
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
from controller.schema.runs import CallItem, CallProgress, CausedEntry, HistoryEntry, RunView, SyncReturn
from controller.schema.schedules import ScheduleRunView, ScheduleView
from controller.schema.targets import TargetExpression


class ControllerApi(Protocol):
    """What people may ask the controller. Called on its own event loop; every method may raise ServiceError.

    A target that matches no minion is a ServiceError of kind `no-target`. `user`: who asks, for events and the history;
    empty when that is not known.
    """

    async def status(self, target: TargetExpression | None) -> Sequence[MinionStatus]:
        """All minions that the target names (None: all), sorted by id."""

    async def minion_page(self, query: MinionPageQuery) -> MinionPage:
        """Some of the minions that are meant, filtered and sorted."""

    async def minion_detail(self, minion: str) -> MinionDetail:
        """One minion with its grains and the states that it shall have."""

    async def presence(self, target: TargetExpression | None) -> Sequence[MinionPresence]:
        """The accepted minions that the target names (None: all), sorted by id: who is connected."""

    async def select(self, target: TargetExpression) -> Sequence[str]:
        """Ids of the accepted minions that a target names."""

    async def fleet_status(self, by: GroupScope, *, recent: bool = False) -> FleetStatusView:
        """Where the fleet, its environments or its waves stand; `recent`: see `FleetStatusQuery`."""

    async def activity(self, query: ActivityQuery) -> ActivityView:
        """What the fleet is doing now."""

    def returners(self) -> Sequence[ReturnerStatus]:
        """Returners that ever got something, and how they are doing."""

    def engines(self) -> Sequence[EngineStatus]:
        """Engines of the administrator, and how they are doing."""

    def executor(self) -> ExecutorStatus:
        """Where minions are compiled: by this machine, or by which workers of a cluster."""

    def remotes(self) -> Sequence[RemoteStatus]:
        """All git remotes."""

    async def keys(self) -> Sequence[KeyView]:
        """All keys, sorted by state and id."""

    def key_refusals(self) -> KeyRefusals:
        """What limits refused of key requests: why a minion may be missing among the keys."""

    def controller_key(self) -> ControllerKey:
        """The controller's own key."""

    async def accept(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """Accept keys by id, glob or fingerprint; the keys as they are now."""

    async def reject(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """Reject keys; a connected minion is cut off."""

    async def delete(self, names: Sequence[str], *, user: str = "") -> Sequence[KeyView]:
        """Forget keys, and the minions that had them."""

    def add_key(self, question: NewKeyQuestion, *, user: str = "") -> KeyView:
        """Accept a key before its minion has asked."""

    async def rotate_key(self, minion: str, *, user: str = "") -> RotatedKey:
        """Have a connected minion make a new key, which takes the place of the old."""

    def rotate_controller_key(self) -> NextController:
        """Make the controller's next key, and tell it to minions."""

    def enrolment_tokens(self) -> Sequence[EnrolmentTokenView]:
        """Enrolment tokens that are good."""

    def create_enrolment_token(self, question: EnrolmentTokenQuestion, *, user: str = "") -> NewEnrolmentToken:
        """A new enrolment token."""

    def revoke_enrolment_tokens(self, ids: Sequence[str], *, user: str = "") -> Sequence[str]:
        """Take enrolment tokens back; the ids of those that there were."""

    async def diff(self, minion: str | None) -> Sequence[MinionDiff]:
        """What is pending and what drifted: of one minion, or of all that have any."""

    def fleet_diff(self, target: TargetExpression | None) -> AsyncIterator[PreviewItem]:
        """What is pending and what drifted on many minions, by classes: how far it is, then a `PreviewFinished`."""

    async def history(self, query: HistoryQuery) -> Sequence[HistoryEntry]:
        """Runs that are meant, newest first."""

    async def revisions(self, query: RevisionsQuery) -> RevisionPage:
        """Some of the revisions that are meant, newest first."""

    async def search(self, query: SearchQuery) -> SearchView:
        """Minions, revisions, runs and jobs that have a text in them; some of each."""

    async def history_with_causes(self, query: HistoryQuery) -> Sequence[CausedEntry]:
        """The same with what led to each of them, of the newest `MOST_WITH_CAUSES`."""

    def compile_detail(self, minion: str) -> CompileView:
        """The newest compile of a minion, with its warnings and what it stands on."""

    async def why(self, query: WhyQuery) -> WhyView:
        """What led to the newest run or compile of a minion, and what followed."""

    async def blame(self, query: BlameQuery) -> BlameView:
        """Where the values of states of a minion are written, and by which commits."""

    async def adopt(self, question: AdoptQuestion, *, user: str = "") -> AdoptView:
        """Make commits of what a machine has and git says otherwise, and push them where that is asked for."""

    async def policy(self, minion: str) -> PolicyView:
        """What of saltern.yaml holds for a minion now."""

    def rollouts(self, limit: int) -> Sequence[RolloutView]:
        """The newest rollouts, newest first."""

    def rollout(self, name: str) -> RolloutView:
        """One, by id or revision (empty: the newest), with its batches."""

    def change_rollout(self, name: str, action: RolloutAction, *, user: str = "") -> RolloutView:
        """Pause, resume, abort, try again, approve, promote or confirm it."""

    def quarantined(self) -> Sequence[QuarantineView]:
        """Revisions that were taken back, for all or for some minions."""

    async def roll_back(self, question: RollbackQuestion, *, user: str = "") -> QuarantineView:
        """Take the live revision back: an earlier one is live in its place, or held on the minions that are meant."""

    async def release_quarantined(self, question: QuarantineQuestion, *, user: str = "") -> Sequence[QuarantineView]:
        """Let revisions go live again that were taken back; those of them."""

    async def run_detail(self, run_id: str) -> RunView:
        """One run; an unambiguous beginning of its id is enough."""

    def call(self, question: CallQuestion, *, user: str = "") -> AsyncIterator[CallItem]:
        """Run a function on minions: that it began, one return a minion as they come, with `progress` how far."""

    def sync(self, question: SyncQuestion, *, user: str = "") -> AsyncIterator[SyncReturn | CallProgress]:
        """Apply what is pending now (`whole`: the whole highstate; `test`: only say what would change)."""

    def runner(self, question: RunnerQuestion, *, user: str = "") -> AsyncIterator[RunnerItem]:
        """Call a function of the controller: that it has begun, what it says, its value. It outlives its asker."""

    async def pause(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """Apply nothing more on these minions; their ids."""

    async def resume(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """The opposite of pause."""

    async def compare_with_master(self, theirs: SaltsSide) -> MinionComparison:
        """What a Salt master compiles for a minion, compared with what is compiled here."""

    async def confirm(self, target: TargetExpression, *, user: str = "") -> Sequence[str]:
        """Keep what `apply: confirm` has applied on these minions; ids of those on which something waited."""

    def preview(self, question: PreviewQuestion, *, user: str = "") -> AsyncIterator[PreviewItem]:
        """What moving from one ref to another would change: how far it is, then a `PreviewFinished`."""

    def pulls(self) -> Sequence[PullView]:
        """The open pull requests of the forges, as they were left after the last look at each."""

    async def pull_report(self, query: PullReportQuery) -> bytes:
        """The report of a pull request, as JSON of a `PreviewReport`."""

    async def unapply(self, pull: str, target: TargetExpression | None, *, user: str = "") -> Sequence[str]:
        """Have minions that hold a pull request go back to what is live: all, or those that are meant; their ids."""

    def events(self, query: EventsQuery) -> AsyncIterator[Sequence[EventView]]:
        """What is kept of what has happened, then everything that happens from now on; some at a time."""

    async def newest_jobs(self, query: JobsQuery) -> Sequence[JobView]:
        """Jobs of minions, newest first."""

    async def job_detail(self, jid: str) -> JobDetail:
        """One job with what became of it on each of its minions, by its id or that of a run of it."""

    async def kill_job(self, jid: str, *, user: str = "") -> Sequence[JobKill]:
        """Have a job ended on the minions where it goes on; who was asked for that."""

    async def reactions(self, query: ReactionsQuery) -> Sequence[ReactionView]:
        """The newest events that reactors answered, newest first."""

    async def reaction(self, reaction_id: str) -> ReactionTrace:
        """A reaction, with what it answered and what followed from it."""

    async def orchestrations(self, query: OrchestrationsQuery) -> Sequence[OrchestrationView]:
        """Orchestrations that go on, then those that the history has; of each the newest first."""

    async def orchestration(self, jid: str) -> OrchestrationDetail:
        """An orchestration with its steps."""

    async def schedule(self) -> ScheduleView:
        """The controller's own schedule."""

    async def run_scheduled(self, job: str, *, force: bool = False, user: str = "") -> ScheduleRunView:
        """Begin a job of it at once; `force`: also a disabled one, and beside runs that go on."""

    async def switch_schedule(self, job: str, enabled: bool, *, user: str = "") -> ScheduleView:
        """Enable or disable a job, or with an empty name all of them; the schedule after that."""

    async def notifications(self) -> NotificationsView:
        """Receivers, routes, and what was told and is not over."""

    async def spool(self, limit: int) -> Sequence[SpooledMessage]:
        """The newest messages that wait for their receiver, or were given up."""

    async def test_receiver(self, receiver: str, *, user: str = "") -> ReceiverTestView:
        """Send a receiver a test."""

    async def retry_message(self, message: str) -> Sequence[str]:
        """Have a message that was given up wait again; its id."""

    async def reload(self, *, check: bool = False, user: str = "") -> ReloadView:
        """Take the configuration as the files have it now; `check`: only say what that would do."""

    async def report_page(self, report_id: str, expires: str, signature: str, form: str) -> ReportPage:
        """The report of a preview, for who has its address; `form`: `html`, `json` or `md`."""

    async def hook(self, remote: str | None, *, user: str = "") -> int:
        """Fetch the remotes with this URL or name (None: all); their number."""

    async def ssh_targets(self, question: SshQuestion) -> SshTargetsView:
        """Which machines of the roster are meant."""

    def ssh_visit(self, question: SshQuestion) -> AsyncIterator[SshVisitView]:
        """Visit machines; one item each, when it can be asked or could not be reached. Closing it ends the visits."""

    async def replace_agents(self, question: ReplacementQuestion, *, user: str = "") -> AsyncIterator[ReplacementView]:
        """Replace the agents of minions, or say what would be done; each step of each as it comes."""

    def replacements(self) -> Sequence[ReplacementView]:
        """How far agents are that are replaced, or were: of each minion the newest, those that go on first."""

    def ssh_raw(self, question: SshRawQuestion) -> AsyncIterator[SshRawView]:
        """Run a command on machines, or remove what is ours there; one item each, as they come."""
