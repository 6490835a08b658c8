"""What decides when a change is applied, and what is done beside it. Pure; called by `preview` for its report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from controller.policy.ignored import expired
from controller.policy.policy import IgnoredDifference, Policy, TargetedPolicy
from controller.schema.reports import ApplyTiming
from highstate.types import Minion
from reactors.windows import Window, duration_text, window_text, windows_text

_ALTER_GRAINS = "grains"
"""The state module that changes what the compile reads."""


def apply_timing(
    *,
    changed: Collection[str],
    waiting: Mapping[str, Collection[str]],
    paused: Collection[str],
    connected: Collection[str],
    policies: tuple[Policy, Policy],
    now: float,
    whole: Mapping[str, str],
    released: Collection[str],
    second_runs: Collection[str],
) -> tuple[ApplyTiming, ...]:
    """What is to be said; nothing when the change is applied at once.

    Args:
        changed: minions for which something is run.
        waiting: why the policy of the head has minions wait -> those, with those whose document changes no state.
        paused: minions that are paused.
        connected: minions that are connected.
        policies: of the base and of the head.
        now: seconds since the epoch.
        whole: minion -> why its whole highstate is run.
        released: minions on which something waits for a person, and does no more.
        second_runs: minions that are compiled again after the run, as it changes what the compile reads.
    """
    found = _of_policy(*policies, now)
    found += [_timing("manual", text, minions) for text, minions in waiting.items()]
    texts: dict[str, list[str]] = {}
    for minion, why in whole.items():
        texts.setdefault(why, []).append(minion)
    for why, some in texts.items():
        found.append(_timing("whole", f"all states are run, not only those that change: {why}", some))
    for kind, minions, text in (
        ("paused", set(changed) & set(paused), "paused: applied after `saltern resume`"),
        ("offline", set(changed) - set(connected), "not connected: applied once they are"),
        ("pending", released, "what waits for `saltern sync` there is applied, too"),
        ("second-run", second_runs, "the run changes grains, after which the highstate may be compiled and run again"),
    ):
        if minions:
            found.append(_timing(kind, text, minions))
    return tuple(found)


def waiting_for(policy: Policy, minions: Iterable[Minion], now: float) -> dict[str, list[str]]:
    """Why minions wait under a policy -> which.

    Args:
        policy: of the head.
        minions: those that the change is for.
        now: seconds since the epoch.
    """
    found: dict[str, list[str]] = {}
    for minion in minions:
        one = policy.of(minion)
        if one.shadow:
            text = "in shadow by saltern.yaml: nothing is applied until that is taken out"
        elif one.suspend:
            text = "suspended in saltern.yaml: the change waits until that is taken out"
        elif one.apply == "manual":
            text = "apply: manual in saltern.yaml: the change waits for `saltern sync`"
        elif shut := window_text(one.windows, now):
            text = f"the change waits for a window: {shut}"
        elif one.apply == "confirm":
            limit = duration_text(one.confirm)
            text = f"apply: confirm in saltern.yaml: taken back after {limit} without `saltern confirm`"
        else:
            continue
        found.setdefault(text, []).append(minion.id)
    return found


def policy_changes(before: Policy, after: Policy) -> list[str]:
    """`apply: auto -> manual` for each key in which two policies differ."""
    one, other = _leaves("", before), _leaves("", after)
    keys = dict.fromkeys((*one, *other))
    return [
        f"{key}: {_shown(one.get(key, ()))} -> {_shown(other.get(key, ()))}"
        for key in keys
        if one.get(key, ()) != other.get(key, ())
    ]


def alters_grains(key: str) -> bool:
    """Whether the state of this key changes grains."""
    return key.partition("_|-")[0] == _ALTER_GRAINS


def _of_policy(before: Policy, after: Policy, now: float) -> list[ApplyTiming]:
    changes = policy_changes(before, after)
    texts = [f"saltern.yaml changes: {', '.join(changes)}"] if changes else []
    texts += [f"saltern.yaml: {problem.message}" for problem in expired(after, now)]
    return [ApplyTiming(kind="policy", text=text) for text in texts]


def _leaves(path: str, value: Any) -> dict[str, Any]:
    if isinstance(value, TargetedPolicy):
        return {f"{path}.target": value.target, **{f"{path}.{key}": each for key, each in value.changes.items()}}
    if isinstance(value, tuple) and value and isinstance(value[0], TargetedPolicy):
        return {key: leaf for entry in value for key, leaf in _leaves(f"{path}.{entry.name}", entry).items()}
    if not hasattr(value, "__struct_fields__"):
        return {path: value}
    return {
        key: leaf
        for name, each in structs.asdict(value).items()
        for key, leaf in _leaves(f"{path}.{name}" if path else name, each).items()
    }


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], Window):
        return windows_text(value)
    if isinstance(value, tuple) and value and isinstance(value[0], IgnoredDifference):
        return " and ".join(each.text() for each in value)
    return (
        ", ".join(map(str, value)) or "none"
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )


def _timing(kind: Any, text: str, minions: Collection[str]) -> ApplyTiming:
    return ApplyTiming(kind=kind, text=text, minions=tuple(sorted(minions)))
