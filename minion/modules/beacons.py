"""The execution module `beacons`: what the minion watches, as Salt's module has it.

While an agent runs, the beacons in force are in a file of its cache, which these functions change and the agent follows
(`minion.spool.beacons`); `save` writes them to `minion.d/beacons.conf`, which is changed at once where no agent runs.
What cannot run is refused when it is added.
"""

from __future__ import annotations

import difflib
import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minion.arguments.types import AnyValue
from minion.beacons.configured import BeaconSources, read_beacons
from minion.beacons.registry import MODULES
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.file_locks import lock_holder
from minion.spool.beacons import FILE, read_beacons_file, write_beacons
from minion.spool.minion_events import EventQueue


def list_(
    context: Context, return_yaml: bool = True, include_pillar: bool = True, include_opts: bool = True, **kwargs: Any
) -> Any:
    """The beacons that are configured, as YAML or as they are."""
    found: dict[str, Any] = {}
    if include_pillar:
        found |= _of_pillar(context)
    if include_opts:
        found |= _own(context)
    if not return_yaml:
        return found
    import yaml

    return yaml.safe_dump({"beacons": found}, default_flow_style=False)


def list_available(context: Context, return_yaml: bool = True, **kwargs: Any) -> Any:
    """The names of all beacons, those of the tree too."""
    names = sorted({*MODULES, *_of_tree(context)})
    if not return_yaml:
        return names
    import yaml

    return yaml.safe_dump({"beacons": names}, default_flow_style=False)


def validate_beacon(context: Context, name: str, beacon_data: AnyValue, **kwargs: Any) -> dict[str, Any]:
    """Whether a beacon can run as it is given."""
    wrong = _faults(context, name, beacon_data)
    return _said("\n".join(wrong) or "Valid beacon configuration", result=not wrong)


