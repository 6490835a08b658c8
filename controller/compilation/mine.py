"""The mine: what minions have for each other, who may have it, and whose documents stand on it.

Filled by the message handlers, asked by compiles (`mine.get` in templates, from the compiler's threads) and by minions.
`changed_minions` tells whose answers have changed since they were compiled. A minion puts in what is its own,
of a bounded size, and is told nothing that another keeps from it (`allow_tgt`).
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec

from controller.compilation.recorded_facts import FleetAnswer
from controller.store import Store
from extmods.fact_answers import bounded
from highstate.functions.live import OF_THE_FLEET
from highstate.targeting.match import MatcherKind, broken_regex, match_minion
from highstate.types import Minion
from wire.messages import FactAnswer, FactQuery, MineEntry

MOST_FUNCTIONS = 200
"""Of one minion."""

MOST_BYTES = 1024 * 1024
"""Of all that one minion has, packed. One value may have as much as an answer to a question."""

MOST_ANSWERED = 8 * 1024 * 1024
"""Bytes of one answer."""

GET = "mine.get"
_KINDS = frozenset(get_args(MatcherKind))


class MineRefused(ValueError):
    """A minion has put in what it may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A call of `mine.get`."""

    target: Any
    functions: tuple[str, ...]
    by_function: bool
    """Whether the answer is by function first."""
    kind: str
    exclude: bool

    @classmethod
    def parse(cls, asked: str) -> Query:
        """Of a question's arguments; ValueError when it takes no such arguments."""
        args, kwargs = json.loads(asked)
        try:
            given = inspect.signature(_mine_get).bind(*args, **kwargs)
        except TypeError as error:
            raise ValueError(f"mine.get: {error}") from None
        given.apply_defaults()
        tgt, fun, tgt_type, exclude = given.arguments.values()
        kind = str(tgt_type).lower()
        if kind not in _KINDS:
            raise ValueError(f"mine.get: there is no tgt_type {tgt_type!r} (there are {', '.join(sorted(_KINDS))})")
        names = [str(one) for one in fun] if isinstance(fun, list) else list(dict.fromkeys(str(fun).split(",")))
        return cls(
            target=tgt,
            functions=tuple(names),
            by_function=isinstance(fun, list) or len(names) > 1,
            kind=kind,
            exclude=bool(exclude),
        )


def _mine_get(tgt: Any, fun: Any, tgt_type: str = "glob", exclude_minion: bool = False) -> None:
    """The arguments of Salt's function of that name."""


