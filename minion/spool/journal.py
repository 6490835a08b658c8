"""What a run leaves on disk while it is under way, so that a crash at any point loses and repeats nothing.

    cachedir/runs/<run id>/request    the Run, Preview or Call, when it came, and of several controllers from which
                           controller the latter, where there is a result and no request
                           document   the desired document that it is about (a hard link: a newer one replaces the
                                      file in the cache, never this)
                           journal    attempts, intents and results, in order
                           blobs      contents of the tree that a Preview has fetched
                           events     what the run has sent (`minion.spool.run_events`)
                           result     the RunResult; its being there is what "finished" means

The agent makes and lists the folders, the worker writes journal and result. Nothing here acts on the machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from highstate.types import StateResult
from minion.machine.durable_files import sync_folder, write_durably
from minion.spool.record_file import RecordFile
from wire.codec import encode
from wire.messages import Call, Ending, OwnRun, Preview, Run, RunKind, RunResult

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@:+-]{0,180}\Z")

Request = Run | Preview | Call


class _Arrived(msgspec.Struct, frozen=True):
    time_ns: int
    request: Request
    controller: str = ""


class _Record(msgspec.Struct, frozen=True, array_like=True):
    what: str  # attempt, intent or done
    key: str = ""
    value: Any = None


_ENCODER = msgspec.msgpack.Encoder(enc_hook=str)
_RECORD = msgspec.msgpack.Decoder(_Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a journal says about the attempts before this one."""

    attempts: int = 0
    """How often the run was begun since the last chunk was finished: attempts that got no further."""
    intents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Key -> intended changes of the chunks that were begun."""
    done: Mapping[str, StateResult] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def document(self) -> Path:
        """The desired document of a Run or Preview, or that which came with a Call."""
        return self.path / "document"

    @property
    def events(self) -> Path:
        """The events that it has sent."""
        return self.path / "events"

    @property
    def blobs(self) -> Path:
        """Contents that were fetched for a Preview: they go with it."""
        return self.path / "blobs"

    @property
    def lock(self) -> Path:
        """Held by the worker of a Call as long as it lives."""
        return self.path / "lock"

    def request(self) -> Request:
        """What was asked for; OSError or msgspec.MsgspecError when the folder is damaged."""
        return self._arrived().request

    def arrived(self) -> int:
        """When it was asked for, in nanoseconds since the epoch."""
        return self._arrived().time_ns

    def controller(self) -> str:
        """Which controller asked, where there are several; empty: the minion itself, or the only one."""
        try:
            return self._arrived().controller
        except (OSError, msgspec.MsgspecError):
            return self.answer_to()

    def answer_to(self) -> str:
        """Which controller asked, of a folder that has a result and no request."""
        try:
            return (self.path / "controller").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def finished(self) -> bool:
        """Whether there is a result."""
        return (self.path / "result").exists()

    def result_bytes(self) -> int:
        """Size of the result on disk."""
        try:
            return (self.path / "result").stat().st_size
        except OSError:
            return 0

    def result(self) -> RunResult:
        """The result."""
        return read_result(self.path / "result")

    def belongs_to(self, controller: str) -> None:
        """Keep who asked, in a folder that gets a result and no request. Raises OSError."""
        if controller:
            write_durably(self.path / "controller", controller.encode())

    def finish(self, result: RunResult) -> None:
        """Put the result there, once and for all."""
        write_durably(self.path / "result", encode(result))

    def remove(self) -> None:
        """Forget this run."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _arrived(self) -> _Arrived:
        return msgspec.msgpack.decode((self.path / "request").read_bytes(), type=_Arrived)


class RunFolders:
    """All runs that are not acknowledged."""

    def __init__(self, cachedir: Path) -> None:
        self.path = cachedir / "runs"
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def of(self, run_id: str) -> RunFolder:
        """The folder of a run, whether it is there or not."""
        return RunFolder(self.path / folder_name(run_id))

    def create(self, request: Request, document: Path | bytes | None = None, controller: str = "") -> RunFolder:
        """A folder for a new run.

        Args:
            request: what is asked for.
            document: a file to link, or the packed document itself.
            controller: which of several asks.
        """
        folder = self.of(request.run_id)
        folder.path.mkdir(mode=0o700, exist_ok=True)
        if isinstance(document, bytes):
            write_durably(folder.document, document)
        elif document is not None and not folder.document.exists():
            os.link(document, folder.document)
        # The request comes last: a folder without one is what a crash left of a run that was never accepted.
        write_durably(folder.path / "request", _ENCODER.encode(_Arrived(time.time_ns(), request, controller)))
        sync_folder(self.path)
        return folder

    def __iter__(self) -> Iterator[RunFolder]:
        for path in sorted(self.path.iterdir()):
            if path.is_dir():
                yield RunFolder(path)


