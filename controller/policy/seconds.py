"""Times of saltern.yaml (`90s`, `2h`) as seconds, and `on` and `off` as words, before its types are checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from options.durations import parse_seconds

TIMES = {
    "drift": frozenset(("interval", "splay", "autonomy")),
    "previews": frozenset(("apply_hold",)),
    "retry": frozenset(("duration", "max_duration")),
    "windows": frozenset(("duration",)),
    "rollout": frozenset(("soak", "timeout", "confirm", "gate_timeout")),
}
"""Keys of sections that are times."""
PLAIN_TIMES = ("confirm",)
"""Keys beside the sections that are times."""
ROLLOUT_LISTS = {"waves": frozenset(("soak",)), "gates": frozenset(("quiet",))}
"""Keys of the lists within `rollout`; waves have gates, too."""


def with_seconds(data: Any) -> Any:
    """What was written, with its times in seconds; ValueError for a text that is no time."""
    if not isinstance(data, Mapping):
        return data
    found = dict(data)
    if isinstance(said := found.get("prune"), bool):  # YAML takes the bare words `on` and `off` for these
        found["prune"] = "on" if said else "off"
    for section, keys in TIMES.items():
        if isinstance(given := data.get(section), list):
            found[section] = [_converted(section, one, keys) for one in given]
        else:
            found[section] = _converted(section, given, keys)
        if section not in data:
            del found[section]
    for key in PLAIN_TIMES:
        if key in found:
            found[key] = _seconds(key, found[key])
    if isinstance(found.get("rollout"), dict):
        found["rollout"] = _lists_of_rollout(found["rollout"])
    return found


def _lists_of_rollout(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    found = dict(given)
    for name, keys in ROLLOUT_LISTS.items():
        if isinstance(each := found.get(name), list):
            found[name] = [_lists_of_rollout(_converted(f"rollout.{name}", one, keys)) for one in each]
    return found


def _converted(section: str, given: Any, keys: frozenset[str]) -> Any:
    if not isinstance(given, Mapping):
        return given
    found = dict(given)
    for key in keys & given.keys():
        if key == "autonomy" and isinstance(given[key], bool):
            continue  # `false`: never
        found[key] = _seconds(f"{section}.{key}", given[key])
    return found


def _seconds(path: str, given: Any) -> Any:
    try:
        return parse_seconds(given)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
