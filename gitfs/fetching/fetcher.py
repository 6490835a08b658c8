"""The one owner of fetches: each runs in a worker process, one at a time for each mirror.

Called by `gitfs.source`. Says nothing about when to fetch. What a worker sends is checked: it talks to remotes.
"""

from __future__ import annotations

import json
import pickle
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import msgspec

from gitfs.config.credentials import SecretFrom, reveal
from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed, UnknownRef
from gitfs.fetching import worker_pool
from gitfs.fetching.fork_server import ForkServer
from gitfs.fetching.worker import Job, MirrorSpec, Operation
from gitfs.mirror.mirror import Fetched, Mirror
from gitfs.mirror.ref_updates import RefRefused
from gitfs.tree.objects import report_damage


class _Refused(msgspec.Struct, frozen=True):
    branch: str
    reason: str


class _Fetched(msgspec.Struct, frozen=True, tag="fetched"):
    changed: bool
    live: dict[str, str]
    refused: tuple[_Refused, ...]
    rebuilt: bool


class _Completed(msgspec.Struct, frozen=True, tag="completed"):
    pass


class _Failed(msgspec.Struct, frozen=True, tag="failed"):
    reason: str
    retryable: bool


class _Incomplete(msgspec.Struct, frozen=True, tag="incomplete"):
    why: str


class _Broken(msgspec.Struct, frozen=True, tag="broken"):
    trace: str


_Result: TypeAlias = _Fetched | _Completed | _Failed | _Incomplete | _Broken


_BAD_MEMORY = (signal.SIGBUS, signal.SIGSEGV)
"""What a process gets that reads a file which somebody has made shorter, or follows an index that lies."""


class WorkerFault(Exception):
    """A worker met an error that nobody expected, or sent what it should not; holds its traceback."""


class Fetcher:
    """Fetches mirrors. `close` it.

    Args:
        mirrors: key -> mirror.
        specs: key -> what the mirror is made of.
        fork_server: see `WorkerPool`.
    """

    def __init__(
        self, mirrors: Mapping[str, Mirror], specs: Mapping[str, MirrorSpec], fork_server: ForkServer | None = None
    ) -> None:
        self._mirrors = mirrors
        self._specs = specs
        self._pool = worker_pool.WorkerPool(fork_server)
        self._lock = threading.Lock()
        self._last: dict[str, Future[Fetched]] = {}
        """Key -> its newest fetch."""
        self._failed: set[str] = set()
        """Keys of the mirrors whose last fetch failed."""
        self._pickled: dict[str, bytes] = {}

    def fetch(self, key: str) -> Future[Fetched]:
        """Fetch a mirror now, or when the fetch of it that is under way has ended; its result, or FetchFailed."""
        result: Future[Fetched] = Future()
        result.set_running_or_notify_cancel()  # whoever stops listening does not stop it
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
            match self._result(key, self._submit(key, "complete", commit)):
                case _Incomplete(why):
                    raise UnknownRef(commit, why=why)
                case _Completed():
                    pass
                case unexpected:
                    raise WorkerFault(f"a worker completed a commit with {type(unexpected).__name__}")
        except FetchFailed as error:
            raise UnknownRef(commit, why=f"{error.remote}: commit {commit[:8]}: {error.reason}") from None

    def close(self) -> None:
        """Kill all workers; fetches that are under way fail."""
        self._pool.close()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return self._pool.pids

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
            result.set_exception(error)
        else:
            self._failed.discard(key)
            result.set_result(fetched)

    def _fetched(self, key: str, sent: Future[bytes]) -> Fetched:
        found = self._result(key, sent)
        if not isinstance(found, _Fetched):
            raise WorkerFault(f"a worker ended a fetch with {type(found).__name__}")
        return Fetched(
            remote=self._mirrors[key].settings.name,
            changed=found.changed,
            live=found.live,
            refused=tuple(RefRefused(branch=each.branch, reason=each.reason) for each in found.refused),
            rebuilt=found.rebuilt,
        )

    def _submit(self, key: str, operation: Operation, commit: str = "") -> Future[bytes]:
        if key not in self._pickled:
            self._pickled[key] = pickle.dumps(_for_a_worker(self._specs[key]))
        job = Job(operation=operation, mirror=self._pickled[key], commit=commit)
        answer = partial(_answer, self._specs[key].settings)
        return self._pool.submit(pickle.dumps(job), key, answer, doubtful=key in self._failed)

    def _result(self, key: str, sent: Future[bytes]) -> _Result:
        """What a worker sent; FetchFailed when it failed or was lost."""
        mirror = self._mirrors[key]
        try:
            # By way of json, which takes names that are no Unicode.
            found: _Result = msgspec.convert(json.loads(sent.result()), type=_Result)
        except worker_pool.WorkerLost as error:
            if isinstance(error, worker_pool.WorkerDied) and -error.code in _BAD_MEMORY:
                with suppress(OSError):
                    report_damage(mirror.path)
            raise FetchFailed(mirror.settings.name, _why_lost(error), retryable=True) from None
        except (ValueError, RecursionError) as error:
            raise WorkerFault(f"a worker sent what is no result: {error}") from error
        match found:
            case _Failed(reason, retryable):
                raise FetchFailed(mirror.settings.name, reason, retryable=retryable)
            case _Broken(trace):
                raise WorkerFault(trace)
        return found


def _for_a_worker(spec: MirrorSpec) -> MirrorSpec:
    """The same with settings that can be pickled and that mean the same in a worker.

    Variables that were withheld from the environment go along; what is in a vault is asked for (`_answer`).
    """

    def portable(secret: str | SecretFrom) -> str | SecretFrom:
        if isinstance(secret, SecretFrom) and secret.kind == "env":
            with suppress(LookupError):
                return reveal(secret)
        return secret if isinstance(secret, str) else replace(secret, ask=None)

    return replace(spec, settings=spec.settings.with_secrets(portable))


def _answer(settings: RemoteSettings, question: bytes) -> bytes:
    """A secret of these settings, of those that are in a vault."""
    path, key = json.loads(question)
    try:
        for secret in settings.secrets.values():
            if isinstance(secret, SecretFrom) and secret.kind == "vault" and secret.where == f"{path}?{key}":
                return json.dumps({"secret": reveal(secret)}).encode()
    except LookupError as error:
        return json.dumps({"error": str(error.args[0])}).encode()
    return json.dumps({"error": f"{path} is none of this remote's secrets"}).encode()


def _why_lost(error: worker_pool.WorkerLost) -> str:
    match error:
        case worker_pool.DeadlinePassed():
            return f"it took more than {worker_pool.DEADLINE:g} s and was ended; it will be tried again"
        case worker_pool.MadeRoom():
            return f"it did not answer, like {worker_pool.MOST_WORKERS} others, and was ended; it will be tried again"
        case worker_pool.PoolClosed():
            return "it was ended, as fetching has stopped"
        case worker_pool.WorkerDied(code=code) if -code in _BAD_MEMORY:
            return (
                f"its process was ended by {signal.Signals(-code).name}: a pack or an index was cut off or overwritten "
                "while it was read; run `git fsck` in the remote; it will be tried again"
            )
        case worker_pool.WorkerDied(code=code) if code < 0:
            hint = "; the kernel's log says whether memory ran out" if code == -signal.SIGKILL else ""
            return f"its process was ended by {signal.Signals(-code).name}{hint}; it will be tried again"
        case worker_pool.WorkerDied(code=code):
            return f"its process ended with code {code}; it will be tried again"
    return f"its process could not be started: {error}"
