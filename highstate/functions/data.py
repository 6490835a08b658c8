"""pillar.*, grains.*, defaults.*, and the merging functions of slsutil."""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

from highstate.functions.call import FunctionCall, FunctionFailed
from highstate.memo.sources import fresh
from highstate.memo.tracked import plain
from highstate.traverse import MISSING, join_lists, merge, traverse, update
from highstate.types import Value

_UNSET = object()


def _check_pillarenv(call: FunctionCall, asked: Value) -> None:
    """FunctionFailed where the pillar of another environment is asked for: the one at hand would be silently wrong."""
    if asked is None:
        return
    present = call.opt("pillarenv") or "base"
    if asked != present:
        raise FunctionFailed(f"the pillar of pillarenv {asked!r} is not compiled here, but that of {present!r}")


def _pillar_get(
    call: FunctionCall,
    key: str,
    default: Value = _UNSET,
    merge: bool = False,
    merge_nested_lists: bool | None = None,
    delimiter: str = ":",
    pillarenv: str | None = None,
    saltenv: str | None = None,
    unmask: bool | None = None,
) -> Value:
    _check_pillarenv(call, pillarenv)
    pillar = call.recorder.untouched("pillar")
    if merge and default is not _UNSET:
        found = plain(traverse(pillar, key, MISSING, delimiter=delimiter))
        lists = call.opt("pillar_merge_lists", False) if merge_nested_lists is None else merge_nested_lists
        if isinstance(default, Mapping):
            if found is MISSING or isinstance(found, Mapping):
                return update(copy.deepcopy(plain(default)), {} if found is MISSING else found, merge_lists=lists)
        elif isinstance(default, list) and (found is MISSING or isinstance(found, list)):
            return join_lists(default, [] if found is MISSING else found)
    found = call.look_up("pillar", key, MISSING, delimiter)
    if found is not MISSING:
        return found
    if default is _UNSET:
        if call.opt("pillar_raise_on_missing", False):
            raise FunctionFailed(f"pillar key not found: {key}")
        return ""
    return default


def _get(root: str) -> Callable[..., Value]:
    def get(call: FunctionCall, key: str, default: Value = "", delimiter: str = ":", ordered: bool = True) -> Value:
        return call.look_up(root, key, default, delimiter)

    return get


def _item(root: str) -> Callable[..., Value]:
    def item(call: FunctionCall, *keys: str, default: Value = "", delimiter: str = ":", **ignored: Value) -> Value:
        return {key: call.look_up(root, key, default, delimiter) for key in keys}

    return item


def _items(root: str) -> Callable[..., Value]:
    def items(call: FunctionCall, *keys: str, **options: Value) -> Value:
        if root == "pillar":
            _check_pillarenv(call, options.get("pillarenv"))
        if options.get("pillar"):
            raise FunctionFailed(f"{root}.items cannot compile another pillar here")
        return _item(root)(call, *keys) if keys and root == "pillar" else plain(call.recorder.tracked(root))

    return items


def _obfuscated(call: FunctionCall, *keys: str, **options: Value) -> Value:
    return _kinds(_items("pillar")(call, *keys, **options))


