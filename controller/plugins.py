"""The administrator's own Python: external pillars, tops and runners from `extension_modules` and `module_dirs`.

Made by `compile_ports`; used in the controller (`port_calls`) and by offline tools. Modules get Salt's dunders from the
loader of `minion.usermodules`, with the minion at hand in them; one that is broken is named when it is asked for and
hides no other. They run with all rights of the controller, so nothing of a git tree is ever loaded here.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from highstate.ports import PillarSource, SourceFailed, TopSource
from highstate.types import Minion, Value
from minion.modules.context import Context
from minion.usermodules import UserModules
from minion.usermodules.dunders import dunders_of

KINDS = ("modules", "pillar", "runners", "tops", "utils")
"""Folders that are looked into: `KIND` or `_KIND`."""

_MOST_DEPTH = 100


class FolderStore:
    """Modules of some folders by content, as `UserModules` takes them; a folder named first wins."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._sources: dict[str, bytes] = {}
        self._seen: tuple[Any, ...] = ()
        self._index: dict[str, dict[str, str]] = {}

    def index(self) -> dict[str, dict[str, str]]:
        """Kind -> module -> content id, as the folders are now."""
        found = [one for kind in KINDS for one in self._files(kind)]
        seen = tuple((kind, path, status) for kind, _, path, status in found)
        if seen != self._seen:
            self._seen, self._sources, self._index = seen, {}, {}
            for kind, name, path, _ in found:
                data = path.read_bytes()
                oid = blake2b(data, digest_size=20).hexdigest()
                self._sources[oid] = data
                self._index.setdefault(kind, {}).setdefault(name, oid)
        return self._index

    def source(self, oid: str) -> bytes:
        """A content."""
        return self._sources[oid]

    def sync(self, *_: Any) -> dict[str, list[str]]:
        """Nothing is ever taken from a tree."""
        return {}

    def _files(self, kind: str) -> Iterator[tuple[str, str, Path, tuple[int, int, int]]]:
        for folder in self._folders:
            for below in (folder / kind, folder / f"_{kind}"):
                for path in sorted(below.glob("*.py")) + sorted(below.glob("*/__init__.py")):
                    name = path.parent.name if path.name == "__init__.py" and path.parent != below else path.stem
                    if name.isidentifier() and name != "__init__":
                        status = path.stat()
                        yield kind, name, path, (status.st_ino, status.st_mtime_ns, status.st_size)


@dataclass(slots=True, kw_only=True)
class Plugins:
    """The modules of some folders. One is called at a time: the minion at hand stands in their namespaces."""

    folders: Sequence[Path]
    opts: Mapping[str, Any] = field(default_factory=dict)
    """What `__opts__` holds besides the minion's id, grains and pillar."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _modules: UserModules | None = None
    _index: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def names(self, kind: str) -> list[str]:
        """Names of the modules of a kind, broken ones too."""
        with self._lock:
            modules = self._current()
            loaded = set(modules.loaded(kind))  # first: only then is it known which are broken
            return sorted({*loaded, *(name.partition(".")[2] for name in modules.failures if name.startswith(kind))})

    def call(
        self, kind: str, fun: str, minion: Minion, pillar: Mapping[str, Value], arguments: Callable[[Any], Any]
    ) -> Value:
        """What `module.function` gives, as plain data. `arguments` calls it. SourceFailed for whatever goes wrong."""
        with self._lock:
            modules = self._current()
            name, _, function = fun.partition(".")
            one = modules.loaded(kind).get(name)
            if one is None:
                raise SourceFailed(modules.failures.get(f"{kind}.{name}", "there is no such module"))
            found = one.functions.get(function)
            if found is None:
                raise SourceFailed(f"the module {name} has no function {function}")
            self._bind(modules, minion, pillar)
            try:
                return plain(arguments(found.call))
            except Exception as error:  # code that is not ours may raise anything
                raise SourceFailed(f"{type(error).__name__}: {error}") from error

    def _current(self) -> UserModules:
        """The modules, loaded anew when a file has changed."""
        if self._modules is None:
            self._modules = UserModules(store=FolderStore(self.folders), dunders=dict)  # type: ignore[arg-type]
        index = {kind: dict(names) for kind, names in self._modules.store.index().items()}
        if index != self._index:
            self._index = index
            self._modules.forget()
        return self._modules

    def _bind(self, modules: UserModules, minion: Minion, pillar: Mapping[str, Value]) -> None:
        """Have all modules see this minion."""
        context = Context(
            minion_id=minion.id, opts=self.opts, make_grains=lambda: minion.grains, make_pillar=lambda: pillar
        )
        context.__dict__["user_modules"] = modules
        dunders = dunders_of(context)
        modules.dunders = lambda: dunders
        for kind in KINDS:
            for one in modules.loaded(kind).values():
                one.module.__dict__.update(dunders)


@dataclass(frozen=True, slots=True)
class _PluginPillar:
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
class _PluginTops:
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
    """Sources that are built in, and before them those of plugins of a kind, by name: as the folders are now."""

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


def with_pillars(built_in: Mapping[str, PillarSource], plugins: Plugins) -> Mapping[str, PillarSource]:
    """External pillars, those of plugins too."""
    return WithPlugins("pillar", built_in, plugins, _PluginPillar)


def with_tops(built_in: Mapping[str, TopSource], plugins: Plugins) -> Mapping[str, TopSource]:
    """External tops, those of plugins too."""
    return WithPlugins("tops", built_in, plugins, _PluginTops)


def plain(value: Any, depth: int = _MOST_DEPTH) -> Value:
    """A value as YAML and msgpack know it; SourceFailed for what is none."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if depth == 0:
        raise SourceFailed(f"it gave data nested more than {_MOST_DEPTH} deep")
    if isinstance(value, Mapping):
        return {plain(key, depth - 1): plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth - 1) for one in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(one, depth - 1) for one in value), key=repr)
    for kind in (str, int, float):
        if isinstance(value, kind):  # a subclass, of an enumeration for example
            return kind(value)
    raise SourceFailed(f"it gave a {type(value).__name__}, which is no plain data")
