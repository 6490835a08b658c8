"""The minions of a Salt master, with their grains, as it keeps them in its cache. Called by `compare`.

Salt up to 3007 keeps grains and pillar together in `minions/ID/data.p`, Salt 3008 keeps grains in `grains/ID.p`. Both
are msgpack with Salt's extensions 78 (times) and 79 (constants): salt/payload.py, salt/cache/localfs.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from controller.migration.limits import CACHE_FILE_BYTES, CACHED_MINIONS
from highstate.data_limits import unbounded
from options.bounded_files import FileRefused, read_bounded
from wire.keys import valid_minion_id

_DATETIME, _CONSTANT = 78, 79


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedMinions:
    """Which minions a cache has."""

    files: Mapping[str, Path]
    """Id -> the file with its grains, in the order of ids."""
    not_read: list[str] = field(default_factory=list)
    """Files that cannot be a minion's, and those that could not be read, each with the reason."""

    def grains(self, minion_id: str) -> dict[str, Any] | None:
        """The grains of one; None where they cannot be read, which `not_read` then tells."""
        path = self.files[minion_id]
        try:
            data = _decoded(read_bounded(path, CACHE_FILE_BYTES))
        except FileRefused as refused:
            self.not_read.append(str(refused))
            return None
        except (msgspec.DecodeError, TypeError, ValueError, RecursionError) as error:
            self.not_read.append(f"{path} is none of Salt's cache: {error}")
            return None
        grains = data.get("grains") if path.parent.parent.name == "minions" and isinstance(data, dict) else data
        if not isinstance(grains, dict) or not grains:
            self.not_read.append(f"{path} has no grains")
            return None
        if why := unbounded(grains):
            self.not_read.append(f"{path}: the grains are {why}")
            return None
        return {str(name): value for name, value in grains.items()} | {"id": minion_id}


def cached_minions(cachedir: Path, pattern: str = "*") -> CachedMinions:
    """The minions whose grains a cache has.

    Args:
        cachedir: of the master, like /var/cache/salt/master.
        pattern: glob of their ids.
    """
    found: dict[str, Path] = {}
    not_read: list[str] = []
    for folder, inner in (("minions", "data.p"), ("grains", "")):
        for name in _names(cachedir / folder):
            minion_id = name if inner else name.removesuffix(".p")
            path = cachedir / folder / name / inner
            if (not inner and minion_id == name) or not os.path.lexists(path):
                continue
            if not valid_minion_id(minion_id):
                not_read.append(f"{path}: {minion_id!r} is no id of a minion")
            elif fnmatchcase(minion_id, pattern):
                if len(found) >= CACHED_MINIONS and minion_id not in found:
                    not_read.append(f"{cachedir}: more than {CACHED_MINIONS} minions: the rest")
                    break
                found[minion_id] = path
    return CachedMinions(files=dict(sorted(found.items())), not_read=not_read)


def evenly(ids: list[str], most: int) -> list[str]:
    """At most so many of them, from the whole range; 0: all."""
    if not most or len(ids) <= most:
        return ids
    return [ids[index * len(ids) // most] for index in range(most)]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileRefused(f"{folder} cannot be read: {error.strerror}") from None


def _decoded(data: bytes) -> Any:
    return msgspec.msgpack.decode(data, strict=False, ext_hook=_extension)


def _extension(code: int, data: memoryview) -> Any:
    if code == _DATETIME:
        return datetime.strptime(bytes(data).decode(), "%Y%m%dT%H:%M:%S.%f").isoformat()
    if code == _CONSTANT:
        return msgspec.msgpack.decode(data)[1]
    return bytes(data)
