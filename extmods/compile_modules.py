"""Python of a tree that its compile runs: `_renderers`, `_pillar`, `_tops` and `_runners`, and the `_utils` they call.

It is code of authors of the tree, like `#!py`, and runs where that does: in the sandboxed compile worker, offline tools
and `saltern call --local`, under `allow_py_renderer`, and never in the controller's own process. Modules are loaded
anew for each compile, so that a minion sees nothing that another left behind. The tree is listed, and the loader
imported, when a module is first needed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from highstate.ports import CompilePorts, Fact, Facts, SourceFailed
from highstate.types import NOT_RUN, Files, Minion, Value

if TYPE_CHECKING:
    from extmods.plugins import ModuleHost, Plugins

_KINDS = ("engines", "modules", "pillar", "renderers", "runners", "tops", "utils")
"""Folders `_KIND` of a tree; `modules` and `utils` serve the others; `engines` are run by the controller alone."""
_RUNNER = "saltutil.runner"


class TreeModules:
    """The modules of a tree by content (`plugins.Sources`): those of `base`, and over them those of a saltenv."""

    def __init__(self, files: Files, saltenv: str) -> None:
        self._files = files
        self._saltenv = saltenv
        self._places: dict[str, tuple[str, str]] = {}
        self._index: dict[str, dict[str, str]] | None = None

    def index(self) -> Mapping[str, Mapping[str, str]]:
        """Kind -> module -> content id."""
        if self._index is None:  # most compiles need none
            self._index = {kind: found for kind in _KINDS if (found := dict(self._found(kind)))}
        return self._index

    def source(self, oid: str) -> bytes:
        """A content."""
        path, saltenv = self._places[oid]
        return self._files.read(path, saltenv)

    def _found(self, kind: str) -> Iterator[tuple[str, str]]:
        for env in dict.fromkeys(("base", self._saltenv)):
            for path in self._files.list(f"_{kind}", env):
                name = path.removeprefix(f"_{kind}/").removesuffix(".py").removesuffix("/__init__")
                oid = self._files.oid(path, env)
                if path.endswith(".py") and name.isidentifier() and name != "__init__" and oid:
                    self._places[oid] = (path, env)
                    yield name, oid


@dataclass(slots=True)
class Tree:
    """The modules of a tree, listed once for all minions that are compiled from it."""

    files: Files
    _found: dict[str, TreeModules] = field(default_factory=dict)

    def modules(self, saltenv: str) -> TreeModules:
        """Those of a saltenv."""
        if saltenv not in self._found:
            self._found[saltenv] = TreeModules(self.files, saltenv)
        return self._found[saltenv]


@dataclass(slots=True, kw_only=True)
class CompileModules:
    """The modules of a tree for one compile; `highstate.ports.Renderers` is one part of it."""

    tree: Tree
    minion: Minion
    opts: Mapping[str, Any]
    """What `__opts__` holds: the options of the compile, with those that say what may be run."""
    host: ModuleHost | None = None
    """What the modules may call; None: what a compile may (`compile_functions`)."""
    _plugins: dict[str, Plugins] = field(default_factory=dict)

    def over(self, ports: CompilePorts) -> CompilePorts:
        """The ports, and after them the modules of the tree."""
        # Facts where there were none would say that other functions can be asked for, too.
        asks = ports.facts is not None or "runners" in self.tree.modules("base").index()
        return replace(
            ports,
            renderers=self,
            facts=_WithRunners(ports.facts, self) if asks else None,
            pillar_sources=_Behind(ports.pillar_sources, self, "pillar"),
            top_sources=_Behind(ports.top_sources, self, "tops"),
        )

    def names(self, kind: Literal["pillar", "tops"]) -> list[str]:
        """Names of the sources of a kind, also of those that may not be run."""
        if not self._allowed:
            return sorted(self.tree.modules("base").index().get(kind, ()))
        return self._of("base").names(kind)

    def source(self, kind: Literal["pillar", "tops"], name: str) -> Any:
        """A source of the tree; KeyError when there is none."""
        if name not in self.names(kind):
            raise KeyError(name)
        if not self._allowed:
            return _SwitchedOff(kind, name)
        return self._of("base").source(kind, name)

    def has(self, name: str, saltenv: str) -> bool:
        """See `Renderers`."""
        files = self.tree.modules(saltenv).index().get("renderers", ())
        if not self._allowed:
            return name in files
        return bool(files) and name in self._of(saltenv).names("renderers")

    def render(
        self, name: str, saltenv: str, data: Value, dunders: Mapping[str, Value], arguments: Mapping[str, Value]
    ) -> Value:
        """See `Renderers`."""

        def call(function: Any) -> Any:
            named = {key: value for key, value in arguments.items() if key != "sls"}
            made = function(io.StringIO(data) if isinstance(data, str) else data, saltenv, arguments["sls"], **named)
            return made.read() if hasattr(made, "read") else made

        pillar = dunders["__pillar__"]
        return self._of(saltenv).call("renderers", f"{name}.render", self.minion, pillar, call, dunders)

    def make_importable(self) -> None:
        """See `Renderers`."""
        from extmods.salt_compat.finder import install_finder

        install_finder(self._host.imports)

    @property
    def _host(self) -> ModuleHost:
        from extmods.compile_functions import CompileHost  # with what loads modules 2 MiB, 18 ms: most trees have none

        return self.host or CompileHost(self.tree.files)

    def run(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Fact | None:
        """What a runner of the tree gives to `saltutil.runner`; None where there is no such runner."""
        try:
            name, given, named = runner_call(args, kwargs)
            if name.partition(".")[0] not in self.tree.modules("base").index().get("runners", ()):
                return None
            if not self._allowed:
                raise SourceFailed(_switched_off("runners", name.partition(".")[0]))
            value = self._of("base").call("runners", name, self.minion, {}, lambda runner: runner(*given, **named))
            return Fact(value=value)
        except SourceFailed as failed:
            return Fact(error=f"cannot be answered: {failed}")

    @property
    def _allowed(self) -> bool:
        return bool(self.opts.get("allow_py_renderer", True))

    def _of(self, saltenv: str) -> Plugins:
        from extmods.plugins import Plugins

        if saltenv not in self._plugins:
            self._plugins[saltenv] = Plugins(
                store=self.tree.modules(saltenv), host=self._host, opts=self.opts, minion=self.minion
            )
        return self._plugins[saltenv]


@dataclass(frozen=True, slots=True)
class _Behind(Mapping[str, Any]):
    """Sources by name: those of `ahead`, and for other names those of the tree."""

    ahead: Mapping[str, Any]
    programs: CompileModules
    kind: Literal["pillar", "tops"]

    def __getitem__(self, name: str) -> Any:
        return self.ahead[name] if name in self.ahead else self.programs.source(self.kind, name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.ahead, *self.programs.names(self.kind)]))

    def __len__(self) -> int:
        return len(list(iter(self)))


@dataclass(frozen=True, slots=True)
class _WithRunners:
    """`Facts`, and runners of the tree where `facts` has none."""

    facts: Facts | None
    programs: CompileModules

    def answer(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Fact | None:
        """See `Facts`."""
        found = self.facts.answer(fun, args, kwargs) if self.facts is not None else None
        if fun != _RUNNER or (found is not None and not found.absent):
            return found
        return self.programs.run(args, kwargs) or found


@dataclass(frozen=True, slots=True)
class _SwitchedOff:
    """Stands for a source that may not be run."""

    kind: str
    name: str

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """See `PillarSource`."""
        raise SourceFailed(_switched_off(self.kind, self.name))

    def tops(self, minion: Minion, arguments: Value) -> Mapping[str, list[str]]:
        """See `TopSource`."""
        raise SourceFailed(_switched_off(self.kind, self.name))


def _switched_off(kind: str, name: str) -> str:
    return f"_{kind}/{name}.py is {NOT_RUN}; see the option allow_py_renderer"


def runner_call(args: Sequence[Value], kwargs: Mapping[str, Value]) -> tuple[str, list[Any], dict[str, Any]]:
    """Name and arguments of the runner out of the arguments of `saltutil.runner`; SourceFailed where they make none."""
    given = dict(zip(("name", "arg", "kwarg"), args, strict=False)) | dict(kwargs)
    if len(args) > 3 or not isinstance(given.get("name"), str):
        raise SourceFailed("saltutil.runner takes the name of a runner, `arg` and `kwarg`")
    name, arg, kwarg = given.pop("name"), given.pop("arg", None), given.pop("kwarg", None)
    if given.pop("full_return", False) or given.pop("asynchronous", False):
        raise SourceFailed("full_return and asynchronous are not taken")
    for unused in ("saltenv", "jid", "full_return", "asynchronous"):
        given.pop(unused, None)
    named = {**given, **(kwarg if isinstance(kwarg, Mapping) else {})}
    listed = arg if isinstance(arg, list) else [] if arg is None else [arg]
    return name, listed, {key: value for key, value in named.items() if not key.startswith("__")}
