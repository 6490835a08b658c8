"""Whether a commit does what it is for: the drift is gone on the machine, and what else it changes is told. Pure.

Reads the reports of two previews: what the commit changes in the fleet, and a test run on the minion itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller.schema.errors import ServiceError
from controller.schema.fleet.adoption import AdoptEffect
from controller.schema.reports import LiveTest, PreviewReport

_MOST_PROBLEMS = 20
_MOST_NAMED = 5


def refuse_broken(report: PreviewReport) -> None:
    """ServiceError where the trees do not compile any more."""
    texts = [text for each in report.broken for text in each.texts]
    if texts:
        raise ServiceError(
            "compile",
            f"with this change the trees do not compile for {report.broken[0].folded}",
            hint="change them by hand",
            problems=texts[:_MOST_PROBLEMS],
        )


def still_drifting(report: PreviewReport, minion: str, keys: Collection[str]) -> dict[str, str]:
    """Key -> why, of the states of which the minion does not say that nothing would be changed.

    Args:
        report: of a preview whose test runs are those of the minion.
        minion: its id.
        keys: states that the commit is for; their functions may be others in it.
    """
    unknown = [text for each in report.unknown if minion in each.minions for text in each.texts]
    if unknown:
        return dict.fromkeys(keys, f"what it means is not known without {', '.join(unknown[:3])}")
    tests = [test for each in report.classes for test in each.tests if test.minion == minion]
    if not tests:
        return dict.fromkeys(keys, "the change in git changes nothing for this minion: the value comes from elsewhere")
    return {key: why for key in keys if (why := _still_drifts(tests[0], key))}


def _still_drifts(test: LiveTest, key: str) -> str:
    if test.outcome == "unreachable":
        return f"it could not be tried on the machine: {test.summary}"
    entries = _of_state({**test.states, **test.drift}, key)
    if not entries:
        return "the change in git does not reach this state: the value comes from elsewhere"
    for entry in entries:
        if entry.get("result") is not True or entry.get("changes"):
            return f"with the change in git it would still be changed: {str(entry.get('comment', ''))[:200]}"
    return ""


def _of_state(states: Mapping[str, Mapping[str, object]], key: str) -> list[Mapping[str, object]]:
    """Of a state, whatever its function is by now."""
    return [entry for name, entry in states.items() if _without_function(name) == _without_function(key)]


def _without_function(key: str) -> str:
    return key.rpartition("_|-")[0]


def effects(fleet: PreviewReport, own: PreviewReport, minion: str, keys: Collection[str]) -> tuple[AdoptEffect, ...]:
    """What the commit changes beside the adopted states of the minion.

    Args:
        fleet: report about all minions. A class of several has names with holes in them.
        own: report about the minion alone, which has none.
        minion: its id.
        keys: of the adopted states.
    """
    adopted = {_without_function(key) for key in keys}
    found = []
    for each in own.classes:
        here = tuple(one.title for one in each.resources if _without_function(one.key) not in adopted)
        if here:
            found.append(AdoptEffect(minions=(minion,), states=here))
    for each in fleet.classes:
        if others := tuple(one for one in each.minions if one != minion):
            found.append(AdoptEffect(minions=others, states=tuple(one.title for one in each.resources)))
    return tuple(found)


def others_in(found: Collection[AdoptEffect], minion: str) -> str:
    """The other minions that the commit changes, for people; empty where there are none."""
    others = sorted({one for each in found for one in each.minions if one != minion})
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    return ", ".join(others[:_MOST_NAMED]) + more
