"""A worker: does one job on a mirror after the other, in a process of its own that may be killed at any time.

Forked by `gitfs.fetching.fork_server`, fed by `gitfs.fetching.fetcher` over a socket. It keeps its mirrors between
jobs, with what they know of their remotes. Jobs come pickled, as the process that sends them is trusted; results go
back as JSON, as this one talks to remotes. It has one thread, but for that of a proxy during a fetch (`https_proxy`).
"""

from __future__ import annotations

import base64
import json
import pickle
import resource
import socket
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gitfs.config.credentials import SecretFrom
from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed
from gitfs.fetching.frames import FrameKind, PeerGone, receive_frame, send_frame
from gitfs.limits import GitLimits
from gitfs.mirror.completed_mirror import open_mirror, submodules_of
from gitfs.mirror.fetched import Fetched
from gitfs.mirror.file_commits import FileEdits, edited
from gitfs.mirror.maintenance import MirrorMaintenance
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.pushes import push_new_branch
from gitfs.printable import printable
from gitfs.transport.ref_listing import list_refs

LONGEST_REASON = 1000
"""Characters of a reason that are reported."""

Operation: TypeAlias = Literal["fetch", "complete", "merge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSpec:
    """All that a mirror is made of."""

    settings: RemoteSettings
    directory: Path
    bases: tuple[str | None, ...]
    """See `Mirror`."""
    limits: GitLimits = field(default_factory=GitLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker is to do with one mirror."""

    operation: Operation
    mirror: bytes
    """A `MirrorSpec`, pickled: equal bytes are the same mirror."""
    commit: str = ""
    """For `complete`, and the head for `merge`."""
    base: str = ""
    """For `merge`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GcJob:
    """Garbage collection of the mirrors in one folder."""

    folder: Path
    mirrors: Mapping[str, bytes]
    """Key -> see `Job.mirror`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskJob:
    """Ask a remote whether it answers."""

    settings: RemoteSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class EditJob:
    """Make a commit with other contents of files."""

    mirror: bytes
    """See `Job.mirror`."""
    edits: FileEdits


@dataclass(frozen=True, slots=True, kw_only=True)
class PushJob:
    """Push a commit as a new branch."""

    mirror: bytes
    """See `Job.mirror`."""
    commit: str
    branch: str


AnyJob: TypeAlias = Job | GcJob | AskJob | EditJob | PushJob


def serve(sock: socket.socket) -> None:
    """Do the jobs that come, until there are no more to come."""
    worker = _Worker(sock)
    while True:
        try:
            _, body = receive_frame(sock)
            job: AnyJob = pickle.loads(body)  # noqa: S301 - from the process that started us
            send_frame(sock, FrameKind.RESULT, json.dumps(worker.do(job)).encode())
        except PeerGone:
            return


class _Worker:
    """Keeps the mirrors that it has worked at.

    Args:
        sock: where what is secret or known to the parent alone is asked for.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._mirrors: dict[bytes, Mirror] = {}

    def do(self, job: AnyJob) -> dict[str, object]:
        """Do a job; what came of it, as `gitfs.fetching.fetcher` reads it."""
        try:
            match job:
                case Job(operation="fetch"):
                    return {"type": "fetched", **_fetched_fields(self._mirror(job.mirror).fetch())}
                case Job(operation="complete"):
                    why = self._mirror(job.mirror).complete(job.commit)
                    return {"type": "incomplete", "why": _shown(why)} if why else {"type": "completed"}
                case Job(operation="merge"):
                    return {"type": "merged", **asdict(self._mirror(job.mirror).merge(job.base, job.commit))}
                case EditJob():
                    mirror = self._mirror(job.mirror)
                    made = edited(mirror.path, mirror.settings.name, job.edits)
                    return {"type": "edited", "commit": made.commit, "patch": base64.b64encode(made.patch).decode()}
                case PushJob():
                    mirror, tell = self._mirror(job.mirror), partial(_tell_refusal, self._sock)
                    push_new_branch(mirror.path, mirror.settings, job.commit, job.branch, mirror.limits, tell)
                    return {"type": "completed"}
                case GcJob():
                    return {"type": "collected", "remotes": self._collect_garbage(job)}
                case AskJob():
                    return {"type": "answered", "refs": len(list_refs(_askable(job.settings, self._sock)))}
                case _:
                    raise ValueError(f"there is no job {job}")
        except FetchFailed as error:
            return {"type": "failed", "reason": _shown(error.reason), "retryable": error.retryable}
        except MemoryError:
            _tell_refusal(self._sock, "worker-bytes")
            return {"type": "failed", "reason": "it takes too much memory (limit worker-bytes)", "retryable": True}
        except PeerGone:
            raise
        except Exception:
            return {"type": "broken", "trace": traceback.format_exc()}

    def _mirror(self, spec: bytes) -> Mirror:
        if spec not in self._mirrors:
            self._mirrors[spec] = _open(pickle.loads(spec), self._sock)  # noqa: S301 - as above
        return self._mirrors[spec]

    def _collect_garbage(self, job: GcJob) -> list[str]:
        mirrors = {key: self._mirror(spec) for key, spec in job.mirrors.items()}
        submodules = {key: submodules_of(mirror.settings, job.folder, mirror.limits) for key, mirror in mirrors.items()}
        return MirrorMaintenance(job.folder, mirrors, submodules, self._commits_in_use).gc()

    def _commits_in_use(self, mirror: str) -> list[str]:
        """Commits of a mirror that the parent's snapshots show."""
        return [str(commit) for commit in _ask(self._sock, {"in_use": mirror})["commits"]]


def _fetched_fields(fetched: Fetched) -> dict[str, object]:
    return {
        "changed": fetched.changed,
        "live": fetched.live,
        "refused": [{"branch": each.branch, "reason": _shown(each.reason)} for each in fetched.refused],
        "rebuilt": fetched.rebuilt,
        "waiting": dict(fetched.waiting),
    }


def _shown(reason: str) -> str:
    """A reason, which may hold names out of a tree and words of a server."""
    return printable(reason, LONGEST_REASON)


def _open(spec: MirrorSpec, sock: socket.socket) -> Mirror:
    settings = _askable(spec.settings, sock)
    # Maps of packs, which are read only, are not counted.
    resource.setrlimit(resource.RLIMIT_DATA, (spec.limits.worker_bytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    return open_mirror(
        settings, spec.directory, bases=spec.bases, limits=spec.limits, on_refusal=partial(_tell_refusal, sock)
    )


def _askable(settings: RemoteSettings, sock: socket.socket) -> RemoteSettings:
    """The settings with secrets that the parent is asked for where it alone can have them."""

    def askable(secret: str | SecretFrom) -> str | SecretFrom:
        return secret if isinstance(secret, str) else replace(secret, ask=partial(_ask_vault, sock))

    return settings.with_secrets(askable)


def _tell_refusal(sock: socket.socket, limit: str) -> None:
    """Have the parent count what exceeded a limit."""
    send_frame(sock, FrameKind.REFUSAL, limit.encode())


def _ask_vault(sock: socket.socket, path: str, key: str) -> str:
    """A secret of the vault, to which the parent alone is logged in; LookupError says why it cannot be had."""
    answer = _ask(sock, {"secret": [path, key]})
    if "error" in answer:
        raise LookupError(answer["error"])
    return str(answer["secret"])


def _ask(sock: socket.socket, question: dict[str, object]) -> dict[str, Any]:
    """The parent's answer to a question."""
    send_frame(sock, FrameKind.QUESTION, json.dumps(question).encode())
    _, body = receive_frame(sock)
    answer: dict[str, Any] = json.loads(body)
    return answer
