"""Modules that a compile calls: external pillars, tops and runners, with Salt's dunders for the current minion.

Used by `controller.adapters.admin_modules` for the administrator's own and by `extmods.compile_modules` for those of a
tree. A broken module is named when it is asked for, and hides no other. The caller decides which modules are loaded,
and in which process.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from extmods.dunders import ModuleScope, dunders_of
from extmods.loader import UserModules, place_of
from extmods.plain_data import plain
from extmods.ports import ImportableFunctions, ModuleSources
from highstate.ports import SourceFailed
from highstate.types import Minion, Value

_NOBODY = Minion(id="", grains={})


class ModuleHost(Protocol):
    """The process that calls the modules, as far as they may call it."""

    @property
    def imports(self) -> ImportableFunctions:
        """What `import salt.modules.*` gives."""

    def scope(
        self, modules: UserModules, minion: Minion, opts: Mapping[str, Any], pillar: Mapping[str, Value]
    ) -> ModuleScope:
        """What the dunders show of a minion; functions of `modules` come before built-in ones."""


@dataclass(slots=True, kw_only=True)
class Plugins:
    """The modules of a store. One is called at a time: their namespaces have the dunders of one minion."""

    store: ModuleSources
    host: ModuleHost
    opts: Mapping[str, Any] = field(default_factory=dict)
    """What `__opts__` holds besides the minion's id, grains and pillar."""
    minion: Minion = _NOBODY
    """The minion of the dunders while modules are loaded."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _modules: UserModules | None = None
    _index: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def names(self, kind: str) -> list[str]:
        """Names of the modules of a kind, broken ones too."""
        with self._lock:
            modules = self._current()
            loaded = set(modules.loaded(kind))  # first: only then is it known which are broken
            broken = (name.removeprefix(f"{kind}.") for name in modules.failures if name.startswith(f"{kind}."))
            return sorted({*loaded, *broken})

    def call(
        self,
        kind: str,
        fun: str,
        minion: Minion,
        pillar: Mapping[str, Value],
        arguments: Callable[[Any], Any],
        dunders: Mapping[str, Any] | None = None,
    ) -> Value:
        """What `module.function` gives, as plain data. `arguments` calls it. SourceFailed for whatever goes wrong.

        `dunders` are laid over those that are made of the minion.
        """
        with self._lock:
            modules = self._current()
            name, _, function = fun.partition(".")
            one = modules.loaded(kind).get(name)
            if one is None:
                raise SourceFailed(modules.failures.get(f"{kind}.{name}", "there is no such module"))
            found = one.functions.get(function)
            if found is None:
                raise SourceFailed(f"the module {name} has no function {function}")
            modules.bind({**self._dunders(modules, minion, pillar), **(dunders or {})})
            try:
                return plain(arguments(found.call))
            except SourceFailed:
                raise
            except (Exception, SystemExit) as error:  # code that is not ours may raise anything
                place = place_of(error, f"_{kind}/")
                raise SourceFailed(f"{type(error).__name__}: {error}{place}") from error

    def source(self, kind: Literal["pillar", "tops"], name: str) -> PluginPillar | PluginTops:
        """A module as a source of pillar or tops."""
        return PluginPillar(self, name) if kind == "pillar" else PluginTops(self, name)

    def _current(self) -> UserModules:
        """The modules, loaded anew when a file has changed."""
        if self._modules is None:
            self._modules = UserModules(store=self.store, dunders=dict, imports=self.host.imports, quiet=True)
            self._modules.bind(self._dunders(self._modules, self.minion, {}))
        index = {kind: dict(names) for kind, names in self.store.index().items()}
        if index != self._index:
            self._index = index
            self._modules.forget()
        return self._modules

    def _dunders(self, modules: UserModules, minion: Minion, pillar: Mapping[str, Value]) -> dict[str, Any]:
        return dunders_of(modules, self.host.scope(modules, minion, self.opts, pillar))


@dataclass(frozen=True, slots=True)
class PluginPillar:
    """A module with `ext_pillar` as a source."""

    plugins: Plugins
    name: str

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """`ext_pillar(minion_id, pillar, …)`, with a mapping's or a list's arguments spread, as Salt does."""

        def call(function: Any) -> Any:
            takes = inspect.signature(function).parameters
            extra: dict[str, Any] = {"extra_minion_data": {}} if "extra_minion_data" in takes else {}
            if isinstance(arguments, dict):
                return function(minion.id, dict(pillar), **extra, **arguments)
            given = arguments if isinstance(arguments, list) else [arguments]
            return function(minion.id, dict(pillar), *given, **extra)

        found = self.plugins.call("pillar", f"{self.name}.ext_pillar", minion, pillar, call)
        if not found:
            return {}
        if not isinstance(found, Mapping):
            raise SourceFailed(f"it gave a {type(found).__name__}, not a mapping")
        return found


@dataclass(frozen=True, slots=True)
class PluginTops:
    """A module with `top` as a source."""

    plugins: Plugins
    name: str

    def tops(self, minion: Minion, arguments: Value) -> Mapping[str, list[str]]:
        """`top(opts=…, grains=…)`; the entry is in `__opts__['master_tops']`, where such modules look."""
        opts = {**self.plugins.opts, "id": minion.id, "master_tops": {self.name: arguments}}

        def call(function: Any) -> Any:
            function.__globals__["__opts__"]["master_tops"] = {self.name: arguments}
            return function(opts=opts, grains=dict(minion.grains))

        found = self.plugins.call("tops", f"{self.name}.top", minion, {}, call)
        if not isinstance(found or {}, Mapping):
            raise SourceFailed(f"it gave a {type(found).__name__}, not a mapping")
        return {str(saltenv): names for saltenv, names in (found or {}).items()}


_Source = TypeVar("_Source")


class WithPlugins(Mapping[str, _Source]):
    """Sources that are built in, and before them those of plugins of a kind, by name: as these are now."""

    def __init__(
        self, kind: str, built_in: Mapping[str, _Source], plugins: Plugins, make: Callable[[Plugins, str], _Source]
    ) -> None:
        self._kind = kind
        self._built_in = built_in
        self._plugins = plugins
        self._make = make

    def __getitem__(self, name: str) -> _Source:
        return self._make(self._plugins, name) if name in self._plugins.names(self._kind) else self._built_in[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._built_in, *self._plugins.names(self._kind)]))

    def __len__(self) -> int:
        return len(list(iter(self)))
