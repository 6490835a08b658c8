"""The decision: what is compiled, asked of minions or carried over now. Pure; `build_reconciler` carries it out.

Level-triggered, as `controller.reconcile.deciding.decision`: the answer follows from the facts in `BuildState` alone,
whatever woke the loop. One compile is in progress at a time; what changes meanwhile is decided at its end, against the
newest revision. After a restart that counts as compiled which the store says to hold still (docs/adr/0032).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

RETRY_SECONDS = 60.0
"""Until a minion is compiled again whose external pillar or secrets could not be had."""

COMPARE_SECONDS = 1.0
"""Between two comparisons of answers about the fleet, however often a mine, a key or a connection changes."""

QUERY_SECONDS = 12.0
"""Until a query counts as not answered. The minion gives up after 10 s; the rest is for the way."""

MOST_ROUNDS = 50
"""Of questions that follow from answers, for one document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPolicy:
    """What the decision depends on beside the facts. Times in seconds."""

    refresh_seconds: float = 0.0
    """Until a document is compiled again that stands on external pillars, secrets or programs (`pillar_cache_ttl`);
    0: never."""
    facts_interval: float = 0.0
    """Until a connected minion is asked again what its document stands on; 0: only when a compile needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a document is made from. Equal inputs of one minion give an equal document, age apart."""

    revision: str
    """Digest of the trees."""
    grains: int = 0
    """Rises when the minion's grains change."""
    answers: int = 0
    """Rises when recorded answers of the minion, or answers about the fleet, change."""
    connection: int = 0
    """Rises when the minion connects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuery:
    """Questions that a minion was sent and has not answered."""

    deadline: float
    connection: int
    """`Inputs.connection` when they were sent; on another one the answers are lost."""
    for_compile: bool
    """Whether a compile waits for the answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A compile that gave no document because questions have no answer yet. Nothing of it is stored."""

    inputs: Inputs
    rounds: int
    """How often in a row the minion was asked what a compile lacked."""
    too_many: bool = False
    """Whether there are more questions than a minion is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionBuild:
    """The facts about one minion's document."""

    minion: str
    connected: bool
    inputs: Inputs
    """As they are now."""
    compiled: Inputs | None
    """Those of the newest stored compile, or of what was carried over; None: none since the controller's start."""
    affected: bool
    """Whether the live trees differ from the compiled ones in what its document was made from."""
    failed: bool = False
    """The newest stored compile gave errors."""
    external: bool = False
    """The newest stored compile stands on more than trees, grains and answers."""
    compiled_at: float = 0.0
    questions: bool = False
    """Whether there are recorded answers that the minion can be asked for again."""
    answered_at: float | None = None
    """When it was asked last."""
    asked_for: Inputs | None = None
    """Inputs for which it was asked since its newest compile."""
    query: OpenQuery | None = None
    unfinished: Unfinished | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAnswers:
    """Answers about the fleet (`mine.get`, runners) that documents stand on."""

    changed: bool
    """Whether a mine, a key or a connection changed since they were compared last."""
    compared_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildState:
    """All that the decision depends on."""

    revision: str
    """Digest of the live trees; empty when there are none yet."""
    compiling: bool
    minions: tuple[MinionBuild, ...]
    """Those to be looked at."""
    unaffected: tuple[str, ...] = ()
    """Minions whose documents the live trees leave as they are, and about which nothing else is new."""
    fleet: FleetAnswers | None = None


class Questions(enum.Enum):
    """Which questions a minion is asked."""

    RECORDED = "recorded"
    """Those that its document stands on, again."""
    UNANSWERED = "unanswered"
    """Those that its compile was left with."""


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """Send questions to a minion; with `for_compile` it is compiled afterwards, else only when an answer is new."""

    minion: str
    questions: Questions
    for_compile: bool


@dataclass(frozen=True, slots=True)
class TimeOutQuery:
    """Go on with the answers that were recorded before."""

    minion: str


@dataclass(frozen=True, slots=True)
class Compile:
    """Compile these minions against the live trees, with the recorded answers."""

    minions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CarryOver:
    """The live revision leaves the documents of these minions as they are."""

    minions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoreErrors:
    """Store the errors of an unfinished compile: its questions cannot be asked now."""

    minion: str


@dataclass(frozen=True, slots=True)
class CompareFleetAnswers:
    """Look for minions whose answers about the fleet are others than those they were compiled with."""


@dataclass(frozen=True, slots=True)
class RequeueBuildAfter:
    """Look at this minion (empty: at the answers about the fleet) again at this time, in seconds since the epoch."""

    minion: str
    time: float


BuildInstruction: TypeAlias = (
    QueryFacts | TimeOutQuery | Compile | CarryOver | StoreErrors | CompareFleetAnswers | RequeueBuildAfter
)


class Staleness(enum.Enum):
    """Why a minion has to be compiled."""

    CURRENT = "current"
    UNAFFECTED = "unaffected"
    """Its document is the live revision's as it is."""
    ANSWERS = "answers"
    """Answers are new; they were just given."""
    INPUTS = "inputs"
    """Trees, grains or external data are new, or it is back after a failure: answers may be new, too."""


