"""What execution functions work with: who this minion is, its data, its machine, its desired state.

Made by the worker and by `saltern call`, which give makers, not values: grains, pillar and files are had when a
function first asks for them, so that `test.ping` costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from highstate.types import Chunk, Compiled, Files
    from minion.states.machine import LocalMachine


class Compiler(Protocol):
    """Where lowstates come from: compiled here from file_roots, or held from the controller."""

    def highstate(self, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """What the top file gives this minion."""

    def sls(self, names: Sequence[str], saltenv: str, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """These SLS alone."""

    def around(self) -> Sequence[Chunk]:
        """The lowstate that `sls` takes from, for requisites on what is outside; empty where each is compiled alone."""


@dataclass(kw_only=True)
class Context:
    """One call's surroundings."""

    minion_id: str
    opts: Mapping[str, Any] = field(default_factory=dict)
    """The minion's configuration, as its files say it."""
    make_grains: Callable[[], Mapping[str, Any]] = dict
    make_pillar: Callable[[], Mapping[str, Any]] = dict
    make_files: Callable[[], Files] | None = None
    """The tree of `salt://`; None: an empty one."""
    make_compiler: Callable[[], Compiler] | None = None
    run_lock: Callable[[], AbstractContextManager[object]] = nullcontext
    """Held while states run, so that no two runs overlap."""
    failhard: bool = False
    backup_dir: str = ""

    @cached_property
    def grains(self) -> Mapping[str, Any]:
        """This minion's grains."""
        return self.make_grains()

    @cached_property
    def pillar(self) -> Mapping[str, Any]:
        """This minion's pillar."""
        return self.make_pillar()

    @cached_property
    def files(self) -> Files:
        """The tree of `salt://`."""
        if self.make_files is not None:
            return self.make_files()
        from highstate.files import MemoryFiles

        return MemoryFiles({})

    @cached_property
    def machine(self) -> LocalMachine:
        """The machine, with the pillar of this minion."""
        return self.machine_with(self.pillar)

    def machine_with(self, pillar: Mapping[str, Any]) -> LocalMachine:
        """The machine as a run with this pillar sees it."""
        from minion.modules.loader import Modules
        from minion.states.machine import LocalMachine

        return LocalMachine(
            sources_port=self.files,
            minion_id=self.minion_id,
            grains=self.grains,
            pillar=pillar,
            opts=self.opts,
            functions=Modules(self).as_functions(),
        )
