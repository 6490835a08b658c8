"""What of a policy holds for a minion, and which entry says so. Pure; called for `saltern policy explain`."""

from __future__ import annotations

from typing import Any

import msgspec

from controller.policy.policy import MinionPolicy, Policy, changed
from controller.schema.fleet.policies import PolicyIgnored, PolicyKey, PolicyView, PolicyWindow
from highstate.types import Minion
from reactors.windows import is_active, look, opens_at

_PLAIN = ("apply", "confirm", "push", "verify", "suspend", "shadow", "visits", "prune", "prune_limit")
_SECTIONS = ("drift", "retry")
DEFAULT = "default"


def explained(policy: Policy, minion: Minion, now: float, revision: str = "") -> PolicyView:
    """What holds for a minion at a moment.

    Args:
        policy: of a revision.
        minion: whose.
        now: seconds since the epoch.
        revision: its label.
    """
    one: MinionPolicy = policy
    sources = {
        key: ("saltern.yaml" if value != _leaves(MinionPolicy())[key] else DEFAULT)
        for key, value in _leaves(one).items()
    }
    windows = [(window, "saltern.yaml") for window in policy.windows]
    ignored = [(rule, "saltern.yaml") for rule in policy.ignore_differences]
    matching = [entry for entry in policy.policies if entry.concerns(minion)]
    for entry in matching:
        before, one = _leaves(one), changed(one, entry.changes)
        source = f"{entry.name} (saltern.yaml:{entry.line})"
        said = {key for key, value in _leaves(one).items() if value != before[key]} | entry.changes.keys()
        sources |= dict.fromkeys(said & sources.keys(), source)
        windows += [(window, source) for window in entry.changes.get("windows", ())]
        ignored += [(rule, source) for rule in entry.changes.get("ignore_differences", ())]
    state = look(one.windows, now)
    return PolicyView(
        minion=minion.id,
        revision=revision,
        entries=tuple(entry.name for entry in matching),
        keys=tuple(PolicyKey(key=key, value=value, source=sources[key]) for key, value in _leaves(one).items()),
        windows=tuple(
            PolicyWindow(
                kind=window.kind,
                schedule=window.schedule,
                duration=window.duration,
                timezone=window.timezone,
                manual=window.manual,
                source=source,
                open=is_active(window, now),
            )
            for window, source in windows
        ),
        ignored=tuple(
            PolicyIgnored(
                **{**rule.rule().as_plain(), "reason": rule.reason},
                expired=rule.rule().expired(now),
                source=source,
            )
            for rule, source in ignored
        ),
        open=state.open and not one.applies_nothing,
        manual=(state.open or state.manual) and not one.applies_nothing,
        why="in shadow" if one.shadow else "suspended" if one.suspend else state.why,
        opens_at=None if state.open or one.applies_nothing else opens_at(one.windows, now),
        changes_at=state.changes_at,
    )


def _leaves(policy: MinionPolicy) -> dict[str, Any]:
    """Key -> value, but for windows."""
    found = {key: getattr(policy, key) for key in _PLAIN}
    for section in _SECTIONS:
        found |= {f"{section}.{key}": value for key, value in msgspec.structs.asdict(getattr(policy, section)).items()}
    return found
