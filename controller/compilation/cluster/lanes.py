"""The compile processes of a Dask worker: one for each lane of a controller, sandboxed as on the controller's machine.

Called by `worker_step` with one step at a time for each lane, from threads that stay: the kernel ends a compile process
with the thread that has started it. Templates never run in the Dask
worker itself; what a process sends is bounded here in size, number and time, and passed on undecoded: the controller
checks it as it checks what its own processes say. Knows nothing of Dask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import msgspec

from controller.compilation.cluster.contents import ContentStore
from controller.compilation.cluster.shipped_files import FOUND, ContentQuestion
from controller.compilation.cluster.steps import (
    STEP_BYTES,
    STEP_SECONDS,
    BeginCompile,
    ContinueCompile,
    LaneOutcome,
    LaneSettings,
    StopLanes,
)
from controller.compilation.compile_rpc import PortCall
from controller.compilation.workers.channel import LimitExceeded, WorkerChannel, WorkerLate
from controller.compilation.workers.template_codes import TemplateCode, TemplateCodes
from controller.compilation.workers.worker_process import WorkerClosed, WorkerFailed, WorkerProcess

COMPILE_WORKER = "controller.compilation.compile_worker"
MOST_LANES = 64
"""Compile processes of one Dask worker, for all its controllers."""
_IDLE_SECONDS = 3600.0
"""Until a process ends that was asked for nothing."""
_ORPHANED_SECONDS = 60.0
"""The same in the middle of a request, beside the time of a minion: its controller is gone."""
_LOOK_SECONDS = 15.0


class _Compiled(msgspec.Struct, tag="compiled"):
    """An answer, which the controller decodes."""


_FRAME = msgspec.msgpack.Decoder(_Compiled | PortCall | TemplateCode | ContentQuestion)


@dataclass(slots=True)
class _Shared:
    """What the processes of one controller share."""

    contents: ContentStore = field(default_factory=ContentStore)
    codes: TemplateCodes = field(default_factory=lambda: TemplateCodes(0))
    made: list[TemplateCode] = field(default_factory=list)
    """Codes that the controller has not been told of."""


@dataclass(slots=True)
class _Lane:
    """One process, and the request that it is at."""

    process: WorkerProcess
    settings: LaneSettings
    shared: _Shared
    busy: threading.Lock = field(default_factory=threading.Lock)
    session: str = ""
    left: int = 0
    """Answers that are not there yet."""
    until: float = 0.0
    """When the next of them has to be there."""
    questions: int = 0
    """Asked for the minion that it is at."""
    used: float = 0.0

    def next_minion(self) -> None:
        """Count the time, and what it asks and prints, from here."""
        self.until, self.questions = time.monotonic() + self.settings.timeout, 0
        if (channel := self.process.channel) is not None:
            channel.output_bytes, channel.most_output = 0, self.settings.limits.output_bytes


class Lanes:
    """All lanes of one Dask worker."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._shared: dict[str, _Shared] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, name="compile-lanes", daemon=True).start()

    def begin(self, step: BeginCompile) -> LaneOutcome:
        """Start with a request."""
        lane = self._lane(step)
        if lane is None:
            return LaneOutcome(kind="lost", text=f"{MOST_LANES} compile processes are busy on this worker")
        lane.shared.contents.put(step.contents)
        for code in step.codes:
            lane.shared.codes.put(code)
        with self._using(lane):
            if lane.left:  # of a request that nobody waits for any more
                lane.process.stop()
            lane.session, lane.left = step.session, step.minions
            return self._guarded(lane, step)

    def go_on(self, step: ContinueCompile) -> LaneOutcome:
        """Go on with it."""
        with self._lock:
            lane = self._lanes.get((step.controller, step.lane))
        if lane is None:
            return LaneOutcome(kind="lost", text="this worker knows nothing of the request")
        with self._using(lane):
            if lane.session != step.session or not lane.left:
                return LaneOutcome(kind="lost", text="this worker is at another request")
            if step.content and step.answer is not None and step.answer.startswith(FOUND):
                lane.shared.contents.put({step.content: step.answer[len(FOUND) :]})
            return self._guarded(lane, step)

    def stop(self, step: StopLanes) -> LaneOutcome:
        """End the process of a lane, or all of the controller."""
        with self._lock:
            keys = [key for key, lane in self._lanes.items() if _is_meant(step, key, lane.session)]
            ended = [self._lanes.pop(key) for key in keys]
            if step.lane is None:
                self._shared.pop(step.controller, None)
        for lane in ended:
            lane.process.close()
        return LaneOutcome(kind="done")

    def _lane(self, step: BeginCompile) -> _Lane | None:
        key = (step.controller, step.lane)
        with self._lock:
            lane = self._lanes.get(key)
            if lane is not None and lane.settings == step.settings:
                return lane
            if lane is not None:  # a grant or a limit is another
                self._lanes.pop(key).process.close()
            if len(self._lanes) >= MOST_LANES and not self._end_idlest():
                return None
            shared = self._shared.setdefault(step.controller, _Shared())
            if not shared.codes.most_bytes:
                shared.codes = TemplateCodes(step.settings.limits.template_code_bytes)
            made = self._lanes[key] = _Lane(process_of(step.settings), step.settings, shared)
            return made

    def _end_idlest(self) -> bool:
        """Make room for another lane. Called under the lock."""
        idle = [(lane.used, key) for key, lane in self._lanes.items() if not lane.left]
        if idle:
            self._lanes.pop(min(idle)[1]).process.close()
        return bool(idle)

    @contextmanager
    def _using(self, lane: _Lane) -> Iterator[None]:
        with lane.busy, lane.process.in_use():
            lane.used = time.monotonic()
            yield
            lane.used = time.monotonic()

    def _guarded(self, lane: _Lane, step: BeginCompile | ContinueCompile) -> LaneOutcome:
        """Carry out a step; what has gone wrong is in the outcome, and the process is ended then."""
        answers: list[tuple[bytes, bytes]] = []
        kind, text, question, lacking = "done", "", b"", ""
        try:
            if isinstance(step, BeginCompile):
                lacking = self._sent(lane, step)
            elif step.answer is not None and (channel := lane.process.channel) is not None:
                with lane.process.failures(channel):
                    channel.send(step.answer, lane.until)
            question = self._pump(lane, answers)
            kind = "question" if question else "more" if lane.left else "done"
        except WorkerLate:
            kind = "late"
        except LimitExceeded as error:
            kind, text = "limit", error.limit
        except (WorkerFailed, OSError) as error:
            kind, text = "failed", str(error)
        except WorkerClosed:
            kind, text = "lost", "this worker has ended the process, to make room or because nobody used it"
        if kind in ("late", "limit", "failed"):
            lane.left = 0
            lane.process.stop()
        made, lane.shared.made = lane.shared.made, []
        return LaneOutcome(
            kind=kind,  # type: ignore[arg-type]  # one of its names
            text=text,
            answers=answers,
            question=question,
            codes=made,
            store=lane.shared.contents.name,
            lacking=lacking,
            pid=lane.process.pid,
            seconds=max(0.0, lane.until - time.monotonic()),
        )

    def _sent(self, lane: _Lane, step: BeginCompile) -> str:
        """Hand the request to the process; why that is not sandboxed, where it is new and is not."""
        channel = lane.process.started()
        lane.next_minion()
        with lane.process.failures(channel):
            channel.send(step.request, lane.until)
        lacking, lane.process.lacking = lane.process.lacking, ""
        return lacking

    def _pump(self, lane: _Lane, answers: list[tuple[bytes, bytes]]) -> bytes:
        """Take what the process says for a moment; the frame of a question that is not answered here, or nothing."""
        channel, limits = lane.process.channel, lane.settings.limits
        if channel is None:
            raise WorkerFailed("it does not run")
        end, size = time.monotonic() + STEP_SECONDS, 0
        with lane.process.failures(channel):
            while lane.left and size < STEP_BYTES:
                if not channel.has_more(min(end, lane.until)):
                    if time.monotonic() >= lane.until:
                        raise WorkerLate
                    break
                frame = channel.receive(limits.frame_bytes, "frame_bytes", lane.until)
                said = _FRAME.decode(frame)
                if isinstance(said, _Compiled):
                    document = channel.receive(limits.document_bytes, "document_bytes", lane.until)
                    answers.append((frame, document))
                    size += len(frame) + len(document)
                    lane.left -= 1
                    lane.next_minion()
                    continue
                lane.questions += 1
                if lane.questions > limits.questions:
                    raise LimitExceeded("questions")
                if not _answered(said, lane, channel):
                    return frame
        return b""

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            with suppress(Exception):  # the next look tries again
                self.end_idle(time.monotonic())

    def end_idle(self, now: float) -> None:
        """End processes that nobody asks for anything any more."""
        with self._lock:
            gone = [key for key, lane in self._lanes.items() if not lane.busy.locked() and _is_idle(lane, now)]
            ended = [self._lanes.pop(key) for key in gone]
            used = {controller for controller, _ in self._lanes}
            for controller in [each for each in self._shared if each not in used]:
                self._shared.pop(controller)
        for lane in ended:
            lane.process.close()


def _is_meant(step: StopLanes, key: tuple[str, int], session: str) -> bool:
    return key[0] == step.controller and step.lane in (None, key[1]) and step.session in ("", session)


def process_of(settings: LaneSettings) -> WorkerProcess:
    """The process of a lane; it is started when it is first used."""
    return WorkerProcess(
        COMPILE_WORKER, settings.timeout, settings.sandbox_policy, settings.limits, niceness=settings.niceness
    )


def _is_idle(lane: _Lane, now: float) -> bool:
    patience = _ORPHANED_SECONDS + lane.settings.timeout if lane.left else _IDLE_SECONDS
    return now - lane.used > patience


def _answered(said: PortCall | TemplateCode | ContentQuestion, lane: _Lane, channel: WorkerChannel) -> bool:
    """Whether it could be answered here, and was."""
    shared = lane.shared
    if isinstance(said, TemplateCode):
        if said.code:
            shared.codes.put(said)
            shared.made.append(said)
        else:
            channel.send(shared.codes.get(said.key), lane.until)
        return True
    if isinstance(said, ContentQuestion) and (known := shared.contents.get(said.key)) is not None:
        channel.send(FOUND + known, lane.until)
        return True
    return False
