"""Where this minion's lowstates come from: `Compiler` of the execution modules.

`RootsCompiler` compiles from local folders (`saltern call --local`); `HeldCompiler` takes what the controller sent as
the desired state, `SentStates` what it compiled for one call.
Called by `saltern call` and by the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from extmods.compile_modules import CompileModules, Tree
from highstate.compile import CompileOptions, compile_minion, compile_sls
from highstate.compile.compiler import Compilation
from highstate.desired import Desired
from highstate.ports import NO_PORTS, CompilePorts
from highstate.types import Chunk, Compiled, Files, Minion, Pos, Problem
from minion.config.groups import DEFAULT_OPTIONS, MinionOptions
from minion.execution.errors import CompileFailed
from minion.execution.loader import Modules
from minion.execution.local_facts import LocalFacts
from minion.execution.module_host import MinionHost
from minion.spool.files import BlobCache, Controller, HeldFiles
from wire.messages import GetStates, Refused, StatesFound


@dataclass(frozen=True, kw_only=True)
class RootsCompiler:
    """Compiles here."""

    files: Files
    pillar_files: Files
    minion: Minion
    language: CompileOptions
    options: MinionOptions = DEFAULT_OPTIONS
    """For execution functions that modules of the tree call."""
    make_modules: Callable[[], Modules] | None = None
    """The execution functions that templates may call; None: those of the language alone."""

    def with_options(self, **given: str) -> RootsCompiler:
        """The same with other values of options that shape a compile; templates see them too."""
        opts = {**self.language.opts, **given}
        return replace(self, language=replace(self.language, opts=opts, **given))  # type: ignore[arg-type]

    @cached_property
    def ports(self) -> CompilePorts:
        """The functions of this machine, and what the tree brings."""
        host, opts = MinionHost(self.options), self.language.opts
        around = NO_PORTS if self.make_modules is None else CompilePorts(facts=LocalFacts(self.make_modules))
        return CompileModules(tree=Tree(self.files), minion=self.minion, opts=opts, host=host).over(around)

    def highstate(self, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """What the top file gives."""
        given = (self.files, self.pillar_files, self.minion, self.language)
        return compile_minion(*given, ports=self.ports, pillar_override=pillar_override)

    def sls(self, names: Sequence[str], saltenv: str, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """Some SLS."""
        given = (self.files, self.pillar_files, self.minion, self.language, names, saltenv)
        return compile_sls(*given, pillar_override=pillar_override, ports=self.ports)

    def pillar(self) -> Mapping[str, Any]:
        """The minion's pillar; CompileFailed when it does not compile."""
        result = Compilation(
            files=self.files,
            pillar_files=self.pillar_files,
            minion=self.minion,
            settings=self.language,
            ports=self.ports,
        ).pillar()
        if result.errors:
            raise CompileFailed(result.errors)
        return result.pillar

    def around(self, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """Nothing: what an SLS requires is in what it includes."""
        return ()


@dataclass(frozen=True, kw_only=True)
class HeldCompiler:
    """Gives what is held, and what the controller compiles where something else is asked for."""

    minion_id: str
    desired: Desired
    controller: Controller | None = None
    """Who compiles; None: nobody can be asked."""

    def highstate(self, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """The whole document; with another pillar, what the controller compiles."""
        if not pillar_override:
            return self._compiled(self.desired, list(self.desired.chunks))
        found = self._asked(GetStates(request=0, pillar=dict(pillar_override)))
        return self._refused(f"pillar= needs the controller: {found}") if isinstance(found, str) else found

    def sls(self, names: Sequence[str], saltenv: str, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """Some SLS: what the document has of them, without asking anybody; others as the controller compiles them."""
        given = dict(pillar_override or {})
        chunks = self.desired.chunks
        known = {(chunk.saltenv, chunk.sls) for chunk in chunks.values()}
        if not given and known.issuperset((saltenv, name) for name in names):
            return self._compiled(self.desired, [key for key, chunk in chunks.items() if chunk.sls in names])
        found = self._asked(GetStates(request=0, mods=tuple(names), saltenv=saltenv, pillar=given))
        if not isinstance(found, str):
            return found
        there = ", ".join(sorted({sls for _, sls in known})) or "none"
        what = f"{', '.join(names)} cannot be compiled now: {found}"
        return self._refused(f"{what}. Without pillar=, SLS of the highstate can be run: {there}")

    def around(self, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """The whole document where these are of it."""
        held = {id(chunk) for chunk in self.desired.chunks.values()}
        return tuple(self.desired.chunks.values()) if held.issuperset(map(id, chunks)) else ()

    def _asked(self, question: GetStates) -> Compiled | str:
        """What the controller compiles; why it says nothing."""
        if self.controller is None:
            return "there is no connection to it"
        said = self.controller.ask(question)
        if not isinstance(said, StatesFound):
            return said.message if isinstance(said, Refused) else "an answer of another kind came"
        if said.errors or not said.document:
            pos = Pos(file="compiled by the controller")
            return Compiled(
                minion_id=self.minion_id, errors=tuple(Problem(message=error, pos=pos) for error in said.errors)
            )
        desired = Desired.from_document(msgspec.msgpack.decode(said.document))
        return self._compiled(desired, list(desired.chunks))

    def _compiled(self, desired: Desired, keys: Sequence[str]) -> Compiled:
        chunks = tuple(desired.chunks[key] for key in keys)
        matches: dict[str, dict[str, None]] = {}
        for chunk in chunks:
            matches.setdefault(chunk.saltenv, {})[chunk.sls] = None
        return Compiled(
            minion_id=self.minion_id,
            lowstate=chunks,
            pillar=desired.pillar,
            matches={env: tuple(names) for env, names in matches.items()},
        )

    def _refused(self, message: str) -> Compiled:
        problem = Problem(message=message, pos=Pos(file="the desired state of this minion"))
        return Compiled(minion_id=self.minion_id, errors=(problem,))


class SentStates(HeldCompiler):
    """Gives the states that came with the call: the controller has compiled what it asks for, with its pillar."""

    def highstate(self, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """All of them."""
        return self._compiled(self.desired, list(self.desired.chunks))

    def sls(self, names: Sequence[str], saltenv: str, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """All of them: the controller has compiled these SLS alone."""
        return self._compiled(self.desired, list(self.desired.chunks))

    def around(self, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """Nothing: what an SLS requires is in what it includes."""
        return ()


def held_files(desired: Desired, cachedir: Path, controller: Controller) -> Files:
    """The files of a held state: those that the cache has, and what the controller gives."""
    return HeldFiles(desired, BlobCache(cachedir), controller)
