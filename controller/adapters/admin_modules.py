"""The administrator's own Python: external pillars, tops and runners from `extension_modules` and `module_dirs`.

Made by `compile_ports`; used in the controller (`port_calls`) and by offline tools. How they are loaded and called is
`extmods.plugins`. They run with all rights of the controller, so nothing of a git tree is ever loaded here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from extmods.plugins import PluginPillar, Plugins, PluginTops, WithPlugins
from highstate.ports import PillarSource, TopSource
from minion.execution.module_host import MinionHost

KINDS = ("engines", "modules", "pillar", "runners", "tops", "utils")
"""Folders that are looked into: `KIND` or `_KIND`."""


class FolderStore:
    """Modules of some folders by content (`extmods.ports.ModuleSources`); a folder named first wins.

    `engines_dirs` have engines in them, and go before the others.
    """

    def __init__(self, folders: Sequence[Path], engines_dirs: Sequence[Path] = ()) -> None:
        self._folders = folders
        self._engines_dirs = engines_dirs
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

    def _files(self, kind: str) -> Iterator[tuple[str, str, Path, tuple[int, int, int]]]:
        places = [folder / below for folder in self._folders for below in (kind, f"_{kind}")]
        for place in [*(self._engines_dirs if kind == "engines" else ()), *places]:
            for path in sorted(place.glob("*.py")) + sorted(place.glob("*/__init__.py")):
                name = path.parent.name if path.name == "__init__.py" and path.parent != place else path.stem
                if name.isidentifier() and name != "__init__":
                    status = path.stat()
                    yield kind, name, path, (status.st_ino, status.st_mtime_ns, status.st_size)


def admin_plugins(folders: Sequence[Path], opts: Mapping[str, Any]) -> Plugins:
    """The modules of these folders; they may call all execution functions. `opts`: what `__opts__` holds."""
    return Plugins(store=FolderStore(folders), host=MinionHost(), opts=opts)


def with_pillars(built_in: Mapping[str, PillarSource], plugins: Plugins) -> Mapping[str, PillarSource]:
    """External pillars, those of plugins too."""
    return WithPlugins("pillar", built_in, plugins, PluginPillar)


def with_tops(built_in: Mapping[str, TopSource], plugins: Plugins) -> Mapping[str, TopSource]:
    """External tops, those of plugins too."""
    return WithPlugins("tops", built_in, plugins, PluginTops)
