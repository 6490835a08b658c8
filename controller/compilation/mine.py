"""The mine: what minions have for each other, who may have it, and whose documents stand on it.

Filled by the message handlers, asked by compiles (`mine.get` in templates, from the compiler's threads) and by minions.
`changed_minions` tells whose answers have changed since they were compiled. A minion puts in what is its own,
of a bounded size, and gets nothing that another keeps from it (`allow_tgt`).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import threading
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from cachetools import LRUCache

from controller.compilation.recorded_facts import FleetAnswer
from controller.store import Store
from extmods.fact_answers import bounded
from highstate.functions.live import OF_THE_FLEET
from highstate.targeting.match import KINDS, match_minion, unmatchable
from highstate.types import Minion
from matching.limits import PatternLimits
from matching.linear_regex import PatternRefused
from matching.matcher import Matcher
from options.limits import CountRefusal, uncounted
from wire.messages import FactAnswer, FactQuery, MineEntry

MOST_FUNCTIONS = 200
"""Of one minion."""

MOST_BYTES = 1024 * 1024
"""Of all that one minion has, packed. One value may have as much as an answer to a question."""

MOST_KEPT = 32 * 1024 * 1024
"""Bytes of all answers that are kept for the next who asks the same."""
_ENTRY_BYTES = 1024
"""That an answer takes beside its value."""
_BY_PILLAR = re.compile(r"(?:^|[\s(])[IJ][^\w\s@]?@")
_BY_PILLAR_OR_GROUP = re.compile(r"(?:^|[\s(])[IJN][^\w\s@]?@")
_KINDS_OF_GRAINS = frozenset(("glob", "list", "pcre", "grain", "grain_pcre", "ipcidr"))

MOST_ANSWERED = 8 * 1024 * 1024
"""Bytes of one answer."""

_ALLOW_LIMITS = PatternLimits(steps=2_000_000)
"""Limits of `allow_tgt`, which one minion sets and others pay for."""

GET = "mine.get"
_KINDS = frozenset(KINDS)


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

    @property
    def by_pillar(self) -> bool:
        """Whether the target says what the pillar of a minion must be."""
        return self.kind.startswith("pillar") or (
            self.kind == "compound" and _BY_PILLAR.search(self.target) is not None
        )

    @property
    def may_ask_pillar(self) -> bool:
        """Whether pillars decide about the answer: these change with a compile, after which no answer is compared."""
        if self.kind == "compound":
            return _BY_PILLAR_OR_GROUP.search(self.target) is not None
        return self.kind not in _KINDS_OF_GRAINS

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
            target=_target(tgt, kind),
            functions=tuple(names),
            by_function=isinstance(fun, list) or len(names) > 1,
            kind=kind,
            exclude=bool(exclude),
        )


def _target(given: Any, kind: str) -> str | list[str]:
    """A target as its kind takes it: names of a list may come as a list."""
    if kind == "list" and isinstance(given, list | tuple):
        return [str(one) for one in given]
    return str(given)


def _mine_get(tgt: Any, fun: Any, tgt_type: str = "glob", exclude_minion: bool = False) -> None:
    """The arguments of Salt's function of that name."""