def add(context: Context, name: str, beacon_data: AnyValue, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Add a beacon, until the agent ends; `save` keeps it."""
    if name in list_(context, return_yaml=False):
        return _said(f"Beacon {name} is already configured.")
    if wrong := _faults(context, name, beacon_data):
        return _said(f"Beacon {name} configuration invalid, not adding.\n" + "\n".join(wrong), result=False)
    if test:
        return _said(f"Beacon: {name} would be added.")
    with _changed(context) as own:
        own[name] = beacon_data
    return _said(f"Added beacon: {name}.")


def modify(context: Context, name: str, beacon_data: AnyValue, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Have a beacon be this one."""
    current = list_(context, return_yaml=False)
    if name not in current:
        return _said(f"Beacon {name} is not configured.")
    if wrong := _faults(context, name, beacon_data):
        return _said(f"Beacon {name} configuration invalid, not modifying.\n" + "\n".join(wrong), result=False)
    if current[name] == beacon_data:
        return _said(f"Job {name} in correct state")
    changes = {"diff": "".join(difflib.unified_diff(_lines(current[name]), _lines(beacon_data)))}
    if test:
        return _said(f"Beacon: {name} would be modified.", changes)
    if name in _of_pillar(context):
        return _said(f"Cannot modify beacon item {name}, it is configured in pillar.", result=False)
    with _changed(context) as own:
        own[name] = beacon_data
    return _said(f"Modified beacon: {name}.", changes)


def delete(context: Context, name: str, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Take a beacon away."""
    if test:
        return _said(f"Beacon: {name} would be deleted.")
    if name in _of_pillar(context):
        return _said(f"Cannot delete beacon item {name}, it is configured in pillar.", result=False)
    if name in _own(context):
        with _changed(context) as own:
            own.pop(name, None)
    return _said(f"Deleted beacon: {name}.")


def save(context: Context, **kwargs: Any) -> dict[str, Any]:
    """Write the beacons to `minion.d/beacons.conf`, which the next agent reads."""
    _write(context, _own(context))
    return _said(f"Beacons saved to {_saved_file(context)}.")


def enable(context: Context, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Have all beacons run."""
    return _set_all(context, True, test)


def disable(context: Context, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Have no beacon run."""
    return _set_all(context, False, test)


def enable_beacon(context: Context, name: str, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Have a beacon run."""
    return _set_one(context, name, True, test)


def disable_beacon(context: Context, name: str, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Have a beacon be configured, and not run."""
    return _set_one(context, name, False, test)


def reset(context: Context, test: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Take all beacons away but those of the pillar."""
    if test:
        return _said("Beacons would be reset.")
    with _changed(context) as own:
        own.clear()
    return _said("Beacon configuration reset.")


def _set_all(context: Context, wanted: bool, test: bool) -> dict[str, Any]:
    word = "enabled" if wanted else "disabled"
    if test:
        return _said(f"Beacons would be {word}.")
    with _changed(context) as own:
        own["enabled"] = wanted
    return _said(f"{word.capitalize()} beacons on minion.")


def _set_one(context: Context, name: str, wanted: bool, test: bool) -> dict[str, Any]:
    word = "enable" if wanted else "disable"
    if not name:
        return _said("Beacon name is required.", result=False)
    if test:
        return _said(f"Beacon {name} would be {word}d.")
    if name not in list_(context, return_yaml=False):
        return _said(f"Beacon {name} is not currently configured.", result=False)
    if name in _of_pillar(context):
        return _said(f"Cannot {word} beacon item {name}, it is configured in pillar.", result=False)
    with _changed(context) as own:
        items = [item for item in own[name] or () if "enabled" not in item]
        own[name] = [*items, {"enabled": wanted}]
    return _said(f"{word.capitalize()}d beacon {name} on minion.")


def _own(context: Context) -> dict[str, Any]:
    """The beacons of the minion's files in force; without an agent those that the next one will read."""
    kept = read_beacons_file(Path(context.cachedir)) if _agent_runs(context) else None
    if kept is None and context.config_dir and _saved_file(context).is_file():
        return _saved(context)
    own = context.options.beacons.own if kept is None else kept[0]
    return dict(own) if isinstance(own, Mapping) else {}


def _saved(context: Context) -> dict[str, Any]:
    import yaml

    place = _saved_file(context)
    try:
        read = yaml.safe_load(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise CallFailed(f"{place} cannot be read: {' '.join(str(error).split())}") from error
    found = read.get("beacons") if isinstance(read, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def _saved_file(context: Context) -> Path:
    if not context.config_dir:
        raise CallFailed("this minion has no configuration directory to keep beacons in")
    return Path(context.config_dir, "minion.d", "beacons.conf")


def _write(context: Context, own: Mapping[str, Any]) -> None:
    import yaml

    place = _saved_file(context)
    text = yaml.safe_dump({"beacons": dict(own)}, default_flow_style=False, allow_unicode=True) if own else ""
    context.machine.mkdir(str(place.parent), parents=True)
    context.machine.write(str(place), text.encode())


def _of_pillar(context: Context) -> dict[str, Any]:
    found = context.pillar.get("beacons")
    return dict(found) if isinstance(found, Mapping) else {}


def _of_tree(context: Context) -> frozenset[str]:
    return frozenset(context.user_modules.loaded("beacons")) if context.has_user_modules() else frozenset()


def _faults(context: Context, name: str, beacon_data: Any) -> list[str]:
    names = _of_tree(context)
    _, wrong = read_beacons(BeaconSources(own={name: beacon_data}), lambda one: one in names)
    return [one.partition(f"beacon {name}: ")[2] or one for one in wrong]


@contextmanager
def _changed(context: Context) -> Iterator[dict[str, Any]]:
    """The beacons in force, to be changed by nobody else meanwhile; the agent follows what they are at the end.

    Without an agent it is the file that the next one reads.
    """
    if not _agent_runs(context):
        own = _own(context)
        yield own
        _write(context, own)
        return
    cachedir = Path(context.cachedir)
    with (cachedir / f"{FILE}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        own, places = read_beacons_file(cachedir) or ({}, {})
        before = dict(own) if isinstance(own, Mapping) else {}
        after = dict(before)
        yield after
        same = {name for name, value in after.items() if before.get(name) == value}
        kept = {key: place for key, place in places.items() if not key or key.partition("/")[0] in same}
        write_beacons(cachedir, after, kept)
    EventQueue(cachedir, context.minion_id).has_agent()  # wakes it


def _agent_runs(context: Context) -> bool:
    return bool(context.cachedir) and lock_holder(Path(context.cachedir, "agent.lock")) is not None


def _lines(items: Any) -> list[str]:
    listed = items if isinstance(items, list) else []
    return [f"{key}:{value}\n" for item in listed if isinstance(item, Mapping) for key, value in item.items()]


def _said(comment: str, changes: Mapping[str, Any] | None = None, *, result: bool = True) -> dict[str, Any]:
    return {"comment": comment, "result": result, **({"changes": dict(changes)} if changes else {})}


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "delete": delete,
    "disable": disable,
    "disable_beacon": disable_beacon,
    "enable": enable,
    "enable_beacon": enable_beacon,
    "list": list_,
    "list_available": list_available,
    "modify": modify,
    "reset": reset,
    "save": save,
    "validate_beacon": validate_beacon,
}
