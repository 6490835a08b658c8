"""What a controller asks of a Dask worker, and what it hears: types alone, known on both sides.

A compile is a row of short steps: each hands over what the compile process has said so far. Steps and outcomes cross
the connection as msgpack; Dask sees bytes.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from controller.compilation.sandbox import SandboxPolicy
from controller.compilation.workers.template_codes import TemplateCode
from controller.config.limits import CompileWorkerLimits

STEP_SECONDS = 0.5
"""Until a step hands over what there is."""
STEP_BYTES = 8 * 1024 * 1024
"""Of answers: with more a step hands over what there is."""


class LaneSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the compile process of a lane is run: as one of the controller's machine."""

    timeout: float
    """Seconds that one minion may take."""
    sandbox_policy: SandboxPolicy | None
    limits: CompileWorkerLimits
    niceness: int = 0


class BeginCompile(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """Compile the minions of a request; whatever the lane did before is given up."""

    controller: str
    """Whose processes, contents and codes are used: controllers share none."""
    lane: int
    session: str
    """Name of this request."""
    settings: LaneSettings
    request: bytes
    """A pickled `CompileRequest`: for the compile process, which has it from the controller alone."""
    minions: int
    """How many answers there will be."""
    contents: dict[str, bytes] = {}
    """By content address: what the compile will probably read, and the worker has not been given."""
    codes: list[TemplateCode] = []
    """Of templates, made elsewhere."""


class ContinueCompile(msgspec.Struct, frozen=True, kw_only=True, tag="continue"):
    """Go on with a request."""

    controller: str
    lane: int
    session: str
    answer: bytes | None = None
    """To the question that the last step has ended with."""
    content: str = ""
    """Content address of the answer, where it is one."""


class StopLanes(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """End the compile process of a lane; without a lane, all of the controller."""

    controller: str
    lane: int | None = None
    session: str = ""
    """At which it must still be; empty: whatever it is at."""


class ProbeWorker(msgspec.Struct, frozen=True, kw_only=True, tag="probe"):
    """Say that you are there."""


LaneStep: TypeAlias = BeginCompile | ContinueCompile | StopLanes | ProbeWorker


class LaneOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a step has ended."""

    kind: Literal["more", "done", "question", "late", "limit", "failed", "lost", "refused"]
    """`more`: go on. `late`, `limit`, `failed`: the process is ended, for the minion after these answers. `lost`: the
    worker does not know the session. `refused`: it runs another version."""
    text: str = ""
    """Name of the limit, or what has failed, or the version."""
    answers: list[tuple[bytes, bytes]] = []
    """Frames of answers, and their documents."""
    question: bytes = b""
    """A frame that the controller has to answer."""
    codes: list[TemplateCode] = []
    """Of templates, that compile processes of this worker have made."""
    store: str = ""
    """Name of the worker's memory of contents: another one has none of what was given to it."""
    lacking: str = ""
    """Why the process could not be sandboxed, once for each process."""
    pid: int = 0
    """Of the compile process, on its machine."""
    seconds: float = 0.0
    """That the minion it is at has left."""


_STEP: msgspec.msgpack.Decoder[LaneStep] = msgspec.msgpack.Decoder(LaneStep)
_OUTCOME = msgspec.msgpack.Decoder(LaneOutcome)


def step_of(packed: bytes) -> LaneStep:
    """A step as it came; msgspec.MsgspecError for anything else."""
    return _STEP.decode(packed)


def outcome_of(packed: bytes) -> LaneOutcome:
    """An outcome as it came; msgspec.MsgspecError for anything else."""
    return _OUTCOME.decode(packed)
