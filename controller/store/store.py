"""The store's face: short synchronous calls, each one transaction, called from the controller's loop.

It keeps and finds; it decides nothing and has no clock. What must be kept together goes into one `transaction()`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from sqlalchemy import select

from controller.store import compiled, facts, keys, mines, minions, runs, secrets
from controller.store.database import Database
from controller.store.records import (
    AppliedRecord,
    DesiredRecord,
    FactRecord,
    KeyRecord,
    KeyStatus,
    MinionRecord,
    RevisionRecord,
    RunRecord,
    StatusRow,
)
from controller.store.schema import runs as run_table
from wire.messages import FactAnswer, FactQuery, MineEntry


class Store:
    """Everything that must survive the controller.

    Args:
        url: of the database, in SQLAlchemy's form.

    Every method raises StoreUnavailable when the database cannot be used.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All calls inside are kept together or not at all. Must not be held over an await."""
        with self._database.transaction():
            yield

    # --- keys

    def request_key(self, public_key: str, minion_id: str, now: float) -> KeyRecord:
        """The record of a key that asks for an id; new ones are pending. TooManyKeys when too many are."""
        with self._database.transaction() as connection:
            return keys.request(connection, public_key, minion_id, now)

    def keys(self) -> list[KeyRecord]:
        """All keys, by id."""
        with self._database.transaction() as connection:
            return keys.every(connection)

    def set_key_state(self, name: str, state: KeyStatus, now: float) -> KeyRecord:
        """Accept or reject a key by id, fingerprint or public key. KeyUnknown; KeyConflict when it is not clear."""
        with self._database.transaction() as connection:
            return keys.set_state(connection, name, state, now)

    def delete_key(self, name: str) -> list[KeyRecord]:
        """Forget the keys with this id, fingerprint or public key; what was forgotten. KeyUnknown when none has."""
        with self._database.transaction() as connection:
            return keys.remove(connection, name)

    # --- minions

    def minions(self) -> list[MinionRecord]:
        """All minions with grains, by id."""
        with self._database.transaction() as connection:
            return minions.every(connection)

    def minion(self, minion_id: str) -> MinionRecord | None:
        """One minion with grains."""
        with self._database.transaction() as connection:
            return minions.one(connection, minion_id)

    def seen(
        self,
        minion_id: str,
        now: float,
        grains: Mapping[str, Any] | None = None,
        session: str | None = None,
        held: str | None = None,
        epoch: str | None = None,
    ) -> None:
        """Something was heard of a minion; None leaves what is known. The first time makes its record."""
        with self._database.transaction() as connection:
            minions.seen(connection, minion_id, now, grains=grains, session=session, held=held, epoch=epoch)

    def set_paused(self, minion_ids: Sequence[str], paused: bool) -> None:
        """Pause or resume minions."""
        with self._database.transaction() as connection:
            minions.set_paused(connection, minion_ids, paused)

    def delete_minion(self, minion_id: str) -> None:
        """Forget a minion; its runs stay in the history."""
        with self._database.transaction() as connection:
            minions.remove(connection, minion_id)

    def status_rows(self, minion_ids: Sequence[str] | None = None) -> list[StatusRow]:
        """What status and reconcile need of these minions (None: all), by id; one query without documents."""
        with self._database.transaction() as connection:
            return minions.status_rows(connection, minion_ids)

    # --- revisions and documents

    def add_revision(self, revision: RevisionRecord) -> None:
        """Note a revision; of a known one only the error changes."""
        with self._database.transaction() as connection:
            compiled.add_revision(connection, revision)

    def revisions(self, limit: int = 50) -> list[RevisionRecord]:
        """Revisions, newest first."""
        with self._database.transaction() as connection:
            return compiled.all_revisions(connection, limit)

    def revision(self, digest: str) -> RevisionRecord | None:
        """One revision."""
        with self._database.transaction() as connection:
            return compiled.revision(connection, digest)

    def put_compiled(self, records: Sequence[DesiredRecord]) -> None:
        """Keep the compiles of many minions together."""
        with self._database.transaction() as connection:
            compiled.put_compiled(connection, records)

    def desired(self, minion_id: str) -> DesiredRecord | None:
        """What a minion shall be; the document itself is `document(digest)`."""
        with self._database.transaction() as connection:
            return compiled.get_desired(connection, minion_id)

    def desired_of(self, minion_ids: Sequence[str]) -> dict[str, DesiredRecord]:
        """As `desired`, for many minions; those that have nothing are left out."""
        with self._database.transaction() as connection:
            return compiled.desired_of(connection, minion_ids)

    def carry_over(self, minion_ids: Sequence[str], revision: str) -> None:
        """A revision leaves the documents of these minions as they are: from now on they are the revision's."""
        with self._database.transaction() as connection:
            compiled.carry_over(connection, minion_ids, revision)

    def applied(self, minion_id: str) -> AppliedRecord | None:
        """What a minion last became; the document itself is `document(digest)`."""
        with self._database.transaction() as connection:
            return compiled.get_applied(connection, minion_id)

    def put_applied(self, record: AppliedRecord) -> None:
        """Note that a minion has applied a document that the store has."""
        with self._database.transaction() as connection:
            compiled.put_applied(connection, record)

    def document(self, digest: str) -> bytes | None:
        """A packed document by its digest; None when it is not kept."""
        with self._database.transaction() as connection:
            return compiled.document(connection, digest)

    # --- facts

    def facts(self, minion_ids: Collection[str] | None = None) -> dict[str, list[FactRecord]]:
        """What functions gave on these minions (None: on all) when they were asked last."""
        with self._database.transaction() as connection:
            return facts.of(connection, minion_ids)

    def asked_functions(self, minion_ids: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
        """Minion -> function -> time of its oldest answer, of these minions (None: of all)."""
        with self._database.transaction() as connection:
            return facts.functions(connection, minion_ids)

    def put_facts(self, minion_id: str, answers: Mapping[FactQuery, FactAnswer], now: float) -> None:
        """Keep answers in the place of earlier ones."""
        with self._database.transaction() as connection:
            facts.put(connection, minion_id, answers, now)

    def drop_facts(self, minion_id: str, questions: Sequence[FactQuery]) -> None:
        """Forget answers."""
        with self._database.transaction() as connection:
            facts.drop(connection, minion_id, questions)

    def facts_of(self, fun: str) -> list[tuple[str, FactRecord]]:
        """The recorded answers of one function, with whose they are."""
        with self._database.transaction() as connection:
            return facts.of_function(connection, fun)

    # --- mine

    def put_mine(self, minion_id: str, entries: Mapping[str, MineEntry]) -> set[str]:
        """Keep these entries as all that the minion has; the functions whose entries are others than before."""
        with self._database.transaction() as connection:
            return mines.put(connection, minion_id, entries)

    def mines(self, functions: Collection[str]) -> dict[str, dict[str, MineEntry]]:
        """Function -> minion -> entry."""
        with self._database.transaction() as connection:
            return mines.of(connection, functions)

    def mine_of(self, minion_id: str) -> dict[str, MineEntry]:
        """Function -> entry of one minion."""
        with self._database.transaction() as connection:
            return mines.all_of(connection, minion_id)

    # --- secrets

    def put_secrets(self, texts: Mapping[str, Iterable[str]]) -> list[str]:
        """Remember which plain texts the compiles of minions had; the minions for which any of them is new."""
        with self._database.transaction() as connection:
            return [minion_id for minion_id, each in texts.items() if secrets.put(connection, minion_id, each)]

    def secrets_of(self, minion_id: str) -> frozenset[str]:
        """All plain texts that compiles for the minion had."""
        with self._database.transaction() as connection:
            return secrets.of(connection, minion_id)

    # --- runs

    def create_run(self, run: RunRecord) -> bool:
        """Keep a new run; False when its id is known, and nothing is changed."""
        with self._database.transaction() as connection:
            return runs.create(connection, run)

    def start_run(self, run_id: str, now: float) -> None:
        """The minion has begun it."""
        with self._database.transaction() as connection:
            runs.start(connection, run_id, now)

    def supersede_run(self, run_id: str, outcome: str, now: float) -> bool:
        """Close a run without a result (`superseded`, `lost`); False when it was closed. A result may still come."""
        with self._database.transaction() as connection:
            return runs.supersede(connection, run_id, outcome, now)

    def finish_run(
        self,
        run_id: str,
        outcome: str,
        *,
        finished: float,
        started: float | None = None,
        seconds: float = 0.0,
        changes: int = 0,
        failed: int = 0,
        summary: str = "",
        result: Any = None,
    ) -> bool:
        """Close a run with its result; True the first time, False (and no change) when it has one or is unknown.

        Args:
            run_id: of a run that `create_run` knows.
            outcome: as in `RunResult`.
            finished: seconds since the epoch.
            started: by the minion's clock.
            seconds: that it took.
            changes: chunks that changed, or would.
            failed: chunks that failed.
            summary: one line for people.
            result: anything that msgpack can hold (a `RunResult`), for `run_result`.
        """
        values: dict[str, Any] = {"outcome": outcome, "finished": finished, "seconds": seconds, "changes": changes}
        values |= {"failed": failed, "summary": summary} | ({} if started is None else {"started": started})
        with self._database.transaction() as connection:
            return runs.finish(connection, run_id, result, values)

    def run(self, run_id: str) -> RunRecord | None:
        """A run by its id."""
        with self._database.transaction() as connection:
            return runs.one(connection, run_id)

    def find_runs(self, prefix: str, limit: int = 10) -> list[RunRecord]:
        """Runs whose id begins with this text."""
        with self._database.transaction() as connection:
            return runs.beginning_with(connection, prefix, limit)

    def run_result(self, run_id: str) -> Any:
        """The result that `finish_run` was given, as plain values; None when there is none."""
        with self._database.transaction() as connection:
            return runs.result(connection, run_id)

    def open_runs(self, minion: str | None = None) -> list[RunRecord]:
        """Runs without a result, newest first."""
        with self._database.transaction() as connection:
            return runs.listed(connection, minion=minion, open_only=True)

    def last_run(self, minion: str, kind: str) -> RunRecord | None:
        """The newest run of a kind, in whatever state."""
        with self._database.transaction() as connection:
            found = runs.listed(connection, minion=minion, kinds=(kind,), limit=1)
            return found[0] if found else None

    def runs(
        self,
        minion: str | None = None,
        limit: int | None = 100,
        revision: str | None = None,
        kinds: Sequence[str] = (),
    ) -> list[RunRecord]:
        """Runs, newest first."""
        with self._database.transaction() as connection:
            return runs.listed(connection, minion=minion, kinds=kinds, revision=revision, limit=limit)

    def prune(self, keep: int, minion: str | None = None) -> int:
        """Forget closed runs beyond the newest `keep` of a minion (None: of each), then what nothing refers to.

        With a minion only its runs are looked at, so that this is cheap enough for each result. May be called from a
        thread. Returns the number of runs forgotten.
        """
        minion_ids = [minion] if minion is not None else self._minions_with_runs()
        gone = 0
        for minion_id in minion_ids:  # a transaction each, so that nobody waits long for the database meanwhile
            with self._database.transaction() as connection:
                gone += runs.prune(connection, minion_id, keep)
        if minion is None:
            with self._database.transaction() as connection:
                compiled.prune_documents(connection)
                compiled.prune_revisions(connection, keep)
        return gone

    def _minions_with_runs(self) -> list[str]:
        with self._database.transaction() as connection:
            return list(connection.scalars(select(run_table.c.minion).distinct()))
