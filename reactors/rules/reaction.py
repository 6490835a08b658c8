"""What a reactor does about one event: typed reactions, and what was wrong with those that are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from highstate.types import Problem

ReactionType: TypeAlias = Literal["local", "runner", "wheel", "caller", "reconcile"]
"""local: a job on minions; runner and wheel: a function of the controller; caller: a function on its own machine;
reconcile: what people do with `saltern sync`, of native rules alone."""

REACTION_TYPES: tuple[ReactionType, ...] = ("local", "runner", "wheel", "caller")


class Parameters(NamedTuple):
    """Of a runner or wheel function."""

    positional: tuple[str, ...]
    """Without a default."""
    optional: tuple[str, ...]
    any_name: bool = False
    """Whether it takes further named arguments."""


ParametersOf: TypeAlias = Callable[[Literal["runner", "wheel"], str], "Parameters | None"]
"""The parameters of a function of the controller; None when there is no such function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionCall:
    """One call that a reactor SLS asks for, its arguments settled."""

    sls: str
    """The file, as the reactor names it."""
    id: str
    type: ReactionType
    fun: str
    tgt: Any = None
    """Of `local` alone: a pattern, or a list of ids."""
    tgt_type: str | None = None
    arg: tuple[Any, ...] = ()
    kwarg: dict[str, Any] = field(default_factory=dict)
    ret: str = ""
    """Returners, with commas between."""
    batch: str = ""
    """A number of minions, or a part of them in percent; empty: all at once."""
    subset: int = 0
    """So many minions by chance; 0: all."""
    timeout: float = 0.0
    """Seconds that answers are waited for; 0: as long as the controller's own jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactions:
    """What came of the reactor SLS of one event, in the order in which it is done."""

    reactions: tuple[ReactionCall, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What keeps a reaction from being done."""
    warnings: tuple[Problem, ...] = ()
    """What was written and has no effect."""
