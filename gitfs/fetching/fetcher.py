"""The one owner of fetches and garbage collections: each runs in a worker process, one at a time for each mirror.

Called by `gitfs.source`. Says nothing about when to fetch. What a worker sends is checked: it talks to remotes.
"""

from __future__ import annotations

import base64
import json
import logging
import pickle
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from gitfs.config.settings import RemoteSettings
from gitfs.config.urls import redact
from gitfs.errors import FetchFailed, UnknownRef
from gitfs.fetching import worker_pool
from gitfs.fetching.completions import Completions
from gitfs.fetching.fork_server import ForkServer
from gitfs.fetching.lost_workers import BAD_MEMORY, why_gc_was_lost, why_lost
from gitfs.fetching.worker import AskJob, EditJob, GcJob, Job, MirrorSpec, Operation, PushJob
from gitfs.fetching.worker_secrets import portable_settings, secret_answer
from gitfs.limits import GitLimits
from gitfs.mirror.fetched import Fetched, no_live_branch
from gitfs.mirror.file_commits import EditedCommit, FileEdits
from gitfs.mirror.maintenance import InUse
from gitfs.mirror.merge import MergeResult
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.ref_updates import RefRefused
from gitfs.tree.objects import report_damage
from options.limits import CountRefusal, uncounted


class _Refused(msgspec.Struct, frozen=True):
    branch: str
    reason: str


class _Fetched(msgspec.Struct, frozen=True, tag="fetched"):
    changed: bool
    live: dict[str, str]
    refused: tuple[_Refused, ...]
    rebuilt: bool
    waiting: dict[str, str]


class _Completed(msgspec.Struct, frozen=True, tag="completed"):
    pass


class _Failed(msgspec.Struct, frozen=True, tag="failed"):
    reason: str
    retryable: bool


class _Incomplete(msgspec.Struct, frozen=True, tag="incomplete"):
    why: str


class _Merged(msgspec.Struct, frozen=True, tag="merged"):
    commit: str
    ancestor: str
    conflicts: tuple[str, ...]


class _Collected(msgspec.Struct, frozen=True, tag="collected"):
    remotes: tuple[str, ...]


class _Answered(msgspec.Struct, frozen=True, tag="answered"):
    refs: int


class _Edited(msgspec.Struct, frozen=True, tag="edited"):
    commit: str
    patch: str
    """As base64."""


class _Broken(msgspec.Struct, frozen=True, tag="broken"):
    trace: str


_Result: TypeAlias = (
    _Fetched | _Completed | _Merged | _Collected | _Answered | _Edited | _Failed | _Incomplete | _Broken
)


_LOG = logging.getLogger(__name__)
_LIMITS = frozenset(each.name.replace("_", "-") for each in fields(GitLimits))


class WorkerFault(Exception):
    """A worker met an error that nobody expected, or sent what it should not; holds its traceback.

    It costs the remote one try: it becomes a FetchFailed, and the log has the traceback.
    """


def unheard(name: str) -> None:
    """For a listener of news that nobody needs."""


