"""What a reactor does about one event: typed reactions, and what was wrong with those that are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from highstate.types import Problem

ReactionType: TypeAlias = Literal["local", "runner", "wheel", "caller", "reconcile", "notify"]
"""local: a job on minions; runner and wheel: a function of the controller; caller: a function on its own machine;
reconcile: what people do with `saltern sync`, or a fetch; notify: a message to people. The last two are Saltern's."""

REACTION_TYPES: tuple[ReactionType, ...] = get_args(ReactionType)


class Parameters(NamedTuple):
    """Of a runner or wheel function."""

    positional: tuple[str, ...]
    """Without a default."""
    optional: tuple[str, ...]
    any_name: bool = False
    """Whether it takes further named arguments."""


NOTIFIERS: Mapping[str, str] = {"slack": "slack_webhook", "smtp": "smtp", "syslog": "syslog", "webhook": "webhook"}
"""Functions of `notify` -> the returners whose options and senders they use."""

OWN_FUNCTIONS: Mapping[tuple[str, str], Parameters] = {
    ("reconcile", "sync"): Parameters((), ("whole",)),
    ("reconcile", "refresh"): Parameters((), ("remote",)),
    **{("notify", name): Parameters((), ("text", "title", "profile")) for name in NOTIFIERS},
}
"""(type, function) -> parameters, of the types that are Saltern's."""


def functions_of_type(kind: str) -> tuple[str, ...]:
    """The functions of a type that is Saltern's, as they are written; none for another."""
    return tuple(f"{one}.{fun}" for one, fun in OWN_FUNCTIONS if one == kind)


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
    """Of `local` and `reconcile.sync`: a pattern, or a list of ids."""
    tgt_type: str | None = None
    arg: tuple[Any, ...] = ()
    kwarg: dict[str, Any] = field(default_factory=dict)
    ret: str = ""
    """Returners, with commas between."""
    ret_config: str = ""
    """The profile of their options."""
    ret_kwargs: dict[str, Any] = field(default_factory=dict)
    """Options above those of the configuration."""
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
