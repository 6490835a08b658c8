"""Which kind of difference a drift check has found in a state: who or what is behind it. Pure.

A state's past is a short list of what was seen of it, the newest last; only changes of what is seen are kept. The
past of a minion's states is made of the results of its runs (`noted`), and the class of each follows from it
(`drift_class`). Called when the result of a run is stored, and for people.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from controller.store import Past, SeenState, What

FLAPS = 3
"""Times that a state may have drifted within `FLAP_WINDOW` before it counts as flapping."""
FLAP_WINDOW = 86400.0
"""Seconds."""
MOST_SEEN = 16
"""That are kept of a state."""
MOST_STATES = 256
"""Of a minion, whose past is kept: those that were seen last."""
FORGET = 7 * 86400.0
"""Seconds after which a state that is as it should be has no past."""


IGNORED = "ignored"
"""Stands among the classes for what differs and is no drift by policy."""


class DriftClass(enum.StrEnum):
    """What is behind a difference."""

    CORRECTIVE = "corrective"
    """Somebody changed the machine."""
    INTENDED = "intended"
    """Git moved: the plan of a push left the state out."""
    NOT_CONVERGENT = "not-convergent"
    """The state changes something each time it is run: known as acting, and no drift."""
    FLAPPING = "flapping"
    """It is changed and put right again and again."""


def drift_class(seen: Sequence[SeenState], now: float) -> DriftClass | None:
    """The class of what differs now; None where nothing does.

    Args:
        seen: of the state, oldest first.
        now: seconds since the epoch.
    """
    if not seen or seen[-1].what not in ("drifted", "moved"):
        return None
    if _since_clean(seen, "again"):
        return DriftClass.NOT_CONVERGENT
    if seen[-1].what == "moved":
        return DriftClass.INTENDED
    times = sum(1 for one in seen if one.what == "drifted" and one.at > now - FLAP_WINDOW)
    return DriftClass.FLAPPING if times > FLAPS else DriftClass.CORRECTIVE


def acts_each_time(past: Past) -> frozenset[str]:
    """The states that would change something again after each run."""
    return frozenset(key for key, seen in past.items() if _since_clean(seen, "again"))


def noted(
    past: Past, states: Mapping[str, Mapping[str, Any]], now: float, *, test: bool, after_push: bool
) -> dict[str, tuple[SeenState, ...]]:
    """The past of a minion's states after a run.

    Args:
        past: before it.
        states: its results.
        now: seconds since the epoch.
        test: whether it changed nothing: a drift check.
        after_push: whether it is the check that follows a push.
    """
    found = dict(past)
    for key, entry in states.items():
        what = _what(entry, test=test, after_push=after_push)
        before = found.get(key, ())
        if what is None or (not before and what == "clean"):
            continue
        if before and (before[-1].what == what or (before[-1].what, what) == ("drifted", "moved")):
            continue
        found.pop(key, None)
        found[key] = (*before, SeenState(now, what))[-MOST_SEEN:]
    kept = {key: seen for key, seen in found.items() if seen[-1].what != "clean" or seen[-1].at > now - FORGET}
    return dict(list(kept.items())[-MOST_STATES:])


def counted(past: Past, states: Mapping[str, Mapping[str, Any]], now: float) -> dict[str, int]:
    """Class -> states of a drift check; `ignored` for those of which something differs that policy ignores."""
    found: dict[str, int] = {}
    for key, entry in states.items():
        if entry.get("ignored"):
            found[IGNORED] = found.get(IGNORED, 0) + 1
        one = drift_class(past.get(key, ()), now) if entry.get("result") is None else None
        if one is not None:
            found[one.value] = found.get(one.value, 0) + 1
    return found


def _since_clean(seen: Sequence[SeenState], what: What) -> bool:
    for one in reversed(seen):
        if one.what == "clean":
            return False
        if one.what == what:
            return True
    return False


def _what(entry: Mapping[str, Any], *, test: bool, after_push: bool) -> What | None:
    """What a result says of its state; None: nothing."""
    result = entry.get("result")
    if test and result is None:
        return "moved" if after_push else "drifted"
    if result is not True or entry.get("__state_ran__") is False:
        return None
    return "again" if not test and entry.get("not_convergent") else "clean"