class Fetcher:
    """Fetches mirrors. `close` it.

    Args:
        mirrors: key -> mirror.
        specs: key -> what the mirror is made of.
        fork_server: see `WorkerPool`.
        limits: see there.
        on_refusal: see `options.limits.CountRefusal`; called in threads of the fetcher.
        brought: hears, in such a thread, the key of a mirror of which a commit got all that it needs elsewhere.
    """

    def __init__(
        self,
        mirrors: Mapping[str, Mirror],
        specs: Mapping[str, MirrorSpec],
        fork_server: ForkServer | None = None,
        *,
        limits: GitLimits | None = None,
        on_refusal: CountRefusal = uncounted,
        brought: Callable[[str], None] = unheard,
    ) -> None:
        self._limits = limits or GitLimits()
        self._on_refusal = on_refusal
        self._completions = Completions(self._begin_completing, self._limits.completions, brought)
        self._mirrors = mirrors
        self._specs = specs
        self._pool = worker_pool.WorkerPool(fork_server, self._count_refusal)
        self._lock = threading.Lock()
        self._last: dict[str, Future[Fetched]] = {}
        """Key -> its newest fetch."""
        self._failed: set[str] = set()
        """Keys of the mirrors whose last fetch failed."""
        self._pickled: dict[str, bytes] = {}

    def fetch(self, key: str) -> Future[Fetched]:
        """Fetch a mirror now, or when the fetch of it that is under way has ended; its result, or FetchFailed."""
        result: Future[Fetched] = Future()
        result.set_running_or_notify_cancel()  # a caller that stops listening does not stop it
        with self._lock:
            before = self._last.get(key)
            self._last[key] = result
        if before is None:
            self._begin(key, result)
        else:
            before.add_done_callback(lambda _: self._begin(key, result))
        return result

    def complete(self, key: str, commit: str) -> None:
        """Have what a commit needs beside its own objects; UnknownRef, which says why, when that is not possible."""
        try:
            match self._result(key, self._submit_completion(key, commit)):
                case _Incomplete(why):
                    raise UnknownRef(commit, why=f"{self._mirrors[key].settings.name}: commit {commit[:8]}: {why}")
                case _Completed():
                    pass
                case unexpected:
                    raise WorkerFault(f"a worker completed a commit with {type(unexpected).__name__}")
        except (FetchFailed, WorkerFault) as error:
            failed = error if isinstance(error, FetchFailed) else _unexpected(self._mirrors[key].settings.name, error)
            raise UnknownRef(commit, why=f"{failed.remote}: commit {commit[:8]}: {failed.reason}") from None

    def merge(self, key: str, base: str, head: str) -> MergeResult:
        """What merging a commit into another would make, in a worker that fetches nothing else; FetchFailed."""
        job = Job(operation="merge", mirror=self._pickled_spec(key), base=base, commit=head)
        answer = partial(secret_answer, self._specs[key].settings.without_push())
        seconds = self._limits.merge_seconds
        sent = self._pool.submit(pickle.dumps(job), key, answer, doubtful=True, apart=True, seconds=seconds)
        try:
            match self._result(key, sent):
                case _Merged(commit, ancestor, conflicts):
                    return MergeResult(commit=commit, ancestor=ancestor, conflicts=conflicts)
                case unexpected:
                    raise WorkerFault(f"a worker merged a commit with {type(unexpected).__name__}")
        except WorkerFault as error:
            raise _unexpected(self._mirrors[key].settings.name, error) from None

    def edit(self, key: str, edits: FileEdits) -> EditedCommit:
        """Make a commit in a mirror, which no ref names; FetchFailed."""
        settings = self._specs[key].settings.without_push()
        job = EditJob(mirror=self._pickled_spec(key), edits=edits)
        found = self._apart(key, job, settings, self._limits.merge_seconds)
        if not isinstance(found, _Edited):
            raise self._strange(key, "edited files", found)
        return EditedCommit(commit=found.commit, patch=base64.b64decode(found.patch))

    def push(self, key: str, remote: RemoteSettings, commit: str, branch: str) -> None:
        """Push a commit of a mirror to its remote as a new branch, with the remote's credentials for that; FetchFailed.

        The process that pushes has no others, and the processes that fetch do not have these.
        """
        settings = remote.for_push()
        mirror = pickle.dumps(replace(self._specs[key], settings=portable_settings(settings)))
        # Its own limit ends it: the process is given a little longer.
        job, seconds = PushJob(mirror=mirror, commit=commit, branch=branch), 2 * self._limits.push_seconds
        found = self._apart(key, job, settings, seconds)
        if not isinstance(found, _Completed):
            raise self._strange(key, "pushed a branch", found)

    def _apart(self, key: str, job: EditJob | PushJob, settings: RemoteSettings, seconds: float) -> _Result:
        """What came of a job in a worker that fetches nothing else; FetchFailed. It may ask for secrets of these."""
        answer = partial(secret_answer, settings)
        try:
            sent = self._pool.submit(pickle.dumps(job), key, answer, doubtful=True, apart=True, seconds=seconds)
            return self._result(key, sent)
        except WorkerFault as error:
            raise _unexpected(self._mirrors[key].settings.name, error) from None

    def _strange(self, key: str, what: str, found: _Result) -> FetchFailed:
        fault = WorkerFault(f"a worker that {what} answered with {type(found).__name__}")
        return _unexpected(self._mirrors[key].settings.name, fault)

    def ask(self, settings: RemoteSettings, patience: float) -> Callable[[], int]:
        """Ask a remote for its refs; what is returned waits for how many there are, and raises FetchFailed.

        Args:
            settings: any remote, one without a mirror too.
            patience: seconds from now until it counts as one that does not answer.
        """
        deadline = time.monotonic() + patience
        job = pickle.dumps(AskJob(settings=portable_settings(settings.without_push())))
        sent = self._pool.submit(job, settings.url, partial(secret_answer, settings.without_push()))

        def answer() -> int:
            try:
                match _received(sent, max(0.0, deadline - time.monotonic())):
                    case _Answered(refs):
                        return refs
                    case _Failed(reason, retryable):
                        raise FetchFailed(settings.name, reason, retryable=retryable)
                    case unexpected:
                        raise WorkerFault(f"a worker answered a question with {unexpected}")
            except TimeoutError:
                raise FetchFailed(settings.name, f"it has not answered in {patience:g} s", retryable=True) from None
            except worker_pool.WorkerLost as error:
                raise FetchFailed(settings.name, why_lost(error), retryable=True) from None
            except WorkerFault as error:
                raise _unexpected(settings.name, error) from None

        return answer

    def ended(self, key: str) -> int:
        """How many commits of a mirror have got what they need elsewhere, or could not."""
        return self._completions.ended(key)

    def settle(self, key: str, seconds: float, ended: int) -> bool:
        """Wait until nothing is being brought for commits of a mirror; see `Completions.settle`."""
        return self._completions.settle(key, seconds, ended)

    def gc(self, folder: Path, in_use: InUse) -> list[str]:
        """Have the mirrors in a folder drop what nobody needs; names of the remotes whose mirrors did.

        FetchFailed when the worker was lost: the mirror that it was reading is looked at by its next fetch.
        """
        job = GcJob(folder=folder, mirrors={key: self._pickled_spec(key) for key in self._specs})
        asked = _CommitsInUse(folder, in_use)
        try:
            found = _received(self._pool.submit(pickle.dumps(job), str(folder), asked.answer))
        except worker_pool.PoolClosed:
            return []
        except worker_pool.WorkerLost as error:
            is_damaged = isinstance(error, worker_pool.WorkerDied) and -error.code in BAD_MEMORY
            if is_damaged and asked.last is not None:
                with suppress(OSError):
                    report_damage(asked.last)
            raise FetchFailed(self._name_of(asked.last), why_gc_was_lost(error), retryable=True) from None
        except WorkerFault as error:
            raise _unexpected(self._name_of(asked.last), error) from None
        if not isinstance(found, _Collected):
            fault = WorkerFault(f"a worker ended a garbage collection with {found}")
            raise _unexpected(self._name_of(asked.last), fault)
        return list(found.remotes)

    def close(self) -> None:
        """Kill all workers; fetches that are under way fail."""
        self._pool.close()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return self._pool.pids

    def _count_refusal(self, limit: str) -> None:
        """A worker says that something exceeded a limit; counted where there is such a limit."""
        if limit in _LIMITS:
            self._on_refusal(limit)

    def _begin(self, key: str, result: Future[Fetched]) -> None:
        self._submit(key, "fetch").add_done_callback(partial(self._end, key, result))

    def _end(self, key: str, result: Future[Fetched], sent: Future[bytes]) -> None:
        with self._lock:
            if self._last.get(key) is result:
                del self._last[key]
        try:
            fetched = self._fetched(key, sent)
        except Exception as error:
            self._failed.add(key)
            is_fault = isinstance(error, WorkerFault)
            result.set_exception(_unexpected(self._mirrors[key].settings.name, error) if is_fault else error)
        else:
            self._failed.discard(key)
            result.set_result(fetched)

    def _fetched(self, key: str, sent: Future[bytes]) -> Fetched:
        found = self._result(key, sent)
        if not isinstance(found, _Fetched):
            raise WorkerFault(f"a worker ended a fetch with {type(found).__name__}")
        name, first = self._mirrors[key].settings.name, self._mirrors[key].first_refs
        order = sorted(found.waiting, key=lambda ref: (ref not in first, ref not in found.live, ref))
        self._completions.want(key, {ref: found.waiting[ref] for ref in order}, first)
        reasons = {ref: self._completions.reason(key, commit) for ref, commit in found.waiting.items()}
        failed = [(ref.partition("/")[2], reason) for ref, reason in reasons.items() if reason]
        refusals = sorted([*((each.branch, each.reason) for each in found.refused), *failed])
        refused = tuple(RefRefused(branch=branch, reason=reason) for branch, reason in refusals)
        if not found.live and len(failed) == len(found.waiting):
            raise no_live_branch(name, refused)
        return Fetched(
            remote=name,
            changed=found.changed,
            live=found.live,
            refused=refused,
            rebuilt=found.rebuilt,
            waiting={ref: commit for ref, commit in found.waiting.items() if not reasons[ref]},
        )

    def _submit(self, key: str, operation: Operation) -> Future[bytes]:
        job = Job(operation=operation, mirror=self._pickled_spec(key))
        answer = partial(secret_answer, self._specs[key].settings.without_push())
        return self._pool.submit(pickle.dumps(job), key, answer, doubtful=key in self._failed)

    def _submit_completion(self, key: str, commit: str) -> Future[bytes]:
        """Bring what a commit needs elsewhere, in a worker that fetches nothing else."""
        job = Job(operation="complete", mirror=self._pickled_spec(key), commit=commit)
        answer = partial(secret_answer, self._specs[key].settings.without_push())
        seconds = self._limits.completion_seconds
        return self._pool.submit(pickle.dumps(job), key, answer, doubtful=True, apart=True, seconds=seconds)

    def _begin_completing(self, key: str, commit: str) -> Future[str]:
        ended: Future[str] = Future()

        def end(sent: Future[bytes]) -> None:
            try:
                found = self._result(key, sent)
                ended.set_result(found.why if isinstance(found, _Incomplete) else "")
            except FetchFailed as error:
                ended.set_result(error.reason)
            except WorkerFault as error:
                ended.set_result(_unexpected(self._mirrors[key].settings.name, error).reason)
            except Exception as error:
                ended.set_exception(error)

        self._submit_completion(key, commit).add_done_callback(end)
        return ended

    def _pickled_spec(self, key: str) -> bytes:
        if key not in self._pickled:
            spec = self._specs[key]
            self._pickled[key] = pickle.dumps(replace(spec, settings=portable_settings(spec.settings.without_push())))
        return self._pickled[key]

    def _name_of(self, mirror: str | None) -> str:
        """The remote of a mirror; the folder of one that is a submodule's."""
        names = [each.settings.name for each in self._mirrors.values() if each.path == mirror]
        return names[0] if names else Path(mirror).parent.name if mirror else "mirrors"

    def _result(self, key: str, sent: Future[bytes]) -> _Result:
        """What a worker sent; FetchFailed when it failed or was lost."""
        mirror = self._mirrors[key]
        try:
            found = _received(sent)
        except worker_pool.WorkerLost as error:
            if isinstance(error, worker_pool.WorkerDied) and -error.code in BAD_MEMORY:
                with suppress(OSError):
                    report_damage(mirror.path)
            raise FetchFailed(mirror.settings.name, why_lost(error), retryable=True) from None
        if isinstance(found, _Failed):
            raise FetchFailed(mirror.settings.name, found.reason, retryable=found.retryable)
        return found


