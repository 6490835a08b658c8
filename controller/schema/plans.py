"""Differences: what a push changes on a minion, and what drifted there. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from controller.schema.structs import ApiStruct


class FieldDiff(ApiStruct, frozen=True, kw_only=True):
    """One argument of a state, old and new; None where it is not there."""

    field: str
    old: Any = None
    new: Any = None


class StateDiff(ApiStruct, frozen=True, kw_only=True):
    """What a plan does with one state."""

    key: str
    action: Literal["added", "changed", "removed", "retriggered"]
    fields: tuple[FieldDiff, ...] = ()
    content: tuple[str, ...] = ()
    """Content differences, one text for each file that the state manages."""
    by: tuple[str, ...] = ()
    """Keys of the states that trigger it again."""


class DriftView(ApiStruct, frozen=True, kw_only=True):
    """A state that the last drift check found changed."""

    key: str
    comment: str = ""
    changes: Any = None
    drift_class: str = ""
    """`corrective`, `intended`, `not-convergent`, `flapping`."""
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)
    """What the machine says of who changed it, and when."""
    ignored: Any = None
    """What differs and is no drift by policy: attribute -> `change`, `reason`, `expires`."""


class UnnamedView(ApiStruct, frozen=True, kw_only=True):
    """Something that a state brought into being, that no state names any more, and that is there still."""

    resource: str
    """Its kind and name: `file:/etc/motd`."""
    inverse: str = ""
    """State function that takes it away; empty: there is none."""
    maker: str = ""
    """The state that made it."""
    fate: str = ""
    """`reported`, `left` (somebody changed it), `held` (all is held back), `no-inverse`."""
    why: str = ""


class PruneView(ApiStruct, frozen=True, kw_only=True):
    """What of a minion's inventory no state names any more, as its last run or check told it."""

    mode: str
    """`prune` of the policy that the minion has."""
    owned: int = 0
    """Resources in the inventory."""
    resources: tuple[UnnamedView, ...] = ()
    more: int = 0
    held: str = ""
    """Why nothing is removed."""
    full: bool = False
    """Whether the inventory has no room for more."""


class MinionDiff(ApiStruct, frozen=True, kw_only=True):
    """What is pending on one minion, and what drifted."""

    minion: str
    base: str = ""
    """Label of the applied revision."""
    head: str = ""
    """Label of the attempted one."""
    text: str = ""
    """The plan, ready to print; empty when nothing is pending."""
    changes: tuple[StateDiff, ...] = ()
    pillar: str = ""
    """What differs in the pillar, by the path of keys, where it makes templates give another text."""
    drift: tuple[DriftView, ...] = ()
    ignored: tuple[DriftView, ...] = ()
    """States of which something differs that policy ignores."""
    unnamed: PruneView | None = None
    """What no state names any more and is there still; None: nothing."""
    drift_at: float | None = None
    heal: str = ""
    """What takes the drift back, for people; empty without drift."""
    agent: str = ""
    """Of a stock minion, `salt 3008.1`: its drift is what Salt's test=True said."""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
