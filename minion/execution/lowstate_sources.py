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
from minion.spool.files import BlobCache, HeldFiles, Question
from wire.messages import Refused, ToMinion


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

    def around(self) -> Sequence[Chunk]:
        """Nothing: what an SLS requires is in what it includes."""
        return ()


@dataclass(frozen=True, kw_only=True)
class HeldCompiler:
    """Gives what is held."""

    minion_id: str
    desired: Desired

    def highstate(self, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """The whole document."""
        if pillar_override:
            return self._refused("the pillar of a held state is the controller's: pillar=... works with --local only")
        return self._compiled(list(self.desired.chunks))

    def sls(self, names: Sequence[str], saltenv: str, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """The chunks that come from some SLS of the document."""
        if pillar_override:
            return self._refused("the pillar of a held state is the controller's: pillar=... works with --local only")
        known = {chunk.sls for chunk in self.desired.chunks.values()}
        missing = [name for name in names if name not in known]
        if missing:
            there = ", ".join(sorted(known)) or "none"
            return self._refused(f"no SLS {', '.join(missing)} is in this minion's highstate; there are: {there}")
        return self._compiled([key for key, chunk in self.desired.chunks.items() if chunk.sls in names])

    def around(self) -> Sequence[Chunk]:
        """The whole document."""
        return tuple(self.desired.chunks.values())

    def _compiled(self, keys: Sequence[str]) -> Compiled:
        chunks = tuple(self.desired.chunks[key] for key in keys)
        matches: dict[str, dict[str, None]] = {}
        for chunk in chunks:
            matches.setdefault(chunk.saltenv, {})[chunk.sls] = None
        return Compiled(
            minion_id=self.minion_id,
            lowstate=chunks,
            pillar=self.desired.pillar,
            matches={env: tuple(names) for env, names in matches.items()},
        )

    def _refused(self, message: str) -> Compiled:
        problem = Problem(message=message, pos=Pos(file="the desired state of this minion"))
        return Compiled(minion_id=self.minion_id, errors=(problem,))


class SentStates(HeldCompiler):
    """Gives the states that came with the call: the controller has compiled what it asks for, with its pillar."""

    def highstate(self, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """All of them."""
        return self._compiled(list(self.desired.chunks))

    def sls(self, names: Sequence[str], saltenv: str, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """The same."""
        return self._compiled(list(self.desired.chunks))

    def around(self) -> Sequence[Chunk]:
        """Nothing: what an SLS requires is in what it includes."""
        return ()


class _NoController:
    """Answers for a controller that this process has no connection to."""

    def ask(self, question: Question) -> ToMinion:
        """Say so."""
        return Refused(message="saltern call does not talk to the controller, and the file is not in the cache")


def held_files(desired: Desired, cachedir: Path) -> Files:
    """The files of a held state, as far as the cache has them."""
    return HeldFiles(desired, BlobCache(cachedir), _NoController())
