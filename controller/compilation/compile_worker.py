"""The process in which templates are rendered; `workers.process` starts it and kills it when a template never ends.

Requests come pickled from the controller, which is trusted; answers go back as msgpack, because a template is not.
It keeps the memo and the parsed templates between requests. Secrets, pillars and tops come from the controller
(`compile_rpc`); `sandbox` denies everything else. It imports nothing of `minion` (docs/adr/0012).
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import re
import resource
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import resources

import msgspec
from msgspec import structs

from controller.compilation.cluster.shipped_files import FOUND, ContentQuestion, take_contents_from
from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_rpc import (
    NO_CAPABILITIES,
    Capabilities,
    PortAnswer,
    PortCall,
    RpcClient,
    fleet_over,
    ports_over,
)
from controller.compilation.document_encoder import Packer
from controller.compilation.gc_policy import collect_new, collect_seldom
from controller.compilation.recorded_facts import FleetAnswer, MinionFacts
from controller.compilation.workers.called_states import compiled_states
from controller.compilation.workers.channel import ChannelClosed, WorkerChannel
from controller.compilation.workers.entry import begin
from controller.compilation.workers.resource_limits import few_descriptors_left
from controller.compilation.workers.settings import WorkerSettings
from controller.compilation.workers.source_rendering import rendered
from controller.compilation.workers.template_codes import MOST_CODE_BYTES, TemplateCode
from extmods.compile_modules import CompileModules, Tree
from extmods.store import modules_of
from highstate.compile import CompileOptions, compile_minion
from highstate.compile.assemble import render_cause
from highstate.compile.shapes import forget_oldest_shapes
from highstate.lint.missing_states import missing_states
from highstate.memo.memo import Memo
from highstate.ports import NO_PORTS, CompilePorts
from highstate.render.jinja import forget_oldest_templates, share_codes
from highstate.render.yaml.blocks import forget_oldest_blocks
from highstate.shown_states import shown
from highstate.targeting.targeted_beacons import with_beacons
from highstate.types import Compiled, Minion, Pos, Problem, Stage
from wire import patch
from wire.messages import FactQuery

_ENCODER = msgspec.msgpack.Encoder()
_SMALL = 20
_PARTS = 4096
_IN_A_MODULE = re.compile(r"\(_(?:pillar|renderers|runners|tops)/")
_REFUSED_BY_SANDBOX = re.compile(r"PermissionError|Permission denied|Operation not permitted")

_FREE_PART = 0.5
"""A worker that has more of its memory begins to forget earlier compiles."""
_GROWTH_PART = 0.125
"""After that it forgets again when it has so much more. What Python frees stays with the process: to look at its size
alone would be to forget everything after each minion from then on."""
_BLOCK_BYTES = 64
"""Of one of Python's blocks, on average."""
_WORN_PART = 0.75
"""A worker that has more of its memory in use, with earlier compiles forgotten, ends."""
_MOST_THREADS = 64
"""A worker where Python of a tree has left more behind ends."""
_STATES = frozenset(resources.files("highstate.lint").joinpath("saltern_states.txt").read_text().split())
"""All state functions of a minion; their modules are not loaded here."""
_PAGE_BYTES = resource.getpagesize()


@dataclass(slots=True)
class WorkerState:
    """What a worker keeps from one request to the next: memo, packed reads and ports."""

    max_states: int = sys.maxsize
    """Of one minion."""
    memo: Memo = field(default_factory=Memo)
    packer: Packer = field(default_factory=Packer)
    reads: dict[frozenset[tuple[str, ...]], bytes] = field(default_factory=dict)
    ports: CompilePorts = NO_PORTS
    rpc: RpcClient | None = None
    fleet_answers: dict[FactQuery, FleetAnswer] = field(default_factory=dict)
    """Answers about the fleet that hold for all minions of this request."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Those that the tree of this request brings for minions (`extmods.store.modules_of`)."""
    _capabilities: Capabilities = NO_CAPABILITIES

    def use(self, capabilities: Capabilities, rpc: RpcClient) -> None:
        """Make ports for these capabilities; equal ones keep the same ports, because the memo compares them."""
        self.rpc = rpc
        if capabilities != self._capabilities:
            self._capabilities, self.ports = capabilities, ports_over(rpc, capabilities)

    def forget(self) -> None:
        """Give up what earlier compiles left behind."""
        self.memo, self.packer, self.reads = Memo(), Packer(), {}

    def forget_oldest(self) -> None:
        """Give up what was not used for longest: a request has minions that are alike one after the other."""
        self.memo.forget_oldest()
        self.packer.forget_oldest()
        self.reads.clear()
        forget_oldest_templates()
        forget_oldest_shapes()
        forget_oldest_blocks()
        collect_new()

    def packed_reads(self, part: frozenset[tuple[str, str, str, str, str]]) -> bytes:
        """A part of the reads, packed; many minions have the same one."""
        if len(part) < _SMALL:
            return _ENCODER.encode(sorted(part))
        found = self.reads.get(part)
        if found is None:
            if len(self.reads) >= _PARTS:
                self.reads.clear()
            found = self.reads[part] = _ENCODER.encode(sorted(part))
        return found


