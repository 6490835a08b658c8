"""The execution module `grains`: reads grains, and sets static ones in the file `grains` beside the configuration.

What is set is seen by the rest of the run at once, and by the agent when it collects its grains again. Others of its
functions (`filter_by`, `equals`) are the language's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from highstate.traverse import MISSING, traverse
from minion.arguments.types import AnyValue, Reads, Unfit
from minion.execution.arguments import KeptOrder, NoCache
from minion.execution.context import Context
from minion.execution.errors import CallFailed


def get(context: Context, key: str, default: AnyValue = "", delimiter: str = ":", ordered: KeptOrder = True) -> Any:
    """A grain by its path (`os`, `ip4_interfaces:eth0`), or the default."""
    return traverse(context.grains, key, default, delimiter=delimiter)


def item(
    context: Context, *keys: str, default: AnyValue = "", delimiter: str = ":", sanitize: bool = False
) -> dict[str, Any]:
    """The grains named; one that is not there is empty."""
    return _sanitized({key: traverse(context.grains, key, default, delimiter=delimiter) for key in keys}, sanitize)


def items(context: Context, sanitize: bool = False) -> dict[str, Any]:
    """All grains; with `sanitize`, serial numbers and the domain are hidden."""
    return _sanitized(dict(context.grains), sanitize)


def ls(context: Context) -> list[str]:
    """Names of all grains."""
    return sorted(context.grains)


def has_value(context: Context, key: str) -> bool:
    """Whether a grain is there and not empty."""
    return bool(traverse(context.grains, key, ""))


def set_(
    context: Context,
    key: str,
    val: AnyValue = "",
    force: bool = False,
    destructive: bool = False,
    delimiter: str = ":",
) -> dict[str, Any]:
    """Set a static grain. A list or mapping is written over with `force` only; null with `destructive`: gone."""
    old = traverse(context.grains, key, MISSING, delimiter=delimiter)
    said: dict[str, Any] = {"comment": "", "changes": {}, "result": True}
    if old is not MISSING and old == val and val is not None:
        return {**said, "comment": "Grain is already set"}
    refused = "" if force else _refusal(context, key, old, val, delimiter)
    if refused:
        return {**said, "comment": refused, "result": False}
    first, *rest = key.split(delimiter)
    before = context.grains.get(first)
    new = _with(before if isinstance(before, Mapping) else {}, rest, val, destructive) if rest else val
    gone = val is None and destructive
    write(context, {first: new}, gone=[first] if gone and (not rest or not new) else [])
    return {**said, "changes": {first: new}}


def as_grains(value: Any) -> Mapping[str, Any]:
    """Grains and their values. Worded as Salt does."""
    if not isinstance(value, Mapping):
        raise Unfit("", "setvals grains must be a dictionary.")
    return {str(key): one for key, one in value.items()}


Grains = Annotated[Mapping[str, Any], Reads(as_grains, null=True)]


def setvals(
    context: Context,
    grains: Grains,
    destructive: bool = False,
    refresh_pillar: NoCache = True,
) -> Any:
    """Set several static grains, whatever they were; null with `destructive` takes one away."""
    gone = [key for key, value in grains.items() if value is None and destructive]
    write(context, grains, gone=gone)
    return dict(grains)


def setval(context: Context, key: str, val: AnyValue, destructive: bool = False, refresh_pillar: NoCache = True) -> Any:
    """Set a static grain, whatever it was."""
    return setvals(context, {key: val}, destructive)


def append(context: Context, key: str, val: AnyValue, convert: bool = False, delimiter: str = ":") -> Any:
    """Add a value to a list; with `convert` a single value becomes a list first."""
    old = traverse(context.grains, key, [], delimiter=delimiter)
    if not isinstance(old, list) and convert:
        old = [old]
    if not isinstance(old, list):
        return f"The key {key} is not a valid list"
    if val in old:
        return f"The val {val} was already in the list {key}"
    return _set_list(context, key, [*old, *val] if isinstance(val, list) else [*old, val], delimiter)


def remove(context: Context, key: str, val: AnyValue, delimiter: str = ":") -> Any:
    """Take a value out of a list."""
    old = traverse(context.grains, key, [], delimiter=delimiter)
    if not isinstance(old, list):
        return f"The key {key} is not a valid list"
    if val not in old:
        return f"The val {val} was not in the list {key}"
    return _set_list(context, key, [one for one in old if one != val], delimiter)


def delval(context: Context, key: str, destructive: bool = False, force: bool = False) -> dict[str, Any]:
    """Empty a static grain; with `destructive` it is gone."""
    return set_(context, key, None, force=force, destructive=destructive)


def delkey(context: Context, key: str, force: bool = False) -> dict[str, Any]:
    """Take a static grain away."""
    return set_(context, key, None, force=force, destructive=True)


def write(context: Context, values: Mapping[str, Any], gone: list[str]) -> None:
    """Write static grains to their file, and let them be seen."""
    import yaml

    if not context.config_dir:
        raise CallFailed("this minion has no configuration folder to keep static grains in")
    place = Path(context.config_dir) / "grains"
    try:
        kept = yaml.safe_load(place.read_text()) if place.exists() else {}
    except yaml.YAMLError as error:
        raise CallFailed(f"{place} is no YAML: {error}") from error
    if not isinstance(kept or {}, Mapping):
        raise CallFailed(f"{place} is no mapping of grains")
    new = {key: value for key, value in {**(kept or {}), **values}.items() if key not in gone}
    place.parent.mkdir(parents=True, exist_ok=True)
    context.machine.write(str(place), yaml.safe_dump(new, default_flow_style=False, allow_unicode=True).encode())
    context.see_grains({key: value for key, value in {**context.grains, **values}.items() if key not in gone})
    context.ask_for_grains()


def _refusal(context: Context, key: str, old: Any, val: Any, delimiter: str) -> str:
    """Why a grain is not written over without force, in Salt's words; empty when it may be."""
    path = key.split(delimiter)
    for depth in range(1, len(path)):
        above = traverse(context.grains, delimiter.join(path[:depth]), MISSING, delimiter=delimiter)
        if above is not MISSING and above is not None and not isinstance(above, Mapping):
            return (
                f"The key '{key}' value is '{above}', which is different from the provided key '{path[depth]}'. "
                "Use 'force=True' to overwrite."
            )
    if old is MISSING or old is None:
        return ""
    if isinstance(old, list | Mapping):
        return f"The key '{key}' exists but is a dict or a list. Use 'force=True' to overwrite."
    if isinstance(val, list | Mapping):
        return f"The key '{key}' exists and the given value is a dict or a list. Use 'force=True' to overwrite."
    return ""


