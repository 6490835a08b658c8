"""Which chunks a requisite means, and what their results mean for the chunk that has it.

Called by `highstate.run.runner` alone. The truth table follows Salt 3008 (doc/ref/states/requisites), with one
difference: a result of None (would change, under test=True) counts as a change and never as a failure, so that a
restart or a command that would follow shows as pending in a preview.
"""

from __future__ import annotations

import enum
import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence

from highstate.types import Chunk, StateResult, Value

KINDS = (
    "require",
    "require_any",
    "watch",
    "watch_any",
    "onchanges",
    "onchanges_any",
    "onfail",
    "onfail_any",
    "onfail_all",
    "prereq",
)
"""Requisites that decide whether a chunk runs; `listen` comes after all of them."""

_KINDS = frozenset(KINDS)


def has_any(chunk: Chunk) -> bool:
    """Whether a chunk has requisites at all: most have none."""
    return not _KINDS.isdisjoint(chunk.arguments)


class RequisiteStatus(enum.Enum):
    """What a chunk's requisites say."""

    MET = "met"
    CHANGE = "change"
    """Met, and something that it watches changed."""
    FAIL = "fail"
    PRE = "pre"
    """What it is a prereq of would not change."""
    ONFAIL = "onfail"
    """Nothing failed that it waits for."""
    ONCHANGES = "onchanges"
    """Nothing changed that it waits for."""
    SKIPPED = "skipped"
    """What changed says that nothing is to follow from it (`skip_req`)."""
    UNWATCHED = "unwatched"
    """It runs, but what changed says that no mod_watch is to follow."""


def changed(result: StateResult) -> bool:
    """Whether watchers and onchanges see a change."""
    return bool(result.changes) or result.result is None


def judge(found: Mapping[str, Sequence[StateResult]]) -> RequisiteStatus:
    """The verdict over all requisites of a chunk: kind → results of the chunks that it names.

    For `prereq` the results are predictions: None where the chunk would change.
    """
    notes = set[str]()
    for kind, results in found.items():
        notes |= _notes(kind, results)
    if "fail" in notes:
        return RequisiteStatus.FAIL
    if "skip" in notes and notes & {"onchangesmet", "premet"}:
        return RequisiteStatus.SKIPPED
    if "skip" in notes and "change" in notes:
        return RequisiteStatus.UNWATCHED
    if "pre" in notes:
        return RequisiteStatus.MET if "premet" in notes else RequisiteStatus.PRE
    if "onfail" in notes and "onchangesmet" not in notes:
        return RequisiteStatus.ONFAIL
    if "onchanges" in notes and "onchangesmet" not in notes:
        return RequisiteStatus.ONCHANGES
    if "change" in notes:
        return RequisiteStatus.CHANGE
    return RequisiteStatus.ONFAIL if "onfail" in notes else RequisiteStatus.MET


def _notes(kind: str, results: Iterable[StateResult]) -> set[str]:
    """What one requisite has to say; `any` forms forget a failure beside a success. Salt's `onfail` is one of them."""
    base, _, quantifier = kind.partition("_")
    notes = {_note(base, result) for result in results}
    notes |= {"skip" for result in results if result.skip_req}
    if quantifier == "any" or kind == "onfail":
        if notes & {"met", "change", "onchangesmet"}:
            notes -= {"fail"}
        if "onchangesmet" in notes:
            notes -= {"onchanges"}
        if "met" in notes:
            notes -= {"onfail"}
    if quantifier == "all" and "onfail" in notes:
        notes -= {"met"}
    return notes


def _note(base: str, result: StateResult) -> str:
    match base:
        case "onfail" if result.result is not False:
            return "onfail"
        case "onchanges":
            return "onchangesmet" if result.result is not False and changed(result) else "onchanges"
        case _ if base != "onfail" and result.result is False:
            return "fail"
        case "prereq":
            return "premet" if changed(result) else "pre"
        case "watch" if changed(result):
            return "change"
        case _:
            return "skipped" if result.skipped else "met"


class Index:
    """Finds chunks by what a requisite names: a state and an id or name, an SLS, or an id or name alone."""

    def __init__(self, chunks: Mapping[str, Chunk]) -> None:
        self._chunks = chunks
        self._named: dict[tuple[str, str], list[str]] = {}
        named = self._named.setdefault
        for key, chunk in chunks.items():
            for text in (chunk.id,) if chunk.name == chunk.id else (chunk.id, chunk.name):
                named((chunk.state, text), []).append(key)
                named(("", text), []).append(key)
            for sls in {chunk.sls, *_included_from(chunk)}:
                named(("sls", sls), []).append(key)
            named(("id", chunk.id), []).append(key)

    def find(self, item: Value, me: str) -> list[str]:
        """Keys of the chunks that one requisite item names, in running order, never the asking chunk itself."""
        if isinstance(item, str):
            found = self._lookup("", item)
        elif isinstance(item, Mapping):
            found = [key for state, value in item.items() if value is not None for key in self._lookup(state, value)]
        else:
            found = []
        return [key for key in dict.fromkeys(found) if key != me]

    def _lookup(self, state: str, value: Value) -> list[str]:
        text = str(value)
        exact = self._named.get((state, text))
        if exact is not None or not any(c in text for c in "*?["):
            return exact or []
        hits = {
            key
            for (kind, name), keys in self._named.items()
            if kind == state and fnmatch.fnmatchcase(name, text)
            for key in keys
        }
        return [key for key in self._chunks if key in hits]


def items(chunk: Chunk, kind: str) -> Iterator[Value]:
    """The items of one requisite of a chunk; a lone item counts as a list of one."""
    listed = chunk.arguments.get(kind)
    if isinstance(listed, list | tuple):
        yield from listed
    elif listed is not None:
        yield listed


def may_be_empty(item: Value) -> bool:
    """`{file: null}` and globs over SLS name nothing without being wrong (Salt)."""
    if not isinstance(item, Mapping):
        return not isinstance(item, str)
    return all(
        value is None or (state == "sls" and any(c in str(value) for c in "*?[")) for state, value in item.items()
    )


def said(kind: str, item: Value) -> str:
    """An item that names nothing, as the comment shows it."""
    text = ", ".join(f"{state}: {value}" for state, value in item.items()) if isinstance(item, Mapping) else str(item)
    return f"    {kind}:\n        {text}"


def _included_from(chunk: Chunk) -> Iterable[str]:
    chain = chunk.arguments.get("__sls_included_from__")
    return chain if isinstance(chain, list | tuple) else ()
