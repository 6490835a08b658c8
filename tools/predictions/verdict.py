"""Compares what was foretold with what happened. Pure."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.predictions.prediction import ForetoldState, Prediction

_ACCOUNTS = ("user_|-", "group_|-")
_WOULD_FAIL = "this would be failed"
"""Of test.fail_with_changes, whose result under test=True is None as in Salt."""
_MAY_FAIL = "a command may fail"
"""A doubt that explains nothing where none has failed."""
_EACH_RUN = ("pid", "stdout", "stderr", "retcode")
"""What a command says is not foretold."""


class Verdict(enum.Enum):
    """How good a prediction was."""

    EXACT = "exact"
    MARKED = "right but for what is marked as uncertain"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a merge did."""

    states: dict[str, dict[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Minion -> what its first run gave, by key."""
    broken: frozenset[str] = frozenset()
    waiting: dict[str, str] = field(default_factory=dict)
    """Minion -> why nothing was run there although something is pending: paused, offline, manual."""
    waited: frozenset[str] = frozenset()
    """Minions of which that was so before."""
    more_runs: dict[str, list[str]] = field(default_factory=dict)
    """Minion -> causes of runs after the first, those that the check after a push has made aside."""
    missed: dict[str, frozenset[str]] = field(default_factory=dict)
    """Minion -> states that acted because the check after the push has found them."""
    refused: str = ""
    """Why the whole revision was refused."""
    traces: tuple[str, ...] = ()
    """What the preview left on minions."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which the outcome is not the prediction."""

    minion: str
    key: str
    what: str
    marked: bool
    why: str = ""
    """Why the preview did not vouch for it."""


def compare(prediction: Prediction, outcome: Outcome) -> list[Difference]:
    """Differences; none for an exact prediction."""
    found = [Difference("", "", f"the preview left {trace}", marked=False) for trace in outcome.traces]
    if outcome.refused:
        foretold = any("saltern.yaml" in text for text in prediction.problems)
        return [*found, *([] if foretold else [Difference("", "", "the revision is refused, unsaid", marked=False)])]
    for minion in sorted(outcome.broken ^ prediction.broken):
        what = "does not compile, unsaid" if minion in outcome.broken else "compiles, although it was said not to"
        found.append(Difference(minion, "", what, marked=minion in prediction.unknown))
    for minion, why in outcome.waiting.items():
        news = minion in prediction.states or minion not in outcome.waited
        if news and minion not in prediction.timing.get(why, ()):
            found.append(Difference(minion, "", f"waits ({why}), unsaid", marked=False))
    for minion in sorted((outcome.states.keys() | prediction.states.keys()) - outcome.broken - outcome.waiting.keys()):
        if minion in prediction.unknown:
            found.append(Difference(minion, "", "not known", marked=True))
        elif minion in prediction.untested:
            found.append(Difference(minion, "", "not tested", marked=True))
        else:
            pair = prediction.states.get(minion, {}), outcome.states.get(minion, {})
            found += _of_minion(minion, *pair)
        for cause in outcome.more_runs.get(minion, ()):
            marked = minion in prediction.timing.get("second-run", ())
            found.append(Difference(minion, "", f"one more run: {cause}", marked=marked))
        if minion not in prediction.unknown | prediction.untested:
            found += _missed(minion, prediction, outcome)
    return found


def _missed(minion: str, prediction: Prediction, outcome: Outcome) -> Iterator[Difference]:
    """What the check after the push had to do. Where the push did something uncertain, so is what is left to do.

    That it may do something is right whether or not it does.
    """
    foretold, did = prediction.missed.get(minion, {}), outcome.missed.get(minion, frozenset())
    said = {key for key, state in foretold.items() if not state.uncertain}
    may = {key: state.uncertain for key, state in foretold.items() if state.uncertain}
    failed = any(state["result"] is False for state in outcome.states.get(minion, {}).values())
    doubts = [
        each.uncertain
        for each in prediction.states.get(minion, {}).values()
        if each.uncertain and (failed or not each.uncertain.endswith(_MAY_FAIL))
    ]
    why = doubts[0] if doubts else ""
    for key in sorted(did - said):
        because = may.get(key, why)
        yield Difference(minion, key, "missed by the plan, not foretold", marked=bool(because), why=because)
    for key in sorted(said - did):
        what = f"foretold to be missed by the plan, and not run: {foretold[key].comment}"
        yield Difference(minion, key, what, marked=bool(doubts), why=why)


def verdict(differences: list[Difference]) -> Verdict:
    """The sum of the differences."""
    if not differences:
        return Verdict.EXACT
    return Verdict.MARKED if all(each.marked for each in differences) else Verdict.WRONG


def _of_minion(
    minion: str, foretold: Mapping[str, ForetoldState], happened: Mapping[str, Mapping[str, Any]]
) -> Iterator[Difference]:
    uncertain = any(each.uncertain for each in foretold.values())
    for key in sorted(foretold.keys() | happened.keys()):
        said, did = foretold.get(key), happened.get(key)
        if said is None:
            if did is not None and (did["changes"] or did["result"] is False):
                yield Difference(minion, key, f"not foretold: {_shown(did)}", marked=uncertain and "mod_watch" in key)
        elif did is None:
            if said.result is not True:
                yield Difference(
                    minion,
                    key,
                    f"foretold and not run: {said.comment}",
                    marked=bool(said.uncertain),
                    why=said.uncertain,
                )
        elif what := _differs(key, said, did):
            yield Difference(minion, key, what, marked=bool(said.uncertain), why=said.uncertain)


def _differs(key: str, said: ForetoldState, did: Mapping[str, Any]) -> str:
    fails = said.result is False or _WOULD_FAIL in said.comment
    if fails is not (did["result"] is False):
        return f"said {said.result} ({said.comment}), is {did['result']} ({did['comment']})"
    acts = bool(did["changes"])
    if key.startswith("cmd_|-") or "mod_watch" in key:
        return "" if (said.result is None) == acts else f"said {said.comment}, did {_shown(did)}"
    before, after = _comparable(said.changes), _comparable(did["changes"])
    if key.startswith(_ACCOUNTS):  # what the system chooses for a new one, such as its number
        after = {name: value for name, value in after.items() if name in before}
    if before != after:
        return f"said {before} ({said.comment}), did {after} ({did['comment']})"
    return ""


def _comparable(changes: Mapping[str, Any]) -> Any:
    """Changes without what differs each time: names of temporary files, times."""
    text = {key: value for key, value in changes.items() if key not in _EACH_RUN}
    return {
        key: re.sub(r"\d\d:\d\d:\d\d\S*", "", value) if isinstance(value, str) else value for key, value in text.items()
    }


def _shown(did: Mapping[str, Any]) -> str:
    return f"{did['result']} {did['changes']} ({did['comment']})"
