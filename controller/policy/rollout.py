"""The key `rollout` of saltern.yaml: in which order, how many at a time and on which conditions a push is applied.

    rollout:
      canary: 1
      batch: 10%
      max_failures: 5%
      on_failure: rollback
      waves:
      - {name: test, target: 'test*'}
      - {name: production, target: 'G@env:prod', after: [test], approve: true}

Without waves all minions are one. Pure types and their rules; `reading` makes them, `controller.rollouts` follows them.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from highstate.targeting.match import BadTarget, expanded_target

MOST_WAVES = 100
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=7 * 86400)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Names = Annotated[tuple[_Name, ...], msgspec.Meta(max_length=100)]


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition under which a rollout goes on: one of `prometheus`, `event` and `command`."""

    prometheus: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    """A query; the server is the controller's option `prometheus_url`."""
    expect: Literal["empty", "nonempty"] = "empty"
    """Which answer of the query is good: none, as of an alerting rule that does not fire, or some."""
    event: Annotated[str, msgspec.Meta(max_length=255)] = ""
    """A glob of tags, such as `salt/beacon/*/load/*`, of which no event must come."""
    quiet: Annotated[float, msgspec.Meta(ge=1, le=86400)] = 300.0
    """For so many seconds, counted from the release of the batch at the earliest."""
    command: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """A name of the controller's option `rollout_commands`, which must end with exit code 0."""

    @property
    def text(self) -> str:
        """What people read: `prometheus: up == 0`."""
        kind, value = next((k, v) for k, v in self.kinds.items() if v)
        return f"{kind}: {value}"

    @property
    def kinds(self) -> Mapping[str, str]:
        """Kind -> what is said of it."""
        return {"prometheus": self.prometheus, "event": self.event, "command": self.command}


class Approvals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who has to agree before a rollout begins."""

    count: Annotated[int, msgspec.Meta(ge=1, le=20)] = 1
    """Different people."""
    users: _Names = ()
    """Globs of names; empty: whoever may operate the controller."""
    states: _Names = ("*",)
    """Globs of state functions: a push that touches none of these needs no approval."""

    def concern(self, functions: Iterable[str]) -> bool:
        """Whether a push that touches states of these functions (`pkg.installed`) needs approvals."""
        return any(fnmatch.fnmatchcase(each, glob) for each in functions for glob in self.states)

    def may(self, user: str) -> bool:
        """Whether this person's approval counts."""
        return not self.users or any(fnmatch.fnmatchcase(user, glob) for glob in self.users)


class Wave(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some of the minions; what is not said here is as `rollout` says."""

    name: _Name
    target: Annotated[str, msgspec.Meta(min_length=1)] = "*"
    """Compound, without pillar. A minion is in the first wave that means it."""
    after: _Names = ()
    """Waves that have to be done before."""
    batch: int | str | None = None
    soak: _Seconds | None = None
    approve: bool = False
    """Whether somebody has to promote it (`saltern rollout promote`)."""
    gates: Annotated[tuple[Gate, ...], msgspec.Meta(max_length=20)] = ()
    """Beside those of `rollout`."""


class RolloutPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a push is rolled out. Times in seconds."""

    canary: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Minions of each class of change and operating system that come first."""
    batch: int | str = "100%"
    """Minions of a wave at a time: a number, or a percentage as text."""
    soak: _Seconds = 0.0
    """How long a batch must have been well before the next one."""
    timeout: Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)] = 3600.0
    """Until a minion that has not ended its run counts as failed."""
    max_failures: int | str = 0
    """Minions that may fail: a number, or a percentage of all."""
    on_failure: Literal["stop", "rollback"] = "stop"
    confirm: _Seconds = 0.0
    """How long people have for `saltern rollout confirm` when all is applied, before it is taken back; 0: no need."""
    approvals: Approvals | None = None
    gates: Annotated[tuple[Gate, ...], msgspec.Meta(max_length=20)] = ()
    """Conditions after each batch."""
    gate_timeout: Annotated[float, msgspec.Meta(ge=1, le=86400)] = 600.0
    """How long they are tried."""
    waves: Annotated[tuple[Wave, ...], msgspec.Meta(max_length=MOST_WAVES)] = ()

    def allowed_failures(self, minions: int) -> int:
        """How many of so many minions may fail."""
        return share("max_failures", self.max_failures, minions, down=True)

    def batch_of(self, wave: Wave, minions: int) -> int:
        """How many of the minions of a wave are released at a time, at least one."""
        return max(1, share("batch", self.batch if wave.batch is None else wave.batch, minions))


def share(name: str, given: int | str, of: int, *, down: bool = False) -> int:
    """A number, or a percentage of a number.

    Args:
        name: of the key, for the error.
        given: `3` or `10%`.
        of: what the percentage is of.
        down: whether a part of one is left out, instead of counted as one.

    Raises ValueError for anything else.
    """
    if isinstance(given, int) and given >= 0:
        return min(given, of)
    found = re.fullmatch(r"(\d{1,3})\s*%", given) if isinstance(given, str) else None
    if found is None or int(found[1]) > 100:
        raise ValueError(f"rollout.{name}: {given!r} is neither a number nor a percentage from 0% to 100%")
    exact = of * int(found[1]) / 100
    return math.floor(exact) if down else math.ceil(exact)


def with_nodegroups(policy: RolloutPolicy, nodegroups: Mapping[str, Any]) -> RolloutPolicy:
    """The policy with the nodegroups of its targets written out; ValueError for what cannot be followed."""
    share("max_failures", policy.max_failures, 1)
    for number in (policy.batch, *(wave.batch for wave in policy.waves if wave.batch is not None)):
        if share("batch", number, 100) < 1:
            raise ValueError(f"rollout.batch: {number!r} is nobody")
    _check_names(policy.waves)
    for gate in (*policy.gates, *(gate for wave in policy.waves for gate in wave.gates)):
        if sum(bool(value) for value in gate.kinds.values()) != 1:
            raise ValueError("rollout.gates: a gate is one of `prometheus`, `event` and `command`")
        if gate.event and gate.quiet > policy.gate_timeout:
            raise ValueError("rollout.gates: `quiet` is longer than `gate_timeout`, so that the gate could never pass")
    waves = tuple(msgspec.structs.replace(wave, target=_target(wave, nodegroups)) for wave in policy.waves)
    return msgspec.structs.replace(policy, waves=waves)


def _target(wave: Wave, nodegroups: Mapping[str, Any]) -> str:
    expression = expanded_target(wave.target, nodegroups)
    if any(word.partition("@")[0] in ("I", "J") for word in expression.split()):
        raise BadTarget(f"{wave.target!r} asks for pillar, which differs between revisions: use ids or grains")
    return expression


def _check_names(waves: Iterable[Wave]) -> None:
    """ValueError for two waves of a name, and where `after` names one that does not come before."""
    known: set[str] = set()
    for wave in waves:
        if wave.name in known:
            raise ValueError(f"rollout.waves: there are two waves with the name {wave.name!r}")
        for name in wave.after:
            if name not in known:
                raise ValueError(f"rollout.waves: {wave.name!r} is after {name!r}, which does not stand above it")
        known.add(wave.name)