@dataclass(slots=True, kw_only=True)
class MineStore:
    """All mines. Safe to be asked from any thread."""

    store: Store
    pillar_of: Callable[[str], Mapping[str, Any]]
    """The pillar of a minion, for targets by pillar."""
    nodegroups: Mapping[str, Any] = field(default_factory=dict)
    accepted: Callable[[], Set[str]] = frozenset
    """Ids whose key is accepted."""
    keys_version: Callable[[], int] = lambda: 0
    """Another number whenever other keys are accepted, or others are connected."""
    limits: PatternLimits = field(default_factory=PatternLimits)
    """Of the targets of one question."""
    on_refusal: CountRefusal = uncounted
    """Called with the name of a limit whenever a target is over it."""
    _changes: int = 0
    _compared: tuple[int, int] | None = None
    _kept: LRUCache[str, FleetAnswer] = field(
        default_factory=lambda: LRUCache(MOST_KEPT, getsizeof=lambda kept: kept.size)
    )
    """Arguments -> the answer that everybody gets."""
    _kept_version: tuple[int, int] = (-1, -1)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Around what is kept."""

    def put(self, minion: str, entries: Mapping[str, MineEntry]) -> bool:
        """All that a minion has from now on; whether any of it is new. MineRefused when it is too much."""
        if len(entries) > MOST_FUNCTIONS or len(msgspec.msgpack.encode(entries)) > MOST_BYTES:
            raise MineRefused(f"a mine of more than {MOST_FUNCTIONS} functions or {MOST_BYTES} bytes")
        kept = {}
        for fun, entry in entries.items():
            plain = bounded(FactAnswer(value=entry.value))
            if plain.error or not 0 < len(fun) <= 255 or entry.allow_type not in _KINDS:
                raise MineRefused(f"{fun[:80]!r} {plain.error or 'has a name or an allow_tgt_type that cannot be'}")
            self._check_allow(fun, entry)
            kept[fun] = msgspec.structs.replace(entry, value=plain.value)
        new = bool(self.store.mines.put(minion, kept))
        if new:
            self.changed()
        return new

    def _check_allow(self, fun: str, entry: MineEntry) -> None:
        """Raise MineRefused for an `allow_tgt` that is over the limits."""
        if not entry.allow:
            return
        try:
            self._matches(_allowed(entry), Minion(id=fun), Matcher(limits=_ALLOW_LIMITS))
        except PatternRefused as error:
            self.on_refusal(error.limit)
            raise MineRefused(f"{fun[:80]!r} allow_tgt: {error}") from None

    def changed(self) -> None:
        """Something that answers follow from is new: a mine, grains, a key."""
        self._changes += 1

    def _version(self) -> tuple[int, int]:
        return self._changes, self.keys_version()

    def answer(self, question: FactQuery, asker: Minion | None) -> FleetAnswer:
        """What `mine.get` gives a template. `asker`: the minion that it is for; None: nobody, who gets the least."""
        try:
            return self._answer(Query.parse(question.asked), question.asked, asker, self.limits)
        except ValueError as error:
            return fleet_answer(FactAnswer(error=str(error)))

    def answer_minion(self, question: FactQuery, minion: Minion, steps: int) -> FleetAnswer:
        """The answer to a minion that asks by itself: nothing that depends on the pillar of others.

        Args:
            question: as the minion sent it.
            minion: who asks.
            steps: of comparing that its target may take.
        """
        try:
            query = Query.parse(question.asked)
            if query.by_pillar:
                raise ValueError("mine.get: minions cannot target by pillar, which would let them guess secrets")
            return self._answer(query, question.asked, minion, replace(self.limits, steps=steps))
        except ValueError as error:
            return fleet_answer(FactAnswer(error=str(error)))

    def _answer(self, query: Query, asked: str, asker: Minion | None, limits: PatternLimits) -> FleetAnswer:
        version = self._version()
        if (kept := self._kept_answer(asked, version)) is not None:
            return kept
        mines = self.store.mines.by_function(query.functions)
        try:
            answer = self._found(query, mines, asker, limits)
        except PatternRefused as error:
            self.on_refusal(error.limit)
            return fleet_answer(FactAnswer(error=f"mine.get: {error}"))
        kept_from_some = any(entry.allow for each in mines.values() for entry in each.values())
        shared = not query.exclude and not kept_from_some
        found = fleet_answer(answer, shared=shared, followed=not (query.may_ask_pillar or kept_from_some))
        if shared:
            self._keep(asked, found, version)
        return found

    def _kept_answer(self, asked: str, version: tuple[int, int]) -> FleetAnswer | None:
        with self._lock:
            return self._kept.get(asked) if self._kept_version == version else None

    def _keep(self, asked: str, found: FleetAnswer, version: tuple[int, int]) -> None:
        with self._lock:
            if self._kept_version != version:
                self._kept.clear()
                self._kept_version = version
            if found.size <= self._kept.maxsize:
                self._kept[asked] = found

    def _found(
        self,
        query: Query,
        mines: Mapping[str, Mapping[str, MineEntry]],
        asker: Minion | None,
        limits: PatternLimits,
    ) -> FactAnswer:
        found: dict[str, dict[str, Any]] = {}
        wanted = self._matching(query, {minion for entries in mines.values() for minion in entries}, limits)
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
        # An answer of `sdb.get` has no mark to compare, and to ask for it may take a cloud's time.
        compared = [fun for fun in OF_THE_FLEET if fun != "sdb.get"]
        records = [record for fun in compared for record in self.store.facts.of_function(fun)]
        ask = answer or self.answer
        grains = {record.id: record.grains for record in self.store.minions.all()} if records else {}
        affected = {
            minion: None
            for minion, record in records
            if ask(record.question, Minion(id=minion, grains=grains.get(minion, {}))).mark != record.answer.value
        }
        return list(affected)

    def _matching(self, query: Query, having: Collection[str], limits: PatternLimits) -> set[str]:
        """Those of `having` that the target means and whose key is accepted."""
        accepted = self.accepted() & set(having)
        matcher = Matcher(limits=limits)
        if query.kind in ("glob", "list", "pcre"):
            return {each for each in accepted if self._matches(query, Minion(id=each), matcher)}
        known = (record for record in self.store.minions.all() if record.id in accepted)
        return {each.id for each in known if self._matches(query, Minion(id=each.id, grains=each.grains), matcher)}

    def _matches(self, query: Query, minion: Minion, matcher: Matcher) -> bool:
        """Whether the target means a minion; PatternRefused when it is over the limits of `matcher`."""
        kind: Any = "pillar_exact" if query.kind.startswith("pillar") else query.kind
        if kind in ("pcre", "compound") and unmatchable(
            str(query.target), kind=kind, nodegroups=self.nodegroups, matcher=matcher
        ):
            return False
        pillar = self.pillar_of(minion.id) if kind in ("compound", "nodegroup", "pillar_exact") else {}
        # Exact: who may write templates could else find out pillar values of others letter by letter.
        return match_minion(
            query.target, minion, pillar, kind=kind, nodegroups=self.nodegroups, exact_pillar=True, matcher=matcher
        )

    def _may_have(self, asker: Minion | None, entry: MineEntry) -> bool:
        if not entry.allow:
            return True
        if asker is None:
            return False
        try:
            return self._matches(_allowed(entry), asker, Matcher(limits=_ALLOW_LIMITS))
        except PatternRefused as error:  # stored before there were limits
            self.on_refusal(error.limit)
            return False


def _allowed(entry: MineEntry) -> Query:
    """What an entry's `allow_tgt` asks of a minion."""
    target = _target(entry.allow, entry.allow_type)
    return Query(target=target, functions=(), by_function=False, kind=entry.allow_type, exclude=False)


def fleet_answer(answer: FactAnswer, *, shared: bool = False, followed: bool = True) -> FleetAnswer:
    """An answer with its mark."""
    packed = msgspec.msgpack.encode(answer)
    mark = hashlib.blake2b(packed, digest_size=16).hexdigest()
    return FleetAnswer(answer=answer, mark=mark, size=len(packed) + _ENTRY_BYTES, shared=shared, followed=followed)