@dataclass(frozen=True, slots=True)
class _RemoteCodes:
    """`CodeStore` of the controller."""

    channel: WorkerChannel

    def get(self, key: bytes) -> bytes:
        self.channel.send(_ENCODER.encode(TemplateCode(key=key)))
        return self.channel.receive()

    def put(self, key: bytes, code: bytes) -> None:
        if len(code) <= MOST_CODE_BYTES:
            self.channel.send(_ENCODER.encode(TemplateCode(key=key, code=code)))


@dataclass(frozen=True, slots=True)
class _RemoteContents:
    """`ContentAsker` over the channel, on a machine that has no mirrors."""

    channel: WorkerChannel

    def content(self, question: ContentQuestion) -> bytes:
        self.channel.send(_ENCODER.encode(question))
        said = self.channel.receive()
        if said[:1] != FOUND:
            raise OSError(said[1:].decode(errors="replace"))
        return said[1:]


def answer(request: CompileRequest, state: WorkerState, rpc: RpcClient | None = None) -> Iterator[CompiledMinion]:
    """Compile each minion of the request, in order. `rpc` asks the controller for the ports."""
    if rpc is not None:
        state.use(request.capabilities, rpc)
    state.fleet_answers.clear()
    settings = request.language
    tree = Tree(request.files)
    state.modules = modules_of(request.files)
    checks = 1
    for minion in request.minions:
        found = _compiled_within_memory(request, settings, tree, minion, state)
        if checks and found.reads and random.random() < request.check_rate:  # noqa: S311  (a sample, no secret)
            checks = 0
            found = _checked(found, _compiled(request, settings, tree, minion, state, fresh=True), state)
        yield found


def _compiled_within_memory(
    request: CompileRequest, settings: CompileOptions, tree: Tree, minion: Minion, state: WorkerState
) -> CompiledMinion:
    try:
        return _compiled(request, settings, tree, minion, state)
    except MemoryError:
        state.forget()
        problem = Problem(
            message=f"compiling the highstate of {minion.id} needs more memory than a compile may have",
            pos=Pos(file="top.sls", stage=Stage.COMPILE),
            hint="raise memory_bytes of compile_worker, or of preview, in the option limits",
        )
        return CompiledMinion(minion_id=minion.id, errors=(problem,))


def _checked(found: CompiledMinion, fresh: CompiledMinion, state: WorkerState) -> CompiledMinion:
    """The fresh compile. The memo is dropped when it gave another result."""
    if found.fleet_marks != fresh.fleet_marks:  # a mine changed in between: there is nothing to compare
        return fresh
    same = (found.digest, found.errors) == (fresh.digest, fresh.errors)
    if not same:
        state.memo, state.packer = Memo(), Packer()
    return structs.replace(fresh, checked=True, remembered="" if same else found.digest or "errors")


def _compiled(
    request: CompileRequest,
    settings: CompileOptions,
    tree: Tree,
    minion: Minion,
    state: WorkerState,
    *,
    fresh: bool = False,
) -> CompiledMinion:
    started = time.perf_counter()
    ask_fleet = (
        fleet_over(state.rpc, minion.id, state.fleet_answers)
        if state.rpc is not None and request.capabilities.fleet
        else None
    )
    facts = MinionFacts(request.facts.get(minion.id, {}), request.allowed_facts, ask_fleet)
    memo, before = None if fresh else state.memo, (state.memo.hits, state.memo.misses)
    try:
        programs = CompileModules(tree=tree, minion=minion, opts=settings.opts)
        ports = programs.over(replace(state.ports, facts=facts))
        if minion.id in request.rendering:
            found = rendered(request, minion, state.memo, ports)
            return structs.replace(found, seconds=time.perf_counter() - started)
        if request.states is not None:
            compiled = compiled_states(request, request.states, minion, memo, ports)
        else:
            compiled = compile_minion(request.files, request.pillar, minion, settings, memo, ports)
    except OSError as error:  # the tree was removed meanwhile; it is compiled again as soon as it is fetched
        problem = Problem(message=f"the tree cannot be read: {error}", pos=Pos(file="top.sls", stage=Stage.TOP))
        compiled = Compiled(minion_id=minion.id, errors=(problem,))
    if request.beacons and compiled.ok:
        compiled = replace(compiled, pillar=with_beacons(compiled.pillar, request.beacons, minion))
    packed = _packed(compiled, request, state, started)
    packed = structs.replace(packed, errors=tuple(map(_with_hint, packed.errors)))
    return structs.replace(
        packed,
        memo_hits=state.memo.hits - before[0],
        memo_misses=state.memo.misses - before[1],
        facts=(*facts.used, *facts.fleet_marks),
        unanswered=tuple(facts.unanswered),
        fleet_marks=tuple(facts.fleet_marks.items()),
    )