def _kinds(value: Value) -> Value:
    """A value with the names of kinds in place of what it holds."""
    if isinstance(value, dict):
        return {key: _kinds(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(_kinds(inner) for inner in value)
    return f"<{type(value).__name__}>"


def _pillar_raw(call: FunctionCall, key: str | None = None, unmask: bool | None = None) -> Value:
    return call.look_up("pillar", [key], {}) if key else plain(call.recorder.untouched("pillar"))


def _keys(root: str) -> Callable[..., Value]:
    def keys(call: FunctionCall, key: str, delimiter: str = ":", unmask: bool | None = None) -> Value:
        found = traverse(call.recorder.tracked(root), key, None, delimiter=delimiter)
        if found is None:
            raise FunctionFailed(f"{root} key not found: {key}")
        if not isinstance(found, Mapping):
            raise FunctionFailed(f"the value of {root} key {key} is a {type(found).__name__}, not a mapping")
        return list(found)

    return keys


def _ls(root: str) -> Callable[..., Value]:
    def names(call: FunctionCall, *ignored: Value, **options: Value) -> Value:
        found = list(call.recorder.tracked(root))
        return sorted(found) if root == "grains" else found

    return names


def _has_value(call: FunctionCall, key: str) -> bool:
    return bool(plain(traverse(call.recorder.untouched("grains"), key, "")))


def _equals(call: FunctionCall, key: str, value: Value) -> bool:
    return str(value) == str(plain(traverse(call.recorder.untouched("grains"), key, "")))


def _filter_by(root: str, lookup_name: str, default_lookup: str | None) -> Callable[..., Value]:
    """`grains.filter_by` and `pillar.filter_by`: the entry whose key (a glob) matches a value of the minion."""

    def filter_by(
        call: FunctionCall,
        lookup_dict: Mapping[Any, Value],
        lookup: str | None = default_lookup,
        merge: Mapping[str, Value] | None = None,
        default: Value = "default",
        base: Value = None,
        **named: Value,
    ) -> Value:
        lookup = named.pop(lookup_name, lookup)
        if named:
            raise FunctionFailed(f"{root}.filter_by takes no argument {next(iter(named))!r}")
        found = plain(traverse(call.recorder.tracked(root), lookup, []))
        chosen = _choose(lookup_dict, found if isinstance(found, list) else [found])
        if chosen is None:
            chosen = lookup_dict.get(default)
        chosen = fresh(plain(chosen))
        if base and base in lookup_dict:
            chosen = _over_base(plain(lookup_dict[base]), chosen)
        return _merged(chosen, merge, root)

    return filter_by


def _choose(table: Mapping[Any, Value], values: list[Value]) -> Value:
    for value in values:
        for key in table:
            if fnmatch.fnmatchcase(str(value), str(key)):
                if table[key] is not None:
                    return table[key]
                break
    return None


def _over_base(base: Value, chosen: Value) -> Value:
    if chosen is None:
        return copy.deepcopy(base)
    if not isinstance(base, Mapping):
        return chosen
    if not isinstance(chosen, Mapping):
        raise FunctionFailed("filter_by: the base and the chosen entry must both be mappings")
    return update(copy.deepcopy(dict(base)), chosen)


def _merged(chosen: Value, over: Value, root: str) -> Value:
    over = plain(over)
    if not over:
        return chosen
    if not isinstance(over, Mapping):
        raise FunctionFailed(f"{root}.filter_by: merge must be a mapping, not a {type(over).__name__}")
    if chosen is None:
        return over
    return update(chosen, fresh(over))


def _defaults_merge(
    call: FunctionCall,
    dest: Value,
    src: Value,
    merge_lists: bool = False,
    in_place: bool = True,
    convert_none: bool = True,
) -> Value:
    if convert_none:
        src = {} if src is None else src
        if dest is None:
            if in_place:
                raise FunctionFailed("defaults.merge cannot merge into null in place: use in_place=False")
            dest = {}
    return update(dest if in_place else copy.deepcopy(plain(dest)), plain(src), merge_lists=merge_lists)


def _defaults_update(
    call: FunctionCall,
    dest: Value,
    defaults: Value,
    merge_lists: bool = True,
    in_place: bool = True,
    convert_none: bool = True,
) -> Value:
    nodes = (dest if in_place else copy.deepcopy(plain(dest))) or {}
    for name in list(nodes):
        one = copy.deepcopy(plain(defaults)) or {}
        nodes[name] = update(one, plain(nodes[name]) or {}, merge_lists=merge_lists)
    return nodes


def _defaults_get(call: FunctionCall, key: str, default: Value = "") -> Value:
    """A value of the formula's `defaults.yaml` or `defaults.json`, or of pillar where that has it."""
    formula, _, inner = key.partition(":")
    table: Value = None
    for ending, pipeline in (("yaml", "yaml"), ("json", "json")):
        path = f"{formula}/defaults.{ending}"
        if call.recorder.oid(path, call.saltenv) is not None:
            text = call.recorder.read_file(path, call.saltenv).decode()
            table = call.render(text, pipeline, {})
            break
    pillar = plain(call.recorder.untouched("pillar").get(formula, {}))
    merged = update(table if isinstance(table, dict) else {}, pillar if isinstance(pillar, dict) else {})
    return traverse(merged, inner, default) if inner else merged


def _slsutil_merge(
    call: FunctionCall,
    obj_a: Mapping[str, Value],
    obj_b: Mapping[str, Value],
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Value:
    return merge(plain(obj_a), plain(obj_b), strategy=strategy, merge_lists=merge_lists)


def _slsutil_merge_all(
    call: FunctionCall,
    lst: list[Mapping[str, Value]],
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Value:
    merged: dict[Any, Value] = {}
    for one in lst:
        merged = merge(merged, plain(one), strategy=strategy, merge_lists=merge_lists)
    return merged


def _slsutil_update(
    call: FunctionCall, dest: Value, upd: Value, recursive_update: bool = True, merge_lists: bool = False
) -> Value:
    if not recursive_update:
        dest.update(plain(upd))
        return dest
    return update(dest, plain(upd), merge_lists=merge_lists)


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "pillar.get": _pillar_get,
    "pillar.fetch": _pillar_get,
    "pillar.item": _item("pillar"),
    "pillar.items": _items("pillar"),
    "pillar.data": _items("pillar"),
    "pillar.obfuscate": _obfuscated,
    "pillar.raw": _pillar_raw,
    "pillar.keys": _keys("pillar"),
    "pillar.ls": _ls("pillar"),
    "pillar.filter_by": _filter_by("pillar", "pillar", None),
    "grains.get": _get("grains"),
    "grains.fetch": _get("grains"),
    "grains.item": _item("grains"),
    "grains.items": _items("grains"),
    "grains.ls": _ls("grains"),
    "grains.has_value": _has_value,
    "grains.equals": _equals,
    "grains.filter_by": _filter_by("grains", "grain", "os_family"),
    "defaults.get": _defaults_get,
    "defaults.merge": _defaults_merge,
    "defaults.update": _defaults_update,
    "defaults.deepcopy": lambda call, source: copy.deepcopy(plain(source)),
    "slsutil.merge": _slsutil_merge,
    "slsutil.merge_all": _slsutil_merge_all,
    "slsutil.update": _slsutil_update,
}
