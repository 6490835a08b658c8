"""`file_tree`: files below `root_dir/hosts/ID` and `root_dir/nodegroups/NAME` as pillar: folders are mappings.

Files are read as they are: no templates here. One that is no UTF-8 text becomes bytes. Symbolic links that lead out of
`root_dir` are not followed. Errors name files below `root_dir` and not where it is: previews show them to whoever may
write a branch.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from pathlib import Path

from highstate.ports import SourceFailed
from highstate.targeting.match import match_minion
from highstate.traverse import merge
from highstate.types import Minion, Value

MAX_FILE = 8 * 1024 * 1024
"""Bytes that one file may have."""


class FileTree:
    """Folders of the controller's disk."""

    def __init__(self, nodegroups: Mapping[str, Value] | None = None) -> None:
        self._nodegroups = nodegroups or {}

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """See `PillarSource`."""
        options = arguments if isinstance(arguments, Mapping) else {"root_dir": arguments}
        root = Path(str(options.get("root_dir") or ""))
        keep = options.get("keep_newline", False)
        if not root.is_absolute() or not root.is_dir():
            raise SourceFailed("root_dir must be the absolute path of a folder of the controller, and is not")
        if not isinstance(keep, bool | list):
            raise SourceFailed("keep_newline is True, False or a list of globs")
        if options.get("template"):
            raise SourceFailed("template is not available: use pillar SLS for what is to be rendered")
        if "/" in minion.id or minion.id in (".", ".."):
            raise SourceFailed(f"{minion.id!r} is no name of a folder")
        found: dict[str, Value] = {}
        folders = [root / "nodegroups" / name for name in self._nodegroups if self._is_in(name, minion, pillar)]
        for folder in (*folders, root / "hosts" / minion.id):
            try:
                if folder.is_dir():
                    found = merge(found, _read(folder, folder, root.resolve(), keep), strategy="recurse")
            except OSError as error:
                unread = Path(error.filename or folder).relative_to(root)
                raise SourceFailed(f"{unread} below root_dir cannot be read: {error.strerror}") from error
        return found

    def _is_in(self, name: str, minion: Minion, pillar: Mapping[str, Value]) -> bool:
        return match_minion(name, minion, pillar, kind="nodegroup", nodegroups=self._nodegroups)


def _read(folder: Path, top: Path, root: Path, keep: bool | list[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for path in sorted(folder.iterdir()):
        if not path.resolve().is_relative_to(root):
            continue
        if path.is_dir() and not path.is_symlink():
            found[path.name] = _read(path, top, root, keep)
        elif path.is_file():
            below = path.relative_to(top).as_posix()
            found[path.name] = _content(path, below, _keeps(below, keep))
    return found


def _content(path: Path, below: str, keep_newline: bool) -> Value:
    if path.stat().st_size > MAX_FILE:
        raise SourceFailed(f"{below} has more than {MAX_FILE} bytes")
    data = path.read_bytes()
    if not keep_newline:
        data = data.removesuffix(b"\n")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _keeps(path: str, keep: bool | list[str]) -> bool:
    return keep if isinstance(keep, bool) else any(fnmatch.fnmatch(path, str(pattern)) for pattern in keep)
