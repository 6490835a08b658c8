"""What would change on a minion anyway, apart from what the change of the trees does. Pure; called by `preview`.

A state that the change does not touch and that would change is drift. So is what the base would change of a touched
one: a test run with the base on the same minion tells. What fails, or of which nobody knows what it would do, is never
taken for drift.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import structs

from controller.observe.run_text import count_states, run_summary
from controller.preview.irreversible import OVERWRITTEN
from controller.schema.reports import ChangeClass, LiveTest, ResourceChange
from highstate.pruned import maker_of

_FILES = ("file.managed", "file.serialize")
_NOT_READ = "is not read in a preview"
"""Of a file that is there and that no live state determines; see `minion.worker.preview_sandbox`."""


def in_doubt(test: LiveTest, keys: Collection[str]) -> tuple[str, ...]:
    """Those of the keys that would change: what part of that is drift is not known yet."""
    return tuple(key for key in keys if _would_change(test.states.get(key, {})))


def drift_apart(test: LiveTest, touched: Collection[str], base: Mapping[str, Any]) -> LiveTest:
    """The test with its drift apart.

    Args:
        test: of the head.
        touched: keys of the states that the change touches.
        base: states of a test run of the base, those that it has and that were in doubt.
    """
    states, drift = dict(test.states), {}
    for key, entry in test.states.items():
        if not _would_change(entry):
            continue
        if maker_of(key):
            continue  # what the change takes out of git is removed
        if key not in touched:
            drift[key] = states.pop(key)
        elif not entry.get("uncertain") and _would_change(before := base.get(key, {})):
            drift[key] = before
            if before.get("changes") == entry.get("changes"):
                del states[key]
    if not drift:
        return test
    changes, failed = count_states(states)
    summary = run_summary(states, "")
    return structs.replace(test, states=states, drift=drift, changes=changes, failed=failed, summary=summary)


def _would_change(entry: Mapping[str, Any]) -> bool:
    return (
        bool(entry) and entry.get("result") is not False and (bool(entry.get("changes")) or entry.get("result") is None)
    )


def with_overwritten(one: ChangeClass) -> ChangeClass:
    """The class, where new states of files are marked that would replace a file which nothing manages yet."""
    if not one.tests:
        return one
    return structs.replace(one, resources=tuple(_marked(each, one.tests) for each in one.resources))


def _marked(one: ResourceChange, tests: Collection[LiveTest]) -> ResourceChange:
    if one.action != "added" or one.function not in _FILES or one.irreversible:
        return one
    found = any(_overwrites(test.states.get(one.key, {})) for test in tests)
    return structs.replace(one, irreversible=OVERWRITTEN) if found else one


def _overwrites(entry: Mapping[str, Any]) -> bool:
    if _NOT_READ in str(entry.get("comment", "")):
        return True
    changes = entry.get("changes")
    difference = changes.get("diff") if isinstance(changes, Mapping) else None
    return isinstance(difference, str) and difference.startswith("--- ")
