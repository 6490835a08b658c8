"""The composition root of `saltern call`: what an execution function works with, from options and configuration.

Called by `minion.call.call`. Everything is made on first use and imported then, since the start of this process is what
a person waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minion.call.options import CallOptions
from minion.config.salt_opts import salt_opts
from minion.config.settings import MinionSettings
from minion.execution import CallFailed, Context, Modules
from minion.spool.state_queue import StateQueue

if TYPE_CHECKING:
    from highstate.run.ports import RunHooks
    from highstate.types import Files
    from minion.execution import LowstateSource
    from minion.execution.lowstate_sources import RootsCompiler
    from minion.spool.files import Controller
    from wire.messages import FilePushed, PublishCall, Published, PushFile, Refused


@dataclass(frozen=True)
class LocalMinion:
    """The parts that a call works with, made from options and configuration on first use."""

    options: CallOptions
    settings: MinionSettings

    def context(self) -> Context:
        """What the function works with; each part is made when it is first asked for."""
        local = self.options.local or self.settings.file_client == "local"
        return Context(
            minion_id=self.settings.id,
            options=self.settings.options,
            opts=salt_opts(self.settings, local=local),
            make_grains=lambda: self.grains,
            read_again=lambda what: self.grains_again() if what == "grains" else self.pillar_again(local),
            make_pillar=self.local_pillar if local else lambda: self.held.pillar,
            make_files=(lambda: self.roots) if local else self.held_files,
            make_compiler=self.roots_compiler if local else self.held_compiler,
            state_queue=StateQueue(self.settings.cachedir, self.options.fun),
            failhard=self.settings.failhard,
            backup_dir=str(self.settings.cachedir / "file_backup"),
            cachedir=str(self.settings.cachedir),
            config_dir=str(self.settings.config_dir),
            tree_has_modules=self.roots_have_modules if local else lambda: bool(self.held.modules),
            make_run_hooks=self.run_hooks,
            fire=self.fire,
            publish=None if local else self.publish,
            push=None if local else self.push,
        )

    def publish(self, question: PublishCall) -> Published | Refused:
        """Have the controller call others (`publish.publish`), by way of the agent of this machine."""
        from minion.spool.files import answer_of
        from wire.messages import Published

        return answer_of(self.controller, question, Published)

    def push(self, piece: PushFile) -> FilePushed | Refused:
        """Have the controller keep a piece of a file (`cp.push`), by way of the agent of this machine."""
        from minion.spool.files import answer_of
        from wire.messages import FilePushed

        return answer_of(self.controller, piece, FilePushed)

    def fire(self, tag: str, data: Mapping[str, Any]) -> str:
        """Give an event to the agent of this machine; why it is not sent, if it is not."""
        from minion.spool.minion_events import EventNotQueued, EventQueue

        queue = EventQueue(self.settings.cachedir, self.settings.id)
        if not queue.has_agent():
            way = f"start `saltern minion`, or send it by `saltern run {self.settings.id} event.send {tag}`"
            return f"no agent runs on this machine with the cache {self.settings.cachedir}; {way}"
        try:
            queue.add((tag, data))
        except EventNotQueued as error:
            return str(error)
        return ""

    @cached_property
    def grains(self) -> Mapping[str, Any]:
        """Grains of this machine; none with --skip-grains."""
        if self.options.skip_grains:
            return {}
        from minion.grains.minion_grains import known_grains

        return known_grains(self.settings)

    @cached_property
    def roots(self) -> Files:
        """The tree of states."""
        return _tree(self.options.file_root, self.settings.file_roots, "/srv/saltern/states")

    def roots_have_modules(self) -> bool:
        """Whether the tree has modules for this minion."""
        from extmods.store import modules_of

        return bool(modules_of(self.roots))

    @cached_property
    def pillar_roots(self) -> Files:
        """The tree of pillars."""
        return _tree(self.options.pillar_root, self.settings.pillar_roots, "/srv/saltern/pillar")

    def roots_compiler(self) -> RootsCompiler:
        """Compiles from these trees."""
        return self._compiler_seeing(self.local_pillar)

    def _compiler_seeing(self, make_pillar: Callable[[], Mapping[str, Any]]) -> RootsCompiler:
        """Compiles; the functions that templates call see this pillar."""
        from highstate.types import Minion
        from minion.config.language import compile_options
        from minion.execution.lowstate_sources import RootsCompiler

        minion = Minion(id=self.settings.id, grains=self.grains)
        return RootsCompiler(
            files=self.roots,
            pillar_files=self.pillar_roots,
            minion=minion,
            language=compile_options(salt_opts(self.settings, local=True)),
            options=self.settings.options,
            make_modules=lambda: Modules(replace(self.context(), make_pillar=make_pillar)),
        )

    def grains_again(self) -> Mapping[str, Any]:
        """Grains, collected anew."""
        from minion.grains.minion_grains import collect_grains

        self.__dict__["grains"] = found = collect_grains(self.settings)
        return found

    def pillar_again(self, local: bool) -> Mapping[str, Any]:
        """The pillar, compiled anew when `local`."""
        self.__dict__.pop("pillar_roots", None)
        return self.local_pillar() if local else self.held.pillar

    def local_pillar(self) -> Mapping[str, Any]:
        """The pillar, compiled from its tree."""
        return self._compiler_seeing(dict).pillar()

    @cached_property
    def held(self) -> Any:
        """The desired state that the controller sent; CallFailed when there is none."""
        from minion.spool.desired_state import FILE_NAME, read_document

        path = self.settings.cachedir / FILE_NAME
        try:
            return read_document(path).desired
        except FileNotFoundError:
            raise CallFailed(
                f"this minion holds no desired state yet ({path}): start `saltern minion`, or compile here with --local"
            ) from None
        except PermissionError:
            raise CallFailed(f"{path} is not yours to read: run this as the user that the minion runs as") from None
        except (OSError, ValueError) as error:
            raise CallFailed(f"{path} cannot be read: {error}") from error

    def held_files(self) -> Files:
        """Files of the controller's desired state."""
        from minion.execution.lowstate_sources import held_files

        return held_files(self.held, self.settings.cachedir, self.controller)

    def held_compiler(self) -> LowstateSource:
        """Lowstates of the controller's desired state."""
        from minion.execution.lowstate_sources import HeldCompiler

        return HeldCompiler(minion_id=self.settings.id, desired=self.held, controller=self.controller)

    @property
    def controller(self) -> Controller:
        """The controller, by way of the agent of this machine."""
        from minion.spool.call_questions import AgentQuestions

        return AgentQuestions(self.settings.cachedir, self.settings.id)

    def run_hooks(self) -> RunHooks:
        """Threads, and the triggers that are owed, where there is a cache to keep them in."""
        from minion.spool.triggers import TriggerFile
        from minion.worker.run_hooks import run_hooks
        from minion.worker.termination import Stop

        there = self.settings.cachedir.is_dir()
        stop = Stop(self.settings.stop_grace, has_agent=False)
        stop.install()
        return run_hooks(self.settings.options.state, TriggerFile(self.settings.cachedir) if there else None, stop)


def _tree(given: Sequence[str], configured: Mapping[str, Sequence[str]], default: str) -> Files:
    from gitfs.errors import GitfsError
    from gitfs.tree.snapshot import directory_snapshot

    roots: Mapping[str, Sequence[str]] = {"base": list(given)} if given else configured
    missing = [folder for folder in given if not _folders(folder)]
    if missing:
        raise CallFailed(f"{missing[0]} is not a directory")
    roots = roots or {"base": [default]}
    there = {env: [str(found) for folder in folders for found in _folders(folder)] for env, folders in roots.items()}
    try:
        return directory_snapshot(there)
    except GitfsError as error:
        raise CallFailed(error.for_operator) from error


def _folders(folder: str) -> list[Path]:
    """The folders that one names: those that fit, when it is a pattern."""
    import glob

    named = glob.glob(folder) if glob.has_magic(folder) else [folder]  # noqa: PTH207
    return [Path(one).absolute() for one in named if Path(one).is_dir()]
