"""Modules that lie in folders of the machine and not in the tree: `module_dirs` and its like.

Called by `Store` and by the controller's plugins. Looks and reads; nothing is ever kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_PLAIN = {
    "beacons": "beacons_dirs",
    "grains": "grains_dirs",
    "modules": "module_dirs",
    "returners": "returner_dirs",
    "states": "states_dirs",
    "utils": "utils_dirs",
}
"""Kind -> option that names folders of this kind alone."""


def modules_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of each module of a folder."""
    for path in sorted(folder.glob("*.py")) + sorted(folder.glob("*/__init__.py")):
        name = path.parent.name if path.name == "__init__.py" and path.parent != folder else path.stem
        if name.isidentifier() and name != "__init__":
            yield name, path


def configured(opts: Mapping[str, Any]) -> bool:
    """Whether a configuration names any folder of modules."""
    return any(opts.get(option) for option in _PLAIN.values())


def above(opts: Mapping[str, Any], kind: str) -> dict[str, Path]:
    """Modules that go before those of the tree: `KIND` or `_KIND` in a folder of `module_dirs`, the last wins."""
    found: dict[str, Path] = {}
    for folder in _folders(opts, "module_dirs"):
        there = [below for below in (folder / kind, folder / f"_{kind}") if below.is_dir()]
        for below in there[:1]:
            found.update(modules_in(below))
    return found


def below(opts: Mapping[str, Any], kind: str) -> dict[str, Path]:
    """Modules that give way to those of the tree: the folders of the option of this kind, the first one wins."""
    found: dict[str, Path] = {}
    for folder in reversed(_folders(opts, _PLAIN[kind])):
        found.update(modules_in(folder))
    return found


def _folders(opts: Mapping[str, Any], option: str) -> list[Path]:
    given = opts.get(option) or []
    return [Path(str(one)) for one in ([given] if isinstance(given, str) else given)]
