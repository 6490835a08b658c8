"""A worker: does one job on a mirror after the other, in a process of its own that may be killed at any time.

Forked by `gitfs.fetching.fork_server`, fed by `gitfs.fetching.fetcher` over a socket. It keeps its mirrors between
jobs, with what they know of their remotes. Jobs come pickled, as the process that sends them is trusted; results go
back as JSON, as this one talks to remotes. It has one thread, but for that of a proxy during a fetch (`https_proxy`).
"""

from __future__ import annotations

import json
import pickle
import socket
import traceback
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from gitfs.config.credentials import SecretFrom
from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed, UnknownRef
from gitfs.fetching.frames import FrameKind, PeerGone, receive_frame, send_frame
from gitfs.mirror.completed_mirror import open_mirror
from gitfs.mirror.mirror import Fetched, Mirror

Operation: TypeAlias = Literal["fetch", "complete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSpec:
    """All that a mirror is made of."""

    settings: RemoteSettings
    directory: Path
    bases: tuple[str | None, ...]
    """See `Mirror`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker is to do."""

    operation: Operation
    mirror: bytes
    """A `MirrorSpec`, pickled: equal bytes are the same mirror."""
    commit: str = ""
    """For `complete`."""


def serve(sock: socket.socket) -> None:
    """Do the jobs that come, until there are no more to come."""
    mirrors: dict[bytes, Mirror] = {}
    while True:
        try:
            _, body = receive_frame(sock)
            job: Job = pickle.loads(body)  # noqa: S301 - from the process that started us
            if job.mirror not in mirrors:
                mirrors[job.mirror] = _open(pickle.loads(job.mirror), sock)  # noqa: S301 - as above
            send_frame(sock, FrameKind.RESULT, json.dumps(_do(job, mirrors[job.mirror])).encode())
        except PeerGone:
            return


def _do(job: Job, mirror: Mirror) -> dict[str, object]:
    """Do a job; what came of it, as `gitfs.fetching.results` reads it."""
    try:
        match job.operation:
            case "fetch":
                return {"type": "fetched", **_fetched_fields(mirror.fetch())}
            case "complete":
                mirror.complete(job.commit)
                return {"type": "completed"}
    except FetchFailed as error:
        return {"type": "failed", "reason": error.reason, "retryable": error.retryable}
    except UnknownRef as error:
        return {"type": "incomplete", "why": error.why}
    except PeerGone:
        raise
    except Exception:
        return {"type": "broken", "trace": traceback.format_exc()}


def _fetched_fields(fetched: Fetched) -> dict[str, object]:
    return {
        "changed": fetched.changed,
        "live": fetched.live,
        "refused": [{"branch": each.branch, "reason": each.reason} for each in fetched.refused],
        "rebuilt": fetched.rebuilt,
    }


def _open(spec: MirrorSpec, sock: socket.socket) -> Mirror:
    def askable(secret: str | SecretFrom) -> str | SecretFrom:
        return secret if isinstance(secret, str) else replace(secret, ask=partial(_ask, sock))

    return open_mirror(spec.settings.with_secrets(askable), spec.directory, bases=spec.bases)


def _ask(sock: socket.socket, path: str, key: str) -> str:
    """A secret of the vault, to which the parent alone is logged in; LookupError says why it cannot be had."""
    send_frame(sock, FrameKind.QUESTION, json.dumps([path, key]).encode())
    _, body = receive_frame(sock)
    answer = json.loads(body)
    if "error" in answer:
        raise LookupError(answer["error"])
    return str(answer["secret"])
