"""Modules that lie in folders of the machine and not in the tree: `module_dirs` and its like.

Called by `Store` and by the controller's plugins. Looks and reads; nothing is ever kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class ModuleFolders(NamedTuple):
    """Folders of the machine with modules, by the kind of module that lies in them."""

    modules: tuple[str, ...] = ()
    """Salt's `module_dirs`: also has folders of each kind in it, named as the kind."""
    beacons: tuple[str, ...] = ()
    grains: tuple[str, ...] = ()
    returners: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    utils: tuple[str, ...] = ()

    def of(self, kind: str) -> tuple[str, ...]:
        """Those that have modules of this kind alone."""
        match kind:
            case "beacons":
                return self.beacons
            case "grains":
                return self.grains
            case "returners":
                return self.returners
            case "states":
                return self.states
            case "utils":
                return self.utils
            case _:
                return self.modules


def modules_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of each module of a folder."""
    for path in sorted(folder.glob("*.py")) + sorted(folder.glob("*/__init__.py")):
        name = path.parent.name if path.name == "__init__.py" and path.parent != folder else path.stem
        if name.isidentifier() and name != "__init__":
            yield name, path


def above(folders: ModuleFolders, kind: str) -> dict[str, Path]:
    """Modules that go before those of the tree: `KIND` or `_KIND` in a folder of `module_dirs`, the last wins."""
    found: dict[str, Path] = {}
    for folder in map(Path, folders.modules):
        there = [below for below in (folder / kind, folder / f"_{kind}") if below.is_dir()]
        for below in there[:1]:
            found.update(modules_in(below))
    return found


def below(folders: ModuleFolders, kind: str) -> dict[str, Path]:
    """Modules that give way to those of the tree: the folders of the option of this kind, the first one wins."""
    found: dict[str, Path] = {}
    for folder in reversed(folders.of(kind)):
        found.update(modules_in(Path(folder)))
    return found