@dataclass(slots=True, kw_only=True)
class MineStore:
    """All mines. Safe to be asked from any thread."""

    store: Store
    pillar_of: Callable[[str], Mapping[str, Any]]
    """The pillar of a minion, for targets by pillar."""
    nodegroups: Mapping[str, Any] = field(default_factory=dict)
    keys_version: Callable[[], int] = lambda: 0
    """Another number whenever other keys are accepted, or others are connected."""
    _changes: int = 0
    _compared: tuple[int, int] | None = None
    _kept: dict[str, tuple[tuple[int, int], FleetAnswer]] = field(default_factory=dict)
    """Arguments -> the answer that everybody gets, and of when it is."""

    def put(self, minion: str, entries: Mapping[str, MineEntry]) -> bool:
        """All that a minion has from now on; whether any of it is new. MineRefused when it is too much."""
        if len(entries) > MOST_FUNCTIONS or len(msgspec.msgpack.encode(entries)) > MOST_BYTES:
            raise MineRefused(f"a mine of more than {MOST_FUNCTIONS} functions or {MOST_BYTES} bytes")
        kept = {}
        for fun, entry in entries.items():
            plain = bounded(FactAnswer(value=entry.value))
            if plain.error or not 0 < len(fun) <= 255 or entry.allow_type not in _KINDS:
                raise MineRefused(f"{fun[:80]!r} {plain.error or 'has a name or an allow_tgt_type that cannot be'}")
            kept[fun] = msgspec.structs.replace(entry, value=plain.value)
        new = bool(self.store.mines.put(minion, kept))
        if new:
            self.changed()
        return new

    def changed(self) -> None:
        """Something that answers follow from is new: a mine, grains, a key."""
        self._changes += 1

    def _version(self) -> tuple[int, int]:
        return self._changes, self.keys_version()

    def answer(self, question: FactQuery, asker: Minion | None) -> FleetAnswer:
        """What `mine.get` gives. `asker`: the minion that it is for; None: nobody, who is allowed the least."""
        try:
            query = Query.parse(question.asked)
        except ValueError as error:
            return fleet_answer(FactAnswer(error=str(error)))
        version, kept = self._version(), self._kept.get(question.asked)
        if kept is not None and kept[0] == version:
            return kept[1]
        mines = self.store.mines.by_function(query.functions)
        answer = self._answer(query, mines, asker)
        shared = not query.exclude and not any(entry.allow for each in mines.values() for entry in each.values())
        found = fleet_answer(answer, shared=shared)
        if shared:
            self._kept = {key: one for key, one in self._kept.items() if one[0] == version}
            self._kept[question.asked] = (version, found)
        return found

    def _answer(self, query: Query, mines: Mapping[str, Mapping[str, MineEntry]], asker: Minion | None) -> FactAnswer:
        found: dict[str, dict[str, Any]] = {}
        wanted = self._matching(query, {minion for entries in mines.values() for minion in entries})
        for fun in query.functions:
            for minion, entry in mines.get(fun, {}).items():
                if minion in wanted and self._may_have(asker, entry):
                    found.setdefault(fun, {})[minion] = entry.value
        value: dict[str, Any] = found if query.by_function else found.get(query.functions[0], {})
        if query.exclude and asker is not None:
            value.pop(asker.id, None)  # of one by function nothing goes, as in Salt
        if len(msgspec.msgpack.encode(value)) > MOST_ANSWERED:
            return FactAnswer(error=f"mine.get finds more than {MOST_ANSWERED} bytes: ask for less")
        return FactAnswer(value=value)

    def record_marks(self, minion: str, marks: Mapping[FactQuery, str], now: float) -> None:
        """A compile of this minion used answers with these marks."""
        self.store.facts.put(minion, {question: FactAnswer(value=mark) for question, mark in marks.items()}, now)
        self._compared = None  # one of them may have changed while it was compiled

    def changed_minions(self, answer: Callable[[FactQuery, Minion], FleetAnswer] | None = None) -> list[str]:
        """Minions for which an answer is not the one that they were compiled with; `answer` gives it, else this."""
        version = self._version()
        if self._compared == version:
            return []
        self._compared = version
        records = [record for fun in OF_THE_FLEET for record in self.store.facts.of_function(fun)]
        ask = answer or self.answer
        grains = {record.id: record.grains for record in self.store.minions.all()} if records else {}
        due = {
            minion: None
            for minion, record in records
            if ask(record.question, Minion(id=minion, grains=grains.get(minion, {}))).mark != record.answer.value
        }
        return list(due)

    def _matching(self, query: Query, having: Collection[str]) -> set[str]:
        """Those of `having` that the target means and whose key is accepted."""
        accepted = {record.id for record in self.store.keys.all() if record.state == "accepted"} & set(having)
        if query.kind in ("glob", "list", "pcre"):
            return {each for each in accepted if self._matches(query, Minion(id=each))}
        known = (record for record in self.store.minions.all() if record.id in accepted)
        return {each.id for each in known if self._matches(query, Minion(id=each.id, grains=each.grains))}

    def _matches(self, query: Query, minion: Minion) -> bool:
        kind: Any = "pillar_exact" if query.kind.startswith("pillar") else query.kind
        if kind in ("pcre", "compound") and broken_regex(str(query.target), kind=kind, nodegroups=self.nodegroups):
            return False
        pillar = self.pillar_of(minion.id) if kind in ("compound", "nodegroup", "pillar_exact") else {}
        # Exact: who may write templates could else find out pillar values of others letter by letter.
        return match_minion(query.target, minion, pillar, kind=kind, nodegroups=self.nodegroups, exact_pillar=True)

    def _may_have(self, asker: Minion | None, entry: MineEntry) -> bool:
        if not entry.allow:
            return True
        if asker is None:
            return False
        allow: Any = list(entry.allow) if isinstance(entry.allow, tuple) else entry.allow
        query = Query(target=allow, functions=(), by_function=False, kind=entry.allow_type, exclude=False)
        return self._matches(query, asker)


def fleet_answer(answer: FactAnswer, *, shared: bool = False) -> FleetAnswer:
    """An answer with its mark."""
    mark = hashlib.blake2b(msgspec.msgpack.encode(answer), digest_size=16).hexdigest()
    return FleetAnswer(answer=answer, mark=mark, shared=shared)