def _packed(compiled: Compiled, request: CompileRequest, state: WorkerState, started: float) -> CompiledMinion:
    document, errors = b"", compiled.errors
    if len(compiled.lowstate) > state.max_states:
        errors = (_too_many(len(compiled.lowstate), state.max_states),)
    elif compiled.ok:
        try:
            if request.states is not None and request.states.shows:
                document = _ENCODER.encode(shown(request.states.fun, compiled, request.states.ids, request.files))
            else:
                drift = request.drifts.get(compiled.minion_id, request.drift)
                document = state.packer.pack(compiled, drift, state.modules)
        except (OverflowError, TypeError, ValueError) as error:
            errors = (_unpackable(error),)
    digest = patch.digest_of_packed(document) if document else ""
    return CompiledMinion(
        minion_id=compiled.minion_id,
        document=b"" if digest and request.held.get(compiled.minion_id) == digest else document,
        digest=digest,
        reads=tuple(map(state.packed_reads, compiled.files or ())),
        errors=errors,
        secrets=tuple(sorted(compiled.secrets)),
        warnings=(*compiled.warnings, *missing_states(compiled.lowstate, _STATES, request.files)),
        volatile=compiled.volatile,
        states=len(compiled.lowstate),
        saltenvs=tuple(sorted(saltenv for saltenv, sls in compiled.matches.items() if sls)),
        seconds=time.perf_counter() - started,
    )


def _with_hint(problem: Problem) -> Problem:
    """The problem, with a hint at `compile_grants` where the sandbox seems to have refused Python of the tree."""
    of_the_tree = render_cause(problem.message).startswith("PermissionError") or _IN_A_MODULE.search(problem.message)
    if problem.hint or not of_the_tree or not _REFUSED_BY_SANDBOX.search(problem.message):
        return problem
    hint = "the process that compiles reads the trees and nothing else: grant it more with compile_grants"
    return replace(problem, hint=hint)


def _unpackable(error: Exception) -> Problem:
    return Problem(
        message=f"the highstate or pillar has a value that cannot be sent: {error}",
        pos=Pos(file="top.sls", stage=Stage.COMPILE),
        hint="integers have 64 bits at the most; text must be valid Unicode; write other values as strings",
    )


def _too_many(count: int, limit: int) -> Problem:
    return Problem(
        message=f"the highstate has {count} states, and {limit} is the limit",
        pos=Pos(file="top.sls", stage=Stage.COMPILE),
        hint="raise states of compile_worker in the option limits",
    )


def main(sock: socket.socket, settings: WorkerSettings) -> None:
    """Serve requests from this socket until the controller closes it.

    Sends first why it cannot be sandboxed by the policy of the settings, or an empty text.
    """
    collect_seldom()
    own_memory = OwnMemory()
    with suppress(ChannelClosed):
        _serve(begin(sock, settings), own_memory, settings)


def _serve(channel: WorkerChannel, own_memory: OwnMemory, settings: WorkerSettings) -> None:
    state = WorkerState(max_states=settings.max_states)

    def rpc(call: PortCall) -> PortAnswer:
        channel.send(_ENCODER.encode(call))
        said: PortAnswer = pickle.loads(channel.receive())  # noqa: S301 - from the controller alone
        return said

    share_codes(_RemoteCodes(channel))
    take_contents_from(_RemoteContents(channel))
    while True:
        request = pickle.loads(channel.receive())  # noqa: S301 - from the controller alone
        for compiled in answer(request, state, rpc):
            channel.send(_ENCODER.encode(structs.replace(compiled, document=b"")))
            channel.send(compiled.document)
            if own_memory.has_grown(settings.memory_bytes):
                state.forget_oldest()
                own_memory.note()
            if _is_worn_out(own_memory, settings):
                os._exit(0)  # the controller starts another for the rest
        collect_new()


def _is_worn_out(own_memory: OwnMemory, settings: WorkerSettings) -> bool:
    """Whether so much is used by what Python of a tree has kept that the next minion's compile may lack it."""
    if few_descriptors_left() or threading.active_count() > _MOST_THREADS:
        return True
    if own_memory.data_bytes() <= settings.memory_bytes * _WORN_PART:
        return False
    gc.collect()
    return own_memory.data_bytes() > settings.memory_bytes * _WORN_PART


class OwnMemory:
    """What the kernel says of this process. Opened before the sandbox is entered, which lets nobody open it."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._noted_bytes = self._noted_blocks = 0

    def has_grown(self, most: int) -> bool:
        """Whether much is used of at most so many bytes, and some of it is new since `note`."""
        used, growth = self.data_bytes(), most * _GROWTH_PART
        return used > most * _FREE_PART and (
            used > self._noted_bytes + growth or sys.getallocatedblocks() > self._noted_blocks + growth / _BLOCK_BYTES
        )

    def note(self) -> None:
        """Something was freed: it grows from here."""
        self._noted_bytes, self._noted_blocks = self.data_bytes(), sys.getallocatedblocks()

    def data_bytes(self) -> int:
        """Bytes of data, which the kernel compares with RLIMIT_DATA."""
        return int(os.pread(self._file, 256, 0).split()[5]) * _PAGE_BYTES


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), WorkerSettings.from_argument(sys.argv[2]))
