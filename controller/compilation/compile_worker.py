"""The process in which templates are rendered: started, fed and, when a template never ends, killed by `compiler`.

Requests come pickled from the controller, which is trusted; answers go back as msgpack, because a template is not.
It keeps the memo and the parsed templates between requests. What a compile needs of the world it asks of the controller
(`compile_rpc`); `sandbox` keeps it from everything else. It imports nothing of `minion` (docs/adr/0012).
"""

from __future__ import annotations

import os
import pickle
import random
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection

import msgspec
import pygit2
from msgspec import structs
from pygit2.enums import ConfigLevel

from controller.compilation.compile_rpc import (
    NO_OFFER,
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
from controller.compilation.sandbox import SandboxPolicy, Unconfined, confine
from controller.config.sections import PortOptions
from extmods.compile_modules import CompileModules, Tree
from highstate.compile import CompileOptions, compile_minion
from highstate.memo.memo import Memo
from highstate.ports import NO_PORTS, CompilePorts
from highstate.types import Compiled, Files, Minion, Pos, Problem, Stage
from wire import patch
from wire.messages import FactAnswer, FactQuery

_ENCODER = msgspec.msgpack.Encoder()
_SMALL = 20
_PARTS = 4096
_IN_A_MODULE = re.compile(r"\(_(?:pillar|renderers|runners|tops)/")
_REFUSED_BY_SANDBOX = re.compile(r"PermissionError|Permission denied|Operation not permitted")

MOST_MEMORY = 8 * 1024**3
"""Bytes of address space, mapped packs included; a template that wants more gets an error instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRequest:
    """Compile these minions of one revision."""

    files: Files
    pillar: Files
    minions: tuple[Minion, ...]
    language: CompileOptions = field(default_factory=CompileOptions)
    drift: Mapping[str, float | str] = field(default_factory=dict)
    """Drift schedule to put into the documents."""
    ports: PortOptions = field(default_factory=PortOptions, repr=False)
    """Keys and vaults. They stay with the controller."""
    capabilities: Capabilities = NO_OFFER
    """What the controller answers of it; filled in by `compiler`."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Minion -> digest of the document that the controller holds: an equal one is not sent again."""

    facts: Mapping[str, Mapping[FactQuery, FactAnswer]] = field(default_factory=dict, repr=False)
    """Minion -> what functions of its machine gave when they were asked last."""
    allowed_facts: tuple[str, ...] = ()
    """Functions (globs) that policy allows to ask beside those that only look."""
    check_rate: float = 0.0
    """Part of the minions that are compiled once more without the memo, to be compared; one of a request at most."""


class FileRead(msgspec.Struct, frozen=True, array_like=True):
    """Something that a compile looked at in a tree, and a digest of what it saw."""

    tree: str
    """`files` or `pillar`."""
    kind: str
    """`file`, `mode` or `list`."""
    saltenv: str
    path: str
    digest: str


class CompiledMinion(msgspec.Struct, frozen=True, kw_only=True, tag="compiled"):
    """One answer: the document that the minion shall hold, packed, or the errors why there is none."""

    minion_id: str
    document: bytes = b""
    """msgpack of `Desired.as_document()`."""
    """Empty where the controller holds it (`CompileRequest.held`)."""
    digest: str = ""
    reads: tuple[bytes, ...] = ()
    """Files that the answer stands on, in parts that minions share: each a packed list of `FileRead`. Empty: more."""
    facts: tuple[FactQuery, ...] = ()
    """Recorded answers that it stands on."""
    fleet_marks: tuple[tuple[FactQuery, str], ...] = ()
    """What the controller told of the fleet: questions, and marks of the answers."""
    unanswered: tuple[FactQuery, ...] = ()
    """What templates asked of the machine in vain. With errors: it may compile once this is answered."""
    checked: bool = False
    """Whether it was compiled without the memo too, and this is what came out there."""
    remembered: str = ""
    """Digest that the memo gave, where it was another one."""
    errors: tuple[Problem, ...] = ()
    secrets: tuple[str, ...] = ()
    """Plain texts that it stands on (`Compiled.secrets`); errors and warnings may hold them."""
    warnings: tuple[Problem, ...] = ()
    volatile: tuple[str, ...] = ()
    """What else than trees and grains it stands on; see `Compiled.volatile`."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether there is a document."""
        return not self.errors


@dataclass(slots=True)
class Kept:
    """What a worker keeps from request to request."""

    memo: Memo = field(default_factory=Memo)
    packer: Packer = field(default_factory=Packer)
    reads: dict[frozenset[tuple[str, ...]], bytes] = field(default_factory=dict)
    ports: CompilePorts = NO_PORTS
    ask: RpcClient | None = None
    fleet_answers: dict[FactQuery, FleetAnswer] = field(default_factory=dict)
    """What all minions of this request ask_fleet of the fleet."""
    _offer: Capabilities = NO_OFFER

    def use(self, capabilities: Capabilities, ask: RpcClient) -> None:
        """Ports for what is offered; the same ones as long as that is the same, because the memo asks for it."""
        self.ask = ask
        if capabilities != self._offer:
            self._offer, self.ports = capabilities, ports_over(ask, capabilities)

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


def answer(request: CompileRequest, kept: Kept, ask: RpcClient | None = None) -> Iterator[CompiledMinion]:
    """Compile each minion of the request, in order. `ask` carries the questions of its ports to the controller."""
    if ask is not None:
        kept.use(request.capabilities, ask)
    kept.fleet_answers.clear()
    settings = request.language
    tree = Tree(request.files)
    checks = 1
    for minion in request.minions:
        found = _compiled(request, settings, tree, minion, kept)
        if checks and found.reads and random.random() < request.check_rate:  # noqa: S311  (a sample, no secret)
            checks = 0
            found = _checked(found, _compiled(request, settings, tree, minion, kept, fresh=True), kept)
        yield found


def _checked(found: CompiledMinion, fresh: CompiledMinion, kept: Kept) -> CompiledMinion:
    """The fresh compile. A memo that gave something else is given up."""
    same = (found.digest, found.errors) == (fresh.digest, fresh.errors)
    if not same:
        kept.memo, kept.packer = Memo(), Packer()
    return structs.replace(fresh, checked=True, remembered="" if same else found.digest or "errors")


def _compiled(
    request: CompileRequest, settings: CompileOptions, tree: Tree, minion: Minion, kept: Kept, *, fresh: bool = False
) -> CompiledMinion:
    started = time.perf_counter()
    ask_fleet = (
        fleet_over(kept.ask, minion.id, kept.fleet_answers)
        if kept.ask is not None and request.capabilities.fleet
        else None
    )
    facts = MinionFacts(request.facts.get(minion.id, {}), request.allowed_facts, ask_fleet)
    memo = None if fresh else kept.memo
    try:
        programs = CompileModules(tree=tree, minion=minion, opts=settings.opts)
        ports = programs.over(replace(kept.ports, facts=facts))
        compiled = compile_minion(request.files, request.pillar, minion, settings, memo, ports)
    except OSError as error:  # the tree went away under us; it is compiled again as soon as it is fetched
        problem = Problem(message=f"the tree cannot be read: {error}", pos=Pos(file="top.sls", stage=Stage.TOP))
        compiled = Compiled(minion_id=minion.id, errors=(problem,))
    packed = _packed(compiled, request, kept, started)
    packed = structs.replace(packed, errors=tuple(map(_with_hint, packed.errors)))
    return structs.replace(
        packed,
        facts=(*facts.used, *facts.fleet_marks),
        unanswered=tuple(facts.unanswered),
        fleet_marks=tuple(facts.fleet_marks.items()),
    )


def _packed(compiled: Compiled, request: CompileRequest, kept: Kept, started: float) -> CompiledMinion:
    document, errors = b"", compiled.errors
    if compiled.ok:
        try:
            document = kept.packer.pack(compiled, request.drift)
        except (OverflowError, TypeError, ValueError) as error:
            errors = (_unpackable(error),)
    digest = patch.digest_of_packed(document) if document else ""
    return CompiledMinion(
        minion_id=compiled.minion_id,
        document=b"" if digest and request.held.get(compiled.minion_id) == digest else document,
        digest=digest,
        reads=tuple(map(kept.packed_reads, compiled.files or ())),
        errors=errors,
        secrets=tuple(sorted(compiled.secrets)),
        warnings=compiled.warnings,
        volatile=compiled.volatile,
        seconds=time.perf_counter() - started,
    )


def _with_hint(problem: Problem) -> Problem:
    """The problem, with a hint at `compile_grants` where the sandbox seems to have refused Python of the tree."""
    of_the_tree = problem.message.startswith("PermissionError") or _IN_A_MODULE.search(problem.message)
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


def main(descriptor: int, sandbox_policy: SandboxPolicy | None) -> None:
    """Serve requests from the socket with this file descriptor until the controller closes it.

    Sends first why it cannot be sandboxed by `sandbox_policy`, or an empty text.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the controller, which ends us
    os.nice(5)  # answering minions comes before compiling
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    collect_seldom()
    kept = Kept()
    with Connection(descriptor) as connection:
        connection.send_bytes(_enter_sandbox(sandbox_policy).encode())

        def ask(call: PortCall) -> PortAnswer:
            connection.send_bytes(_ENCODER.encode(call))
            said: PortAnswer = pickle.loads(connection.recv_bytes())  # noqa: S301 - from the controller alone
            return said

        while True:
            try:
                request = pickle.loads(connection.recv_bytes())  # noqa: S301 - from the controller alone
            except EOFError:
                return
            for compiled in answer(request, kept, ask):
                connection.send_bytes(_ENCODER.encode(compiled))
            collect_new()


def _enter_sandbox(sandbox_policy: SandboxPolicy | None) -> str:
    """Enter the sandbox; why that cannot be done, or an empty text."""
    if sandbox_policy is None:
        return ""
    _ignore_git_configuration()
    try:
        confine(sandbox_policy)
    except Unconfined as error:
        return str(error)
    return ""


def _ignore_git_configuration() -> None:
    """Have libgit2 read no configuration: one that the sandbox does not let it read would fail every tree."""
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""


if __name__ == "__main__":
    main(int(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=SandboxPolicy | None))
