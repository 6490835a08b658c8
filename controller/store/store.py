"""The store: an open database, and its tables by name.

Calls are short and synchronous, and are made from the controller's loop. The store keeps and finds; it decides nothing
and has no clock. A call is one transaction unless it is made inside `transaction`; reads never wait for a writer.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from controller.store.access.audit import AuditLog
from controller.store.access.enrolment_tokens import EnrolmentTokens
from controller.store.access.tokens import AccessTokens
from controller.store.applied import Applied
from controller.store.compiles.bases import Bases
from controller.store.compiles.desired import DesiredTable
from controller.store.compiles.documents import DocumentBlobs
from controller.store.database import Database, TakeTime, untimed
from controller.store.drift.table import DriftPasts
from controller.store.drift.unnamed import PruneReports
from controller.store.events import Events
from controller.store.facts import FactsTable
from controller.store.holds import Holds
from controller.store.jobs.agent_replacements import Replacements
from controller.store.jobs.listing import JobListing
from controller.store.jobs.table import JobTable
from controller.store.keys import Keys
from controller.store.mines import Mines
from controller.store.minions import Minions
from controller.store.notifications.table import Notifications
from controller.store.orchestrations.table import Orchestrations
from controller.store.pull_requests import PullRequestTable
from controller.store.queues import Queues
from controller.store.reports import Reports
from controller.store.revisions import Revisions
from controller.store.rollouts.conditions import Conditions
from controller.store.rollouts.confirmations import Confirmations
from controller.store.rollouts.quarantine import QuarantineTable
from controller.store.rollouts.table import RolloutTable
from controller.store.run_tables.call_runs import CallRuns
from controller.store.run_tables.open_calls import OpenCalls
from controller.store.run_tables.run_events import RunEventCounts
from controller.store.run_tables.runs import Runs
from controller.store.run_tables.state_runs import StateRuns
from controller.store.search import Search
from controller.store.secrets import SecretsTable

_KEPT_ROLLOUTS = 200


class Store:
    """Everything that must survive the controller.

    Args:
        url: of the database, in SQLAlchemy's form.
        fence: see `Database`.
        timed: see `Database`.

    Every method of a table raises StoreUnavailable when the database cannot be used.
    """

    def __init__(self, url: str, fence: int = 0, timed: TakeTime = untimed) -> None:
        self._database = database = Database(url, fence, timed)
        self.shared = fence > 0
        """Whether other controllers use it when this one does not."""
        self.lease = fence
        """Epoch of the lease with which it is used; 0 without one."""
        self.keys = Keys(database)
        self.minions = Minions(database)
        self.revisions = Revisions(database)
        self.documents = DocumentBlobs(database)
        self.desired = DesiredTable(database)
        self.bases = Bases(database)
        self.applied = Applied(database)
        self.holds = Holds(database)
        self.confirmations = Confirmations(database)
        self.conditions = Conditions(database)
        self.notifications = Notifications(database)
        self.facts = FactsTable(database)
        self.mines = Mines(database)
        self.secrets = SecretsTable(database)
        open_calls = OpenCalls()
        self.runs = Runs(database, open_calls)
        self.jobs = JobTable(database)
        self.job_listing = JobListing(database)
        self.drift = DriftPasts(database)
        self.prune_reports = PruneReports(database)
        self.call_runs = CallRuns(database, open_calls)
        self.state_runs = StateRuns(database, open_calls)
        self.run_events = RunEventCounts(database)
        self.events = Events(database)
        self.search = Search(database)
        self.replacements = Replacements(database)
        self.reports = Reports(database)
        self.queues = Queues(database)
        self.orchestrations = Orchestrations(database)
        self.pull_requests = PullRequestTable(database)
        self.rollouts = RolloutTable(database)
        self.quarantine = QuarantineTable(database)
        self.access_tokens = AccessTokens(database)
        self.enrolment_tokens = EnrolmentTokens(database)
        self.audit_log = AuditLog(database)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All that this thread writes inside is kept together or not at all. Must not be held over an await.

        The write lock is taken by the first write inside, so that a transaction without writes takes none.
        """
        return self._database.transaction()

    def reading(self) -> AbstractContextManager[object]:
        """What this thread reads inside is one transaction, which is less work. Must not be held over an await."""
        return self._database.read()

    def savepoint(self) -> AbstractContextManager[None]:
        """A part of a transaction: an exception out of it takes back what was written inside, and nothing before."""
        return self._database.savepoint()

    def prune(self, keep: int, result_bytes: int = 2**63 - 1) -> int:
        """Forget closed runs beyond the newest `keep` of each minion, then what nothing refers to.

        `result_bytes`: of the results of a minion that are kept, see `Runs.prune`.

        May be called from a thread: each minion is a transaction of its own, so that the loop never waits long for the
        write lock. Returns the number of runs forgotten.
        """
        gone = sum(self.runs.prune(keep, minion_id, result_bytes) for minion_id in self.runs.minions())
        self.jobs.prune()
        self.rollouts.prune(_KEPT_ROLLOUTS)
        self.documents.prune()
        self.bases.prune()
        self.revisions.prune(keep)
        return gone