_FOUND_AGAIN = "file_|-"
"""How keys begin of chunks whose act can be told from the machine by looking at the file."""


class RunJournal:
    """Append-only record of one run (`highstate.run.Journal`). Opening it drops the torn tail of a crash."""

    def __init__(self, folder: RunFolder) -> None:
        self._file = RecordFile(folder.path / "journal")
        self.recorded = _read(self._file.found)

    def intents(self) -> Mapping[str, Mapping[str, Any]]:
        """What earlier attempts began."""
        return self.recorded.intents

    def results(self) -> Mapping[str, StateResult]:
        """What earlier attempts finished."""
        return self.recorded.done

    def attempt(self) -> None:
        """The run is begun, once more."""
        self._append(_Record("attempt"), durable=True)

    def intent(self, key: str, changes: Mapping[str, Any]) -> None:
        """Chunk `key` is about to be acted on. On disk when this returns: a restart must know that it may have been."""
        self._append(_Record("intent", key, dict(changes)), durable=True)

    def done(self, key: str, result: StateResult) -> None:
        """Chunk `key` has this result.

        Without changes it is not flushed: lost with the power, it is found again. So is what a state of files did, from
        its intent and the file; the next intent takes its result to the disk.
        """
        plain = msgspec.to_builtins(result, enc_hook=str)
        durable = bool(result.changes) and not key.startswith(_FOUND_AGAIN)
        self._append(_Record("done", key, plain), durable=durable)

    def _append(self, record: _Record, *, durable: bool) -> None:
        self._file.append(_ENCODER.encode(record), durable=durable)


def _read(bodies: Iterable[bytes]) -> Recorded:
    attempts = 0
    intents: dict[str, Mapping[str, Any]] = {}
    done: dict[str, StateResult] = {}
    for record in map(_RECORD.decode, bodies):
        match record.what:
            case "attempt":
                attempts += 1
            case "intent":
                intents[record.key] = record.value
            case "done":
                attempts = 0
                done[record.key] = msgspec.convert(record.value, StateResult)
    return Recorded(attempts=attempts, intents=intents, done=done)


def own_of(request: Request) -> OwnRun | None:
    """Of a run that the minion asked itself for."""
    return request.own if isinstance(request, Run) else None


def error_result(request: Request, why: str, *, started: float = 0.0, ending: Ending = "") -> RunResult:
    """The result of a run that did not come to its end."""
    return RunResult(
        run_id=request.run_id,
        kind=kind_of(request),
        generation=request.generation if isinstance(request, Run) else 0,
        digest="" if isinstance(request, Call) else request.digest,
        outcome="error",
        error=why,
        ending=ending,
        started=started or time.time(),
        schedule=request.schedule if isinstance(request, Call) else "",
        metadata=request.metadata if isinstance(request, Call) else {},
        **own_call(request),
        own=own_of(request),
    )


class OwnCall(TypedDict, total=False):
    """What a `RunResult` says of a call that nobody asked the minion for."""

    fun: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def own_call(request: Request) -> OwnCall:
    """Of a job of the minion's schedule: what is called, which the controller has not asked for."""
    if not isinstance(request, Call) or not request.schedule:
        return {}
    return {"fun": request.fun, "args": request.args, "kwargs": request.kwargs}


def kind_of(request: Request) -> RunKind:
    """The kind that the result of a request has."""
    match request:
        case Call():
            return "call"
        case Preview():
            return "preview"
        case Run():
            return request.kind


def folder_name(run_id: str) -> str:
    """A file name for a run id: the id itself when it is a plain one, its digest otherwise."""
    if _PLAIN_NAME.match(run_id):
        return run_id
    return "sha256-" + hashlib.sha256(run_id.encode()).hexdigest()


def read_result(path: Path) -> RunResult:
    """A result from disk."""
    return msgspec.msgpack.decode(path.read_bytes(), type=RunResult)
