"""`salt.utils.dictdiffer`: differences of mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def deep_diff(old: Mapping[Any, Any], new: Mapping[Any, Any], ignore: Any = None) -> dict[str, Any]:
    """`{old: ..., new: ...}` of what differs, at any depth."""
    was: dict[Any, Any] = {}
    became: dict[Any, Any] = {}
    for key in dict.fromkeys((*old, *new)):
        if key in (ignore or ()) or (key in old and key in new and old[key] == new[key]):
            continue
        if isinstance(old.get(key), Mapping) and isinstance(new.get(key), Mapping):
            inner = deep_diff(old[key], new[key], ignore)
            was |= {key: inner["old"]} if "old" in inner else {}
            became |= {key: inner["new"]} if "new" in inner else {}
            continue
        was |= {key: old[key]} if key in old else {}
        became |= {key: new[key]} if key in new else {}
    return {word: side for word, side in (("old", was), ("new", became)) if side}


class DictDiffer:
    """Which keys came, went, changed and stayed."""

    def __init__(self, current_dict: Mapping[Any, Any], past_dict: Mapping[Any, Any]) -> None:
        self._now, self._then = current_dict, past_dict

    def added(self) -> set[Any]:
        """New keys."""
        return set(self._now) - set(self._then)

    def removed(self) -> set[Any]:
        """Keys that are gone."""
        return set(self._then) - set(self._now)

    def changed(self) -> set[Any]:
        """Keys of other values."""
        return {key for key in set(self._now) & set(self._then) if self._now[key] != self._then[key]}

    def unchanged(self) -> set[Any]:
        """The others."""
        return set(self._now) & set(self._then) - self.changed()
