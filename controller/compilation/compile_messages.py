"""What the controller asks of a compile worker, and what it hears: types alone.

Known on both sides, by everybody who has to do with a compile. The modules that render and compile are imported by
`compile_worker` only: a controller never holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from controller.compilation.compile_rpc import NO_CAPABILITIES, Capabilities
from controller.config.sections import PortOptions
from highstate.compile_options import CompileOptions
from highstate.dummy_pillar import DummyPillar
from highstate.targeting.targeted_beacons import TargetedBeacons
from highstate.types import Chunk, Files, Minion, Problem, Value
from wire.messages import FactAnswer, FactQuery

_FEW = msgspec.Meta(max_length=65_536)
"""Entries of a list in an answer, which is looked at before they are made: small ones take many times their bytes."""
MOST_RENDERED = 512 * 1024
"""Characters of the texts that are rendered for one minion in a preview."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderQuestion:
    """What of a document is to be rendered, so that a preview can show it."""

    pillar: Mapping[str, Value]
    """That of the document."""
    chunks: Mapping[str, Chunk]
    """By key in the document."""
    top: bool = False
    """Whether the targets of the top file are asked for."""
    pillar_keys: tuple[tuple[Value, ...], ...] = ()
    """Paths of keys of which is asked whether they were read for a chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatesQuestion:
    """What is compiled of each minion in place of its highstate: for a call of a function of `state`."""

    fun: str
    """`sls` or `highstate` for a document, else what is shown (`highstate.shown_states.shown`)."""
    mods: tuple[str, ...] | None = None
    """Names of SLS; None: what the top file gives."""
    ids: tuple[str, ...] = ()
    """For `id_exists`."""
    saltenv: str = "base"
    """Of these SLS."""
    pillar: Mapping[str, Value] = field(default_factory=dict, repr=False)
    """What is put over the pillar. It is not remembered: each call has another one."""
    states_alone: bool = False
    """Whether only templates of states see this: a minion must not choose by it what pillar it is given."""

    @property
    def shows(self) -> bool:
        """Whether a value is asked for, and no document."""
        return self.fun not in ("sls", "highstate")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRequest:
    """Compile these minions of one revision."""

    files: Files
    pillar: Files
    minions: tuple[Minion, ...]
    language: CompileOptions = field(default_factory=CompileOptions)
    drift: Mapping[str, Any] = field(default_factory=dict)
    """Drift schedule to put into the documents."""
    drifts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Minion -> its own, where it is another."""
    drift_rules: str = ""
    """What decides about `drifts`; documents are made anew when it is another."""
    beacons: tuple[TargetedBeacons, ...] = ()
    """Beacons of the tree, of which each document gets its minion's."""
    ports: PortOptions = field(default_factory=PortOptions, repr=False)
    """Keys and vaults. They stay with the controller."""
    capabilities: Capabilities = NO_CAPABILITIES
    """What the controller answers of it; filled in by `compiler`."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Minion -> digest of the document that the controller holds: an equal one is not sent again."""

    facts: Mapping[str, Mapping[FactQuery, FactAnswer]] = field(default_factory=dict, repr=False)
    """Minion -> what functions of its machine gave when they were asked last."""
    allowed_facts: tuple[str, ...] = ()
    """Functions (globs) that policy allows to ask beside those that only look."""
    check_rate: float = 0.0
    """Part of the minions that are compiled once more without the memo, to be compared; one of a request at most."""
    dummies: DummyPillar | None = field(default=None, repr=False)
    """For what strangers wrote: they stand for all secrets and the pillar, and nothing is told of the fleet."""
    rendering: Mapping[str, RenderQuestion] = field(default_factory=dict, repr=False)
    """Minion -> what is rendered for it; then nothing is compiled for it."""
    states: StatesQuestion | None = None
    """What is compiled in place of the highstates."""
    ends_process: bool = False
    """Whether the process ends after it: what a tree's Python leaves there must not meet another tree."""


class FileRead(msgspec.Struct, frozen=True, array_like=True):
    """Something that a compile looked at in a tree, and a digest of what it saw."""

    tree: str
    """`files`, or the name of a tree of pillar (`highstate.files.parts_of`)."""
    kind: str
    """`file`, `mode`, `list`, `links`, or `saltenv` for whether there is this one."""
    saltenv: str
    path: str
    digest: str


class RenderedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A text that a state makes of a template, of pillar or of grains (as `content_parts.SourceText` is)."""

    name: str
    source: str = ""
    text: str | None = None
    """None where the minion alone can render it, and where it is too large to be told."""
    size: int = -1
    """Characters; -1 where the minion alone can render it."""
    live: Annotated[tuple[str, ...], _FEW] = ()


class RenderedState(msgspec.Struct, frozen=True, kw_only=True):
    """What one state of a `RenderQuestion` makes."""

    key: str
    digest: str = ""
    """Of its content; the texts are those of the document where it has the same one."""
    files: Annotated[tuple[RenderedFile, ...], _FEW] = ()
    pillar: Annotated[tuple[str, ...], _FEW] = ()
    """Those of the question's pillar keys that were read for it, as `pillar.get` takes them."""


class CompiledMinion(msgspec.Struct, frozen=True, kw_only=True, tag="compiled"):
    """One answer: the document that the minion shall hold, packed, or the errors why there is none."""

    minion_id: str
    document: bytes = b""
    """msgpack of `Desired.as_document()`, or of what a `StatesQuestion` shows.

    Empty where the controller holds it (`CompileRequest.held`)."""
    digest: str = ""
    reads: Annotated[tuple[bytes, ...], _FEW] = ()
    """Files that the answer stands on, in parts that minions share: each a packed list of `FileRead`. Empty: more."""
    facts: Annotated[tuple[FactQuery, ...], _FEW] = ()
    """Recorded answers that it stands on."""
    fleet_marks: Annotated[tuple[tuple[FactQuery, str], ...], _FEW] = ()
    """What the controller answered about the fleet: questions, and marks of the answers."""
    unanswered: Annotated[tuple[FactQuery, ...], _FEW] = ()
    """Fact queries of templates without an answer. With errors: it may compile once they are answered."""
    checked: bool = False
    """Whether it was compiled without the memo too, and this is what came out there."""
    remembered: str = ""
    """Digest that the memo gave, where it was another one."""
    errors: Annotated[tuple[Problem, ...], _FEW] = ()
    secrets: Annotated[tuple[str, ...], _FEW] = ()
    """Plain texts that it stands on (`Compiled.secrets`); errors and warnings may hold them."""
    warnings: Annotated[tuple[Problem, ...], _FEW] = ()
    volatile: Annotated[tuple[str, ...], _FEW] = ()
    """What else than trees and grains it stands on; see `Compiled.volatile`."""
    rendered: Annotated[tuple[RenderedState, ...], _FEW] = ()
    """Answer to a `RenderQuestion`."""
    top_targets: Annotated[tuple[tuple[str, str], ...], _FEW] = ()
    """The same: targets of the top file, each with the name of its matcher."""
    states: int = 0
    """How many states the document has."""
    saltenvs: Annotated[tuple[str, ...], _FEW] = ()
    """From which the top file gives it SLS."""
    seconds: float = 0.0
    memo_hits: int = 0
    """Parts that the memo of its process had; the next is of those that it had not."""
    memo_misses: int = 0

    @property
    def ok(self) -> bool:
        """Whether there is a document."""
        return not self.errors
