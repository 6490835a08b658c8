"""The key `policies` of saltern.yaml: what is other for the minions that a target means.

    policies:
    - name: production
      target: 'web* or G@role:db'
      apply: manual
      drift: {mode: remediate}
      windows:
      - {schedule: '0 22 * * 1-5', duration: 2h, timezone: Europe/Berlin}

What is badly formed refuses the revision, with file and line. A target looks at no pillar: that is compiled later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from controller.policy.ignored import check_ignored
from controller.policy.policy import (
    IgnoredDifference,
    MinionPolicy,
    TargetedPolicy,
    changed,
    check_autonomy,
    check_prune_limit,
)
from controller.policy.seconds import with_seconds
from highstate.targeting.match import BadTarget, expanded_target
from matching.linear_regex import PatternRefused
from options.document import Fault, Option
from options.near_names import did_you_mean
from reactors.schedule import BadSchedule
from reactors.windows import Window, check_window

MOST_ENTRIES = 1000
_FORM = "write `- {name: production, target: 'web*', apply: manual}`"


class DriftChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is other of `drift`."""

    mode: Literal["report", "remediate"] | UnsetType = UNSET
    interval: float | UnsetType = UNSET
    splay: float | UnsetType = UNSET
    cron: str | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    watch: bool | UnsetType = UNSET
    autonomy: float | bool | UnsetType = UNSET


class RetryChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is other of `retry`."""

    limit: Annotated[int, msgspec.Meta(ge=0)] | UnsetType | None = UNSET
    duration: Annotated[float, msgspec.Meta(ge=1, le=86400)] | UnsetType = UNSET
    factor: Annotated[float, msgspec.Meta(ge=1, le=10)] | UnsetType = UNSET
    max_duration: Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)] | UnsetType = UNSET


class PolicyEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry as it is written, with times in seconds."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    target: Annotated[str, msgspec.Meta(min_length=1)]
    apply: Literal["auto", "manual", "confirm"] | UnsetType = UNSET
    confirm: Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)] | UnsetType = UNSET
    push: Literal["changed", "whole"] | UnsetType = UNSET
    verify: Literal["apply", "report", "none"] | UnsetType = UNSET
    drift: DriftChange = DriftChange()
    retry: RetryChange = RetryChange()
    windows: Annotated[tuple[Window, ...], msgspec.Meta(max_length=100)] = ()
    suspend: bool = False
    shadow: bool | UnsetType = UNSET
    ignore_differences: Annotated[tuple[IgnoredDifference, ...], msgspec.Meta(max_length=100)] = ()
    visits: Literal["manual", "auto"] | UnsetType = UNSET
    prune: Literal["off", "report", "on"] | UnsetType = UNSET
    prune_limit: int | str | UnsetType | None = UNSET


def read_entries(
    option: Option | None, base: MinionPolicy, nodegroups: Mapping[str, Any], faults: list[Fault]
) -> tuple[TargetedPolicy, ...]:
    """What the key holds; what is wrong with it is appended to the faults.

    Args:
        option: the key with the places of all that is in it.
        base: what holds for all minions.
        nodegroups: of the controller's configuration.
        faults: what was found so far.
    """
    if option is None or option.value in (None, []):
        return ()
    if not isinstance(option.value, list | tuple) or len(option.value) > MOST_ENTRIES:
        faults.append(Fault(option.place, f"policies must be a list of at most {MOST_ENTRIES} entries", _FORM))
        return ()
    found: dict[str, TargetedPolicy] = {}
    for number, given in enumerate(option.value):
        place = option.at((number,))
        try:
            entry = msgspec.convert(with_seconds(given), PolicyEntry)
            expression = expanded_target(entry.target, nodegroups)
            _check(entry, expression, base)
        except (msgspec.ValidationError, BadTarget, PatternRefused, BadSchedule, ValueError) as error:
            hint = _near(given) or (_FORM if isinstance(error, msgspec.ValidationError) else "")
            faults.append(Fault(place, f"policies: {error}", hint))
            continue
        if entry.name in found:
            faults.append(Fault(place, f"policies: there are two entries with the name {entry.name!r}", "name each"))
        line = int(place.rpartition(":")[2] or 0)
        found[entry.name] = TargetedPolicy(entry.name, entry.target, expression, _changes(entry), line)
    return tuple(found.values())


def _check(entry: PolicyEntry, expression: str, base: MinionPolicy) -> None:
    """BadTarget, BadSchedule or ValueError for what cannot hold."""
    if any(word.partition("@")[0] in ("I", "J") for word in expression.split()):
        raise BadTarget(f"{entry.target!r} asks for pillar, which is compiled under the policy: use ids or grains")
    changes = _changes(entry)
    if not changes:
        raise ValueError(f"the entry {entry.name!r} changes nothing")
    drift = changed(base, changes).drift
    drift.schedule()
    check_autonomy(drift)
    for window in entry.windows:
        check_window(window)
    check_ignored(entry.ignore_differences)
    check_prune_limit(None if entry.prune_limit is UNSET else entry.prune_limit)


def _changes(entry: PolicyEntry) -> dict[str, Any]:
    """Key -> value of all that is said."""
    said = {
        key: getattr(entry, key)
        for key in ("apply", "confirm", "push", "verify", "shadow", "visits", "prune", "prune_limit")
    }
    for section, fields in (("drift", entry.drift), ("retry", entry.retry)):
        said |= {f"{section}.{key}": getattr(fields, key) for key in fields.__struct_fields__}
    said |= {"windows": entry.windows or UNSET, "suspend": entry.suspend or UNSET}
    said |= {"ignore_differences": entry.ignore_differences or UNSET}
    return {key: value for key, value in said.items() if value is not UNSET}


def _near(given: Any) -> str:
    """The known key that a mistyped one is close to."""
    if not isinstance(given, Mapping):
        return _FORM
    sections = (
        ("", given, PolicyEntry),
        ("drift", given.get("drift"), DriftChange),
        ("retry", given.get("retry"), RetryChange),
    )
    for _, keys, struct in sections:
        for key in keys if isinstance(keys, Mapping) else ():
            if key not in struct.__struct_fields__:
                return did_you_mean(str(key), struct.__struct_fields__, quote="`")
    return ""
