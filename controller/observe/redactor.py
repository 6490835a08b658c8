"""Keeps secrets out of what people see: results and events of minions, errors, differences, previews.

A compile says which plain texts it had of GnuPG and of a vault (`Compiled.secrets`). They are remembered by minion,
those of earlier documents too, because the difference of a rotated password shows both. Called where something comes
in that will be shown (`message_handlers`, `builder`), and where documents are compared (`status`, `preview`). Messages
to minions are not redacted: minions need the secrets.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from msgspec import structs

from controller.store import Store, StoreError
from highstate.redaction import Redaction, fingerprints
from highstate.types import Problem
from wire.messages import PruneReport, RunProgress, RunResult

_READY = 256
"""Minions whose masks are kept ready."""
_MOST_WITHOUT = 100_000
"""Minions of which it is kept that they have no secrets."""


class Redactor:
    """The secrets of each minion. `of`, `prepare` and `add_for_preview` may be called from any thread.

    Args:
        store: where they are remembered.
        key: of the fingerprints; with it, one can test guesses of a secret.
    """

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = hashlib.sha256(b"saltern redaction " + key.encode()).digest()
        self._ready: OrderedDict[str, Redaction] = OrderedDict()
        self._nothing = Redaction({}, self._key)
        """Of a minion that has no secrets, as most have none."""
        self._without: set[str] = set()
        """Minions that have none."""
        self._known: dict[str, int] = {}
        """Minion -> hash of the secrets that it had last, so that the store is asked about new ones only."""
        self._lent: OrderedDict[str, frozenset[str]] = OrderedDict()
        """Secrets of previews, which leave nothing in the store."""
        self._lock = threading.Lock()

    @property
    def dummy_key(self) -> bytes:
        """Key of the dummies that stand for values of the pillar in previews of strangers; the same at each start."""
        return hashlib.sha256(b"dummies " + self._key).digest()

    def learn(self, secrets: Mapping[str, Iterable[str]]) -> None:
        """Compiles for these minions had these."""
        given = {minion: frozenset(texts) for minion, texts in secrets.items() if texts}
        new = {minion: texts for minion, texts in given.items() if self._known.get(minion) != hash(texts)}
        for minion in self._store.secrets.put(new) if new else ():
            with self._lock:
                self._forget(minion)
        for minion, texts in new.items():
            self._known[minion] = hash(texts)

    def add_for_preview(self, minion: str, secrets: Iterable[str]) -> None:
        """A preview for this minion has these."""
        with self._lock:
            new = frozenset(secrets) - self._lent.get(minion, frozenset())
            if not new:
                return
            self._lent[minion] = self._lent.get(minion, frozenset()) | new
            self._lent.move_to_end(minion)
            self._forget(minion)
            while len(self._lent) > _READY:
                self._forget(self._lent.popitem(last=False)[0])

    def _forget(self, minion: str) -> None:
        self._ready.pop(minion, None)
        self._without.discard(minion)

    def of(self, minion: str) -> Redaction:
        """What takes this minion's secrets out."""
        with self._lock:
            if minion in self._without:
                return self._nothing
            found = self._ready.get(minion)
            if found is None:
                return self._made(minion, self._store.secrets.of(minion))
            self._ready.move_to_end(minion)
            return found

    def at_once(self, minion: str) -> Redaction | None:
        """What takes this minion's secrets out, for who may not wait; None where that is not known at once.

        A thread that logs may hold whatever another that asks the store waits for.
        """
        if (found := self._ready.get(minion)) is not None:
            return found
        if minion in self._without:
            return self._nothing
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._made(minion, self._store.secrets.of(minion))
        except StoreError:
            return None
        finally:
            self._lock.release()

    def prepare(self, minions: Sequence[str]) -> None:
        """`of` is asked for these next: what is known of the first of them, as many as are kept, is read at once."""
        with self._lock:
            unknown = (each for each in minions if each not in self._ready and each not in self._without)
            missing = list(islice(unknown, _READY))
            for minion, known in self._store.secrets.of_each(missing).items() if missing else ():
                self._made(minion, known)

    def _made(self, minion: str, known: frozenset[str]) -> Redaction:
        texts = known | self._lent.get(minion, frozenset())
        if not texts:
            if len(self._without) >= _MOST_WITHOUT:
                self._without.clear()
            self._without.add(minion)
            return self._nothing
        made = self._ready[minion] = Redaction(fingerprints(self._key, texts), self._key)
        while len(self._ready) > _READY:
            self._ready.popitem(last=False)
        return made

    def result(self, minion: str, result: RunResult) -> RunResult:
        """A result as it may be kept and shown."""
        redaction = self.of(minion)
        if redaction is self._nothing:
            return result
        return structs.replace(
            result,
            states=redaction.value(result.states),
            value=redaction.value(result.value),
            error=redaction.text(result.error),
            schedule=redaction.text(result.schedule),
            metadata=redaction.value(result.metadata),
            prune=result.prune and _redacted_report(redaction, result.prune),
        )

    def of_nobody(self, text: str) -> str:
        """A text that concerns no minion alone, without the secrets of all. Reads as many rows as there are secrets."""
        found = self._store.secrets.in_text(text)
        return Redaction(fingerprints(self._key, found), self._key).text(text) if found else text

    def keys(self, minion: str, keys: Iterable[str] | None) -> tuple[str, ...] | None:
        """Names of states as they may be kept and shown; None stays."""
        return None if keys is None else tuple(map(self.of(minion).text, keys))

    def events(self, minion: str, events: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Events, tags and data, as they may be kept and shown."""
        redaction = self.of(minion)
        return [(redaction.text(tag), redaction.value(data)) for tag, data in events]

    def progress(self, minion: str, said: RunProgress) -> RunProgress:
        """How far a run is; the name of a state may hold a secret."""
        return structs.replace(said, key=self.of(minion).text(said.key))

    def problems(self, minion: str, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Errors or warnings as they may be shown, with the lines that they show."""
        redaction = self.of(minion)
        return tuple(
            replace(
                each,
                message=redaction.text(each.message),
                excerpt=redaction.text(each.excerpt),
                hint=redaction.text(each.hint),
            )
            for each in problems
        )


def _redacted_report(redaction: Redaction, report: PruneReport) -> PruneReport:
    """A report of what no state names, as it may be kept and shown."""
    told = tuple(
        structs.replace(
            each,
            resource=redaction.text(each.resource),
            maker=redaction.text(each.maker),
            why=redaction.text(each.why),
        )
        for each in report.resources
    )
    return structs.replace(report, resources=told)
