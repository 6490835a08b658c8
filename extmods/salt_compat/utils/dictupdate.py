"""`salt.utils.dictupdate`: merging of mappings."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping
from typing import Any


def update(
    dest: MutableMapping[Any, Any], upd: Mapping[Any, Any], recursive_update: bool = True, merge_lists: bool = False
) -> MutableMapping[Any, Any]:
    """Put `upd` into `dest`, at any depth; lists are joined with `merge_lists`."""
    for key, value in upd.items():
        old = dest.get(key)
        if recursive_update and isinstance(old, MutableMapping) and isinstance(value, Mapping):
            update(old, value, True, merge_lists)
        elif merge_lists and isinstance(old, list) and isinstance(value, list):
            dest[key] = old + [one for one in value if one not in old]
        else:
            dest[key] = value
    return dest


def merge(
    obj_a: Mapping[Any, Any],
    obj_b: Mapping[Any, Any],
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> MutableMapping[Any, Any]:
    """Both in a new mapping; `overwrite` takes whole values of the second."""
    return update(copy.deepcopy(dict(obj_a)), obj_b, strategy != "overwrite", merge_lists)


def merge_recurse(
    obj_a: Mapping[Any, Any], obj_b: Mapping[Any, Any], merge_lists: bool = False
) -> MutableMapping[Any, Any]:
    """Both in a new mapping, at any depth."""
    return merge(obj_a, obj_b, "recurse", merge_lists=merge_lists)
