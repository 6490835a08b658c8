"""Secrets of key-value engines, versions 1 and 2, by the same paths: `secret/db`, as Salt's functions take them.

API: https://openbao.org/api-docs/secret/kv/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minion.providers.vault.api import Ask, NotAllowed, NothingThere, VaultFailed
from minion.providers.vault.merge_patch import merged


class KeyValueSecret(NamedTuple):
    """A secret as it was read."""

    data: Mapping[str, Any]
    metadata: Mapping[str, Any] | None
    """None of version 1."""
    lease: float
    """Seconds; 0: the engine has none to give."""


class Mounts:
    """Which versions the engines are of; asked once for each."""

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}

    def of(self, path: str, look: Callable[[str], Mapping[str, Any]]) -> tuple[str, int]:
        """(mount, version) of a path. VaultFailed."""
        known = next((mount for mount in self._versions if f"{path}/".startswith(mount)), None)
        if known is None:
            data = look(path)
            known = str(data["path"])
            self._versions[known] = int((data.get("options") or {}).get("version", 1))
        return known, self._versions[known]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValues:
    """The engines of a server, for one token.

    Args:
        ask: sends requests with it.
        look: which engine is at a path.
        mounts: what is known of them, of all tokens.
    """

    ask: Ask
    look: Callable[[str], Mapping[str, Any]]
    mounts: Mounts

    def read(self, path: str, version: int | None = None) -> KeyValueSecret:
        """A secret, or an earlier version of it."""
        place, kind = self._place(path, "data")
        if kind == 1:
            if version is not None:
                raise VaultFailed(f"{path} has no versions: its engine is of version 1")
            answer = self.ask("GET", place)
            return KeyValueSecret(_data(answer, path), None, float(answer.get("lease_duration") or 0))
        answer = self.ask("GET", place if version is None else f"{place}?version={int(version)}")
        found = _data(answer, path)
        if found.get("data") is None:  # a version that was deleted
            raise NothingThere(f"there is nothing at {path}: this version was deleted")
        return KeyValueSecret(found["data"], found.get("metadata"), float(answer.get("lease_duration") or 0))

    def metadata(self, path: str) -> Mapping[str, Any]:
        """What is known of a secret and its versions."""
        return _data(self.ask("GET", self._versioned(path, "metadata")), path)

    def names(self, path: str) -> Sequence[str]:
        """Names below a path; folders end with a slash."""
        place, _ = self._place(path, "metadata")
        return [str(each) for each in _data(self.ask("LIST", place), path)["keys"]]

    def write(self, path: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Replace a secret, or make it; what is known of the version."""
        place, kind = self._place(path, "data")
        return self.ask("POST", place, data if kind == 1 else {"data": dict(data)}).get("data") or {}

    def patch(self, path: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Change some keys of a secret that is there; null takes one out."""
        place, kind = self._place(path, "data")
        if kind == 2:
            try:
                return self.ask("PATCH", place, {"data": dict(data)}, merge=True).get("data") or {}
            except NotAllowed:
                pass  # policies from before PATCH permit reading and writing alone
        return self.write(path, merged(self.read(path).data, data))

    def delete(self, path: str, versions: Sequence[int] = ()) -> None:
        """Delete the newest version, or these; of version 1 the secret."""
        place, kind = self._place(path, "data")
        if kind == 2 and versions:
            self.ask("POST", self._versioned(path, "delete"), {"versions": [int(each) for each in versions]})
        else:
            self.ask("DELETE", place)

    def restore(self, path: str, versions: Sequence[int]) -> None:
        """Take back that versions were deleted."""
        self.ask("POST", self._versioned(path, "undelete"), {"versions": [int(each) for each in versions]})

    def destroy(self, path: str, versions: Sequence[int]) -> None:
        """Remove the data of versions for good."""
        self.ask("POST", self._versioned(path, "destroy"), {"versions": [int(each) for each in versions]})

    def wipe(self, path: str) -> None:
        """Remove a secret with all that is known of it."""
        place, kind = self._place(path, "metadata")
        self.ask("DELETE", place if kind == 2 else path)

    def has_versions(self, path: str) -> bool:
        """Whether the engine there is of version 2."""
        return self._place(path, "data")[1] == 2

    def versions(self, path: str, *, deleted: bool = False) -> list[int]:
        """Versions that are there, or those that were deleted and can be had back; oldest first."""
        each = self.metadata(path).get("versions") or {}
        found = [
            int(number)
            for number, one in each.items()
            if not one.get("destroyed") and bool(one.get("deletion_time")) is deleted
        ]
        return sorted(found)

    def current(self, path: str) -> int:
        """The number of the newest version."""
        return int(self.metadata(path)["current_version"])

    def _versioned(self, path: str, part: str) -> str:
        place, kind = self._place(path, part)
        if kind == 1:
            raise VaultFailed(f"{path} has no versions: its engine is of version 1")
        return place

    def _place(self, path: str, part: str) -> tuple[str, int]:
        """The path as the engine there wants it: version 2 has a part of its own between mount and name."""
        path = path.strip("/")
        if ".." in path.split("/"):
            raise VaultFailed(f"the path {path!r} leads upwards")
        mount, kind = self.mounts.of(path, self.look)
        name = path[len(mount) :]
        if kind == 1:
            return path, kind
        return f"{mount}{part}/{name.removeprefix('data/')}".rstrip("/"), kind


def _data(answer: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    data = answer.get("data")
    if not isinstance(data, Mapping):
        raise NothingThere(f"there is nothing at {path}")
    return data