def decide(state: BuildState, policy: BuildPolicy, now: float) -> list[BuildInstruction]:
    """What to do now, in this order: time-outs and questions, then one compile, then what it spares, then timers."""
    found = _compare(state.fleet, now)
    if not state.revision:
        return found
    for minion in state.minions:
        found += _decide_minion(minion, compiling=state.compiling, policy=policy, now=now)
    spared = CarryOver(() if state.compiling else state.unaffected)
    return _grouped([*found, spared])


def staleness(minion: MinionBuild, policy: BuildPolicy, now: float) -> Staleness:
    """Whether a minion's document is what its inputs give, and what is new otherwise."""
    compiled, inputs = minion.compiled, minion.inputs
    moved = compiled is None or compiled.revision != inputs.revision
    if (
        compiled is None
        or (moved and minion.affected)
        or compiled.grains != inputs.grains
        or (minion.failed and compiled.connection != inputs.connection)
        or _expires_at(minion, policy) <= now
    ):
        return Staleness.INPUTS
    if compiled.answers != inputs.answers:
        return Staleness.ANSWERS
    return Staleness.UNAFFECTED if moved else Staleness.CURRENT


def _decide_minion(minion: MinionBuild, *, compiling: bool, policy: BuildPolicy, now: float) -> list[BuildInstruction]:
    if minion.query is not None and (minion.query.connection == minion.inputs.connection or not minion.connected):
        return _await_answers(minion.minion, minion.query, now)
    if minion.unfinished is not None and _same_sources(minion.unfinished.inputs, minion.inputs):
        return _finish(minion, minion.unfinished)
    stale = staleness(minion, policy, now)
    lost = minion.query is not None and minion.query.for_compile
    if _to_be_asked(minion, stale, policy, now):
        return [QueryFacts(minion.minion, Questions.RECORDED, for_compile=lost or stale is not Staleness.CURRENT)]
    if compiling:
        return []  # its end brings us here again
    match stale:
        case Staleness.INPUTS | Staleness.ANSWERS:
            return [Compile((minion.minion,))]
        case Staleness.UNAFFECTED:
            return [CarryOver((minion.minion,)), *_timers(minion, policy)]
        case Staleness.CURRENT:
            return _timers(minion, policy)


def _await_answers(minion: str, query: OpenQuery, now: float) -> list[BuildInstruction]:
    return [TimeOutQuery(minion)] if now >= query.deadline else [RequeueBuildAfter(minion, query.deadline)]


def _finish(minion: MinionBuild, unfinished: Unfinished) -> list[BuildInstruction]:
    if minion.connected and not unfinished.too_many and unfinished.rounds < MOST_ROUNDS:
        return [QueryFacts(minion.minion, Questions.UNANSWERED, for_compile=True)]
    return [StoreErrors(minion.minion)]


def _to_be_asked(minion: MinionBuild, stale: Staleness, policy: BuildPolicy, now: float) -> bool:
    if not minion.connected or not minion.questions:
        return False
    if minion.query is not None:
        return True  # the answers were for a connection that is gone
    if stale is Staleness.INPUTS:
        # What it is compiled from is new, so that its answers may be, too; unless it was asked for just these inputs.
        return minion.asked_for is None or not _same_sources(minion.asked_for, minion.inputs)
    return stale in (Staleness.CURRENT, Staleness.UNAFFECTED) and _ask_again_at(minion, policy) <= now


def _same_sources(one: Inputs, other: Inputs) -> bool:
    """Whether inputs are equal but for answers, which follow from them."""
    return (one.revision, one.grains) == (other.revision, other.grains)


def _timers(minion: MinionBuild, policy: BuildPolicy) -> list[BuildInstruction]:
    time = _expires_at(minion, policy)
    if minion.connected and minion.questions:
        time = min(time, _ask_again_at(minion, policy))
    return [] if time == float("inf") else [RequeueBuildAfter(minion.minion, time)]


def _expires_at(minion: MinionBuild, policy: BuildPolicy) -> float:
    if not policy.refresh_seconds or not minion.external:
        return float("inf")
    seconds = min(policy.refresh_seconds, RETRY_SECONDS) if minion.failed else policy.refresh_seconds
    return minion.compiled_at + seconds


def _ask_again_at(minion: MinionBuild, policy: BuildPolicy) -> float:
    if not policy.facts_interval or minion.answered_at is None:
        return float("inf")
    return minion.answered_at + policy.facts_interval


def _compare(fleet: FleetAnswers | None, now: float) -> list[BuildInstruction]:
    if fleet is None or not fleet.changed:
        return []
    again = fleet.compared_at + COMPARE_SECONDS
    return [RequeueBuildAfter("", again)] if now < again else [CompareFleetAnswers()]


def _grouped(instructions: Iterable[BuildInstruction]) -> list[BuildInstruction]:
    """One compile and one carrying over for all."""
    first: list[BuildInstruction] = []
    timers: list[BuildInstruction] = []
    compiled: list[str] = []
    spared: list[str] = []
    for instruction in instructions:
        match instruction:
            case Compile(minions=minions):
                compiled += minions
            case CarryOver(minions=minions):
                spared += minions
            case RequeueBuildAfter():
                timers.append(instruction)
            case _:
                first.append(instruction)
    both: list[BuildInstruction] = [Compile(tuple(compiled))] if compiled else []
    both += [CarryOver(tuple(spared))] if spared else []
    return [*first, *both, *timers]
