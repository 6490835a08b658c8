"""What execution functions work with: who this minion is, its data, its machine, its desired state.

Made by the worker and by `saltern call`, which give makers, not values: grains, pillar and files are had when a
function first asks for them, so that `test.ping` costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from minion.config.groups import DEFAULT_OPTIONS, MinionOptions
from minion.execution.loader import Modules
from minion.machine.durable_files import write_durably
from minion.spool.grains_request import request_collection

if TYPE_CHECKING:
    from extmods.loader import UserModules
    from extmods.store import ModuleStore
    from highstate.run.ports import Journal, RunHooks
    from highstate.types import Chunk, Compiled, Files
    from minion.machine.machine import LocalMachine
    from minion.providers.vault.of_minion import MinionVault
    from minion.spool.state_queue import StateQueue
    from wire.messages import FactAnswer, FilePushed, PublishCall, Published, PushFile, Refused


class LowstateSource(Protocol):
    """Where lowstates come from: compiled here from file_roots, or held from the controller."""

    def highstate(self, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """What the top file gives this minion."""

    def sls(self, names: Sequence[str], saltenv: str, pillar_override: Mapping[str, Any] | None) -> Compiled:
        """These SLS alone."""

    def around(self, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """The lowstate that `sls` took these from, for requisites on what is outside; empty where it compiled them."""


@dataclass(kw_only=True)
class Context:
    """One call's surroundings."""

    minion_id: str
    options: MinionOptions = DEFAULT_OPTIONS
    """The minion's configuration, for functions."""
    opts: Mapping[str, Any] = field(default_factory=dict)
    """The same in Salt's shape (`minion.config.salt_opts`), for templates, extension modules and `config.get`."""
    make_grains: Callable[[], Mapping[str, Any]] = dict
    make_pillar: Callable[[], Mapping[str, Any]] = dict
    make_files: Callable[[], Files] | None = None
    """The tree of `salt://`; None: an empty one."""
    make_compiler: Callable[[], LowstateSource] | None = None
    state_queue: StateQueue | None = None
    """Taken while states run, so that no two runs overlap; None: within a run, or where nobody else runs any."""
    failhard: bool = False
    backup_dir: str = ""
    """Where copies are kept of files that states overwrite or delete; empty: nowhere."""
    run_id: str = ""
    """Of the run that this is; empty: it has none."""
    cachedir: str = ""
    """Where user modules are kept; empty: in memory."""
    config_dir: str = ""
    """Where the configuration lies: static grains and schedules are kept beside it. Empty: nowhere."""
    fire: Callable[[str, Mapping[str, Any]], str] | None = None
    """Takes an event, tag and data, and says why not, if it does not; None: there is nobody to send it to."""
    ask_mine: Callable[[str], FactAnswer] | None = None
    """Asks the controller what others have (`GetMine.asked`); None: there is no controller."""
    publish: Callable[[PublishCall], Published | Refused] | None = None
    """Has others called, by the controller; None: there is no controller."""
    push: Callable[[PushFile], FilePushed | Refused] | None = None
    """Sends a piece of a file for the controller to keep; None: there is no controller."""
    tree_has_modules: Callable[[], bool] | None = None
    """Whether the tree has modules for minions; None: it has to be asked."""
    journal: Journal | None = None
    """What keeps the results of states, where the call is resumed when it is cut off."""
    make_run_hooks: Callable[[], RunHooks] | None = None
    """What runs of states have besides."""
    read_again: Callable[[str], Mapping[str, Any]] | None = None
    """Gives `grains` or `pillar` as they are by now; None: the makers do."""

    asker: str = ""
    """The minion that has this called (`publish.publish`), as the controller says; empty: nobody, or a person."""

    certificates_path: str = ""
    """The folder of authorities that `tls.set_ca_path` has set; empty: that of the configuration."""

    retcode: int = 0
    """Exit code of the command that was run last, for `--retcode-passthrough`."""
    testing: bool = False
    """Whether the run of states that goes on is one under test=True."""

    @cached_property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The execution functions by full name, as templates call them."""
        return Modules(self).as_functions()

    @cached_property
    def module_store(self) -> ModuleStore:
        """The modules that came with the tree, on disk."""
        from extmods.store import ModuleStore

        return ModuleStore(self.cachedir, self.options.modules, write=write_durably)

    @cached_property
    def user_modules(self) -> UserModules:
        """The modules that came with the tree, loaded."""
        from minion.execution.tree_modules import ImportedFunctions, user_modules_of

        return user_modules_of(self, self.module_store, ImportedFunctions(Context(minion_id="")))

    def has_user_modules(self) -> bool:
        """Whether any were synced, as far as the disk or this process knows."""
        if "user_modules" in self.__dict__:
            return bool(self.user_modules.store.index())
        if any(self.options.modules):
            return True
        return bool(self.cachedir) and os.path.exists(f"{self.cachedir}/usermodules/index.json")  # noqa: PTH110

    def sync_user_modules(
        self, kinds: Sequence[str], saltenv: str = "base", chosen: Callable[[str, str], bool] = lambda *_: True
    ) -> dict[str, list[str]]:
        """Take the user modules of the tree as they are now, of those that are `chosen`; what changed."""
        changed = self.module_store.sync(self.files, kinds, saltenv, chosen)
        if any(changed.values()):
            self.user_modules.forget()
        if changed.get("grains"):
            self.reload("grains")
            self.ask_for_grains()
        return changed

    def reload(self, what: str) -> None:
        """Look again at `grains`, `pillar` or `modules`, for whatever comes after in this process."""
        if what == "modules":
            self.module_store.look_again()
            self.user_modules.forget()
            return
        if self.read_again is not None:
            self._see(what, self.read_again(what))
        else:
            self._see(what, self.make_grains() if what == "grains" else self.make_pillar())

    def see_grains(self, grains: Mapping[str, Any]) -> None:
        """These are the grains, for whatever comes after in this process."""
        self._see("grains", grains)

    def ask_for_grains(self) -> None:
        """Have the agent collect its grains anew, where there is one."""
        if self.cachedir and os.path.isdir(self.cachedir):  # noqa: PTH112
            request_collection(Path(self.cachedir))

    def _see(self, what: str, value: Mapping[str, Any]) -> None:
        self.__dict__[what] = value
        for machine in self._machines:
            setattr(machine, what, value)

    @cached_property
    def _machines(self) -> list[LocalMachine]:
        return []

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
        from highstate.files import MemoryFiles  # not needed to start: it brings the types of the language

        return MemoryFiles({})

    @cached_property
    def machine(self) -> LocalMachine:
        """The machine, with the pillar of this minion."""
        return self.machine_with(self.pillar)

    @cached_property
    def signing_policies(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Of authorities, by authority and name: they are asked once for as long as this call goes on."""
        return {}

    @cached_property
    def vault(self) -> MinionVault:
        """The server of secrets as this minion sees it: its token is kept for as long as this call goes on."""
        from minion.providers.vault.of_minion import MinionVault

        return MinionVault(self.options.vault.own, self.publish)

    def machine_with(self, pillar: Mapping[str, Any]) -> LocalMachine:
        """The machine as a run with this pillar sees it."""
        from minion.machine.machine import LocalMachine

        machine = LocalMachine(
            sources_port=self.files,
            minion_id=self.minion_id,
            grains=self.grains,
            pillar=pillar,
            opts=self.opts,
            functions=self.functions,
            cachedir=self.cachedir,
        )
        self._machines.append(machine)
        return machine
