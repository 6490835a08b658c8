"""Patches as an API server carries them out: strategic merge, JSON merge, and server-side apply with its managers.

Lists whose items have a key (containers by name, ports by their number) are merged by it; others are one value.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[tuple[str, str], ...]
"""Steps: ("f", field), or ("k", the key of an item as JSON)."""

_LIST_KEYS = {
    "containers": ("name",), "initContainers": ("name",), "volumes": ("name",), "env": ("name",),
    "volumeMounts": ("mountPath",), "imagePullSecrets": ("name",), "hostAliases": ("ip",),
    "conditions": ("type",), "secrets": ("name",), "versions": ("name",),
}  # fmt: skip


def keys_of(path: Path, field: str) -> tuple[str, ...]:
    """The key of the items of a list; empty where it is one value."""
    if field == "ports":
        in_container = len(path) >= 2 and path[-2][1] in ("containers", "initContainers")
        return ("containerPort", "protocol") if in_container else ("port", "protocol")
    return _LIST_KEYS.get(field, ())


def item_key(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """The key of an item; a protocol that is left out is TCP."""
    return json.dumps({key: item.get(key, "TCP" if key == "protocol" else None) for key in keys}, sort_keys=True)


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merge_patch(made.get(key), value)
    return made


def strategic(target: Any, patch: Any, path: Path = ()) -> Any:
    """A strategic merge patch."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            made.pop(key, None)
            continue
        keys = keys_of(path, key) if isinstance(value, list) else ()
        if keys and all(isinstance(one, dict) for one in value):
            made[key] = _merged_list(made.get(key) or [], value, keys, (*path, ("f", key)))
        else:
            made[key] = strategic(made.get(key), value, (*path, ("f", key)))
    return made


def _merged_list(old: list[Any], new: list[Any], keys: tuple[str, ...], path: Path) -> list[Any]:
    items = {item_key(one, keys): one for one in old}
    for one in new:
        key = item_key(one, keys)
        if one.get("$patch") == "delete":
            items.pop(key, None)
        else:
            items[key] = strategic(items.get(key), one, (*path, ("k", key)))
    return list(items.values())


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each field that an object sets, with its value."""
    if isinstance(value, dict):
        if not value and path:
            yield path, value
        for key, one in value.items():
            if not path and key in ("apiVersion", "kind"):
                continue
            if path == (("f", "metadata"),) and key in _OF_THE_SERVER:
                continue
            keys = keys_of(path, key) if isinstance(one, list) else ()
            here = (*path, ("f", key))
            if keys and one and all(isinstance(each, dict) for each in one):
                for each in one:
                    yield from leaves(each, (*here, ("k", item_key(each, keys))))
            else:
                yield from leaves(one, here)
    else:
        yield path, value


_OF_THE_SERVER = frozenset(
    ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields", "generation",
     "deletionTimestamp")
)  # fmt: skip


def lookup(value: Any, path: Path) -> Any:
    """The value at a path; a KeyError where there is none."""
    for kind, step in path:
        if kind == "f":
            value = value[step]
        else:
            wanted = json.loads(step)
            value = next(
                (one for one in value if item_key(one, tuple(wanted)) == json.dumps(wanted, sort_keys=True)), None
            )
            if value is None:
                raise KeyError(step)
    return value


def without(value: Any, path: Path) -> None:
    """Take the field at a path out, and items and mappings that are then empty."""
    parents = [value]
    try:
        for number in range(1, len(path)):
            parents.append(lookup(value, path[:number]))
    except (KeyError, TypeError):
        return
    kind, step = path[-1]
    if _is_key(path):
        if set(parents[-1]) > set(json.loads(path[-2][1])):
            return  # others have fields of the item
    elif kind == "f" and isinstance(parents[-1], dict):
        parents[-1].pop(step, None)
    for number in range(len(path) - 1, 0, -1):
        kind, step = path[number - 1]
        child, parent = parents[number], parents[number - 1]
        if kind == "k" and isinstance(child, dict) and set(child) <= set(json.loads(step)):
            parent.remove(child)
        elif kind == "f" and child in ({}, []) and isinstance(parent, dict) and number > 1:
            parent.pop(step, None)


def _is_key(path: Path) -> bool:
    """Whether it is a field by which an item is known."""
    return len(path) > 1 and path[-2][0] == "k" and path[-1][1] in json.loads(path[-2][1])


def applied(live: Mapping[str, Any], config: Mapping[str, Any], gone: set[Path]) -> dict[str, Any]:
    """A live object with an applied configuration, and without the fields that it had before and has no more."""
    made = strategic(copy.deepcopy(dict(live)), copy.deepcopy(dict(config)))
    for path in sorted(gone, key=lambda each: (_is_key(each), -len(each))):
        without(made, path)
    return made  # type: ignore[no-any-return]


def fields_v1(paths: frozenset[Path] | set[Path]) -> dict[str, Any]:
    """Owned fields as `managedFields` has them."""
    made: dict[str, Any] = {}
    for path in sorted(paths):
        at = made
        for kind, step in path:
            at = at.setdefault(f"{kind}:{step}", {})
    return made