class _CommitsInUse:
    """Answers a worker that collects garbage, and remembers which mirror it reads.

    Args:
        folder: of the mirrors.
        in_use: see `InUse`.
    """

    def __init__(self, folder: Path, in_use: InUse) -> None:
        self._folder = folder
        self._in_use = in_use
        self.last: str | None = None
        """The mirror that it asked about last."""

    def answer(self, question: bytes) -> bytes:
        """The commits of a mirror that are in use."""
        mirror = json.loads(question).get("in_use")
        if not isinstance(mirror, str) or ".." in mirror or not Path(mirror).is_relative_to(self._folder):
            return json.dumps({"commits": []}).encode()
        self.last = mirror
        return json.dumps({"commits": sorted(self._in_use(mirror))}).encode()


def _received(sent: Future[bytes], patience: float | None = None) -> _Result:
    """What a worker sent, waited for; WorkerLost when it was lost, WorkerFault when it met what nobody expected.

    TimeoutError when it has sent nothing after `patience` seconds.
    """
    try:
        # By way of json, which takes names that are no Unicode.
        found: _Result = msgspec.convert(json.loads(sent.result(patience)), type=_Result)
    except (ValueError, RecursionError) as error:
        raise WorkerFault(f"a worker sent what is no result: {error}") from error
    if isinstance(found, _Broken):
        raise WorkerFault(found.trace)
    return found


def _unexpected(remote: str, fault: Exception) -> FetchFailed:
    """What nobody expected, as a failure of this remote alone: the others are fetched, and this one is tried again."""
    trace = redact(str(fault)).strip()
    _LOG.error("a worker of remote %s met an error that nobody expected; it is tried again\n%s", remote, trace)
    reason = f"its worker met an error that nobody expected ({trace.rpartition(chr(10))[2][:500]}); the log says more"
    return FetchFailed(remote, reason, retryable=True)