def _with(grains: Mapping[str, Any], path: list[str], value: Any, destructive: bool) -> dict[str, Any]:
    first, *rest = path
    if not rest:
        if value is None and destructive:
            return {key: one for key, one in grains.items() if key != first}
        return {**grains, first: value}
    inner = grains.get(first)
    return {**grains, first: _with(inner if isinstance(inner, Mapping) else {}, rest, value, destructive)}


def _set_list(context: Context, key: str, new: list[Any], delimiter: str) -> Any:
    first, *rest = key.split(delimiter)
    before = context.grains.get(first)
    value = _with(before if isinstance(before, Mapping) else {}, rest, new, False) if rest else new
    return setvals(context, {first: value})


def _sanitized(found: dict[str, Any], sanitize: bool) -> dict[str, Any]:
    if not sanitize:
        return found
    hidden = {
        "domain": "domain",
        "fqdn": "minion.domain",
        "serialnumber": "0" * len(str(found.get("serialnumber", ""))),
    }
    hidden |= dict.fromkeys(("host", "id", "localhost", "nodename"), "minion")
    return {key: hidden.get(key, value) for key, value in found.items()}


FUNCTIONS: Mapping[str, Any] = {
    "append": append,
    "delkey": delkey,
    "delval": delval,
    "fetch": get,
    "get": get,
    "has_value": has_value,
    "item": item,
    "items": items,
    "ls": ls,
    "remove": remove,
    "set": set_,
    "setval": setval,
    "setvals": setvals,
}
