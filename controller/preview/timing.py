"""What decides when a change is applied, and what is done beside it. Pure; called by `preview` for its report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import structs

from controller.reconcile.policy import Policy
from controller.schema.reports import ApplyTiming

_ALTER_GRAINS = "grains"
"""The state module that changes what the compile reads."""


def apply_timing(
    *,
    changed: Collection[str],
    rescheduled: Collection[str],
    paused: Collection[str],
    connected: Collection[str],
    policies: tuple[Policy, Policy],
    whole: Mapping[str, str],
    released: Collection[str],
    second_runs: Collection[str],
) -> tuple[ApplyTiming, ...]:
    """What is to be said; nothing when the change is applied at once.

    Args:
        changed: minions for which something is run.
        rescheduled: others that get another document, with which nothing is run.
        paused: minions that are paused.
        connected: minions that are connected.
        policies: of the base and of the head.
        whole: minion -> why its whole highstate is run.
        released: minions on which something waits for a person, and does no more.
        second_runs: minions that are compiled again after the run, as it changes what the compile reads.
    """
    found = _of_policy(*policies)
    if policies[1].apply == "manual" and (waiting := {*changed, *rescheduled}):
        text = "apply: manual in saltern.yaml: the change waits for `saltern sync`"
        found.append(_timing("manual", text, waiting))
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


def policy_changes(before: Policy, after: Policy) -> list[str]:
    """`apply: auto -> manual` for each key in which two policies differ."""
    one, other = _leaves("", before), _leaves("", after)
    return [f"{key}: {_shown(one[key])} -> {_shown(other[key])}" for key in one if one[key] != other[key]]


def alters_grains(key: str) -> bool:
    """Whether the state of this key changes grains."""
    return key.partition("_|-")[0] == _ALTER_GRAINS


def _of_policy(before: Policy, after: Policy) -> list[ApplyTiming]:
    changes = policy_changes(before, after)
    return [ApplyTiming(kind="policy", text=f"saltern.yaml changes: {', '.join(changes)}")] if changes else []


def _leaves(path: str, value: Any) -> dict[str, Any]:
    if not hasattr(value, "__struct_fields__"):
        return {path: value}
    return {
        key: leaf
        for name, each in structs.asdict(value).items()
        for key, leaf in _leaves(f"{path}.{name}" if path else name, each).items()
    }


def _shown(value: Any) -> str:
    return (
        ", ".join(map(str, value)) or "none"
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )


def _timing(kind: Any, text: str, minions: Collection[str]) -> ApplyTiming:
    return ApplyTiming(kind=kind, text=text, minions=tuple(sorted(minions)))
