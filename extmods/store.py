"""User modules on a minion's disk, by content address.

    cachedir/usermodules/index.json    kind -> module -> content id
                         <id>.py       contents

Written by `sync`, which `saltutil.sync_*` and state runs call; read by the loader. Without a folder (a masterless call
of somebody who may not write there) it holds them in memory. Modules in folders of the machine (`module_dirs`) stand
before and behind those of the tree, and are read where they lie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from extmods.folders import ModuleFolders, above, below
from extmods.ports import FileWriter
from highstate.types import Files

KINDS = ("beacons", "grains", "modules", "returners", "states", "utils")
"""Those that a minion loads; folder `_KIND` of a tree."""

SALTENV = "base"
"""Whose modules minions take."""

Index = dict[str, dict[str, str]]

_FILE = re.compile(r"(\w[\w-]*)(?:\.py|/__init__\.py)", re.ASCII)


def modules_of(files: Files) -> dict[str, str]:
    """Path -> oid of the modules that a tree has for minions, of every kind."""
    paths = (path for kind in KINDS for path in files.list(f"_{kind}", SALTENV))
    return {path: files.oid(path, SALTENV) or "" for path in paths if path.endswith(".py")}


_NO_FOLDERS = ModuleFolders()


class ModuleStore:
    """The modules of the last sync."""

    def __init__(self, cachedir: str, folders: ModuleFolders = _NO_FOLDERS, *, write: FileWriter) -> None:
        """`cachedir`: empty for none. `folders`: those of the machine."""
        self._write_file = write
        self._folders = folders
        self._whole: Index | None = None
        self._folder = Path(cachedir) / "usermodules" if cachedir else None
        self._index: Index | None = None
        self._memory: dict[str, bytes] = {}

    def index(self) -> Index:
        """Kind -> module -> content id."""
        if self._whole is None:
            self._whole = self._with_folders(self._kept())
        return self._whole

    def look_again(self) -> None:
        """Read the folders of the machine again at the next question."""
        self._whole = None

    def _kept(self) -> Index:
        """The modules of the tree."""
        if self._index is None:
            self._index = self._read()
        return self._index

    def _with_folders(self, kept: Index) -> Index:
        if not any(self._folders):
            return kept
        return {
            kind: {
                **self._held(below(self._folders, kind)),
                **kept.get(kind, {}),
                **self._held(above(self._folders, kind)),
            }
            for kind in KINDS
        }

    def _held(self, modules: Mapping[str, Path]) -> dict[str, str]:
        """Read them into memory; a file that cannot be read counts as none."""
        held: dict[str, str] = {}
        for name, path in modules.items():
            with suppress(OSError):
                data = path.read_bytes()
                held[name] = blake2b(data, digest_size=20).hexdigest()
                self._memory[held[name]] = data
        return held

    def source(self, oid: str) -> bytes:
        """A content; FileNotFoundError when it was removed."""
        if oid in self._memory:
            return self._memory[oid]
        if self._folder is None:
            raise FileNotFoundError(oid)
        return (self._folder / f"{oid}.py").read_bytes()

    def sync(
        self,
        files: Files,
        kinds: Iterable[str] = KINDS,
        saltenv: str = "base",
        chosen: Callable[[str, str], bool] = lambda kind, name: True,
    ) -> dict[str, list[str]]:
        """Take the modules of the tree that are `chosen` by kind and name, and drop all others.

        Returns, by kind, the modules that are new, changed or gone (`modules.name`).
        """
        old, new = self._kept(), dict(self._kept())
        for kind in kinds:
            new[kind] = self._synced(files, kind, saltenv, chosen)
        changed = {kind: _differing(kind, old.get(kind, {}), new.get(kind, {})) for kind in kinds}
        if new != old:
            self._index, self._whole = new, None
            self._write_index(new)
        return changed

    def _synced(self, files: Files, kind: str, saltenv: str, chosen: Callable[[str, str], bool]) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in files.list(f"_{kind}", saltenv):
            match = _FILE.fullmatch(path.removeprefix(f"_{kind}/"))
            oid = files.oid(path, saltenv) if match and chosen(kind, match[1]) else None
            if match and oid:
                if not self._has(oid):
                    self._keep(oid, files.read(path, saltenv))
                found[match[1]] = oid
        return found

    def _has(self, oid: str) -> bool:
        return oid in self._memory or (self._folder is not None and (self._folder / f"{oid}.py").exists())

    def _keep(self, oid: str, data: bytes) -> None:
        self._memory[oid] = data
        if self._folder is not None and self._prepared(self._folder):
            self._write_file(self._folder / f"{oid}.py", data)

    def _prepared(self, folder: Path) -> bool:
        """Whether the folder can be written; if not, contents stay in memory from now on."""
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            return True
        except OSError:
            self._folder = None
            return False

    def _read(self) -> Index:
        if self._folder is None:
            return {}
        try:
            read = json.loads((self._folder / "index.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return read if isinstance(read, dict) else {}

    def _write_index(self, index: Index) -> None:
        if self._folder is None or not self._prepared(self._folder):
            return
        if any(index.values()):
            self._write_file(self._folder / "index.json", json.dumps(index).encode())
        else:  # whether it is there says whether there are modules (`Context.has_user_modules`)
            (self._folder / "index.json").unlink(missing_ok=True)
        kept = {oid for modules in index.values() for oid in modules.values()}
        for path in self._folder.glob("*.py"):
            if path.stem not in kept:
                path.unlink(missing_ok=True)


def _differing(kind: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [f"{kind}.{name}" for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
