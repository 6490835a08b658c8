"""What people may ask of a controller: the implementation of `schema.ControllerApi`, served by `controller.api`.

Every method runs on the controller's loop. It looks things up and hands over to the module that knows; the decisions
about minions stay with `reconcile`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.api import schema
from controller.api.schema import ServiceError, TargetExpression
from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.source_reconciler import SourceReconciler
from controller.observe.causes import steps_of
from controller.observe.event_log import EventLog
from controller.observe.plan_text import count_states, run_summary
from controller.preview.preview import Previews
from controller.reconcile.decision import Declined, Request
from controller.reconcile.live import LiveRevision
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.status import Status
from controller.sessions.jobs import Jobs, progress_view
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.sessions.targets import Targets
from controller.store import KeyConflict, KeyRecord, KeyStatus, Store
from gitfs.changes import Changes
from gitfs.config.urls import redact
from gitfs.source import Source
from reactors.bus import Bus
from wire.keys import KeyPair, fingerprint
from wire.messages import RunProgress, RunResult
from wire.server.server import Server

SYNC_SECONDS = 3600.0
"""How long `saltern sync` waits for a run."""


@dataclass(slots=True, kw_only=True)
class ControllerService:
    """The controller, as far as people may ask it (`schema.ControllerApi` says what each method does)."""

    store: Store
    sessions: Sessions
    keyring: KeyRegistry
    server: Server
    keypair: KeyPair
    source: Source
    changes: Changes
    live: LiveRevision
    sources: SourceReconciler
    builds: BuildReconciler
    reconciler: Reconciler
    state: Status
    targets: Targets
    jobs: Jobs
    previews: Previews
    bus: Bus
    event_log: EventLog
    clock: Callable[[], float]

    # --- status ---

    def status(self, target: TargetExpression | None) -> Sequence[schema.MinionStatus]:
        """See `schema.ControllerApi`."""
        return self.state.minions(None if target is None else self.targets.select(target))

    def remotes(self) -> Sequence[schema.RemoteStatus]:
        """See `schema.ControllerApi`."""
        places = dict(self.live.trees.revision.remotes) if self.live.trees else {}
        errors = self.sources.fetch_errors
        found = []
        for remote in self.source.remotes:
            place = places.get(remote.name)
            found.append(
                schema.RemoteStatus(
                    name=remote.name,
                    url=redact(remote.url),
                    commit=place.short if place else "",
                    branch=place.branch if place else "",
                    subject=place.subject if place else "",
                    last_fetch=self.sources.fetched_at.get(remote.name),
                    error=errors.get(remote.name, "") or self.sources.error,
                )
            )
        return found

    def diff(self, minion: str | None) -> Sequence[schema.MinionDiff]:
        """See `schema.ControllerApi`."""
        if minion is not None and self.store.minions.get(minion) is None:
            raise ServiceError("not-found", f"no minion {minion!r}", hint="`saltern status` lists the minions")
        ids = [minion] if minion is not None else [record.id for record in self.store.minions.all()]
        found = self.state.diff(ids)
        return found if minion is not None else [each for each in found if _to_tell(each)]

    def history(self, minion: str | None, limit: int) -> Sequence[schema.HistoryEntry]:
        """See `schema.ControllerApi`."""
        return self.state.history(minion, limit)

    def compile_detail(self, minion: str) -> schema.CompileView:
        """See `schema.ControllerApi`."""
        return self.state.compile(minion)

    async def why(self, minion: str) -> schema.WhyView:
        """See `schema.ControllerApi`."""
        if self.store.minions.get(minion) is None:
            raise ServiceError("no-target", f"no minion {minion!r}", hint="`saltern status` lists the minions")
        await self.event_log.flush()
        return schema.WhyView(id=minion, steps=tuple(steps_of(self.store, minion)))

    def run_detail(self, run_id: str) -> schema.RunView:
        """See `schema.ControllerApi`."""
        return self.state.run(run_id)

    # --- keys ---

    def keys(self) -> Sequence[schema.KeyView]:
        """See `schema.ControllerApi`."""
        return sorted((_key_view(record) for record in self.store.keys.all()), key=lambda key: (key.state, key.id))

    def controller_key(self) -> schema.ControllerKey:
        """See `schema.ControllerApi`."""
        return schema.ControllerKey(public=self.keypair.public, fingerprint=fingerprint(self.keypair.public))

    def accept(self, names: Sequence[str]) -> Sequence[schema.KeyView]:
        """See `schema.ControllerApi`."""
        return [self._set_key(record, "accepted") for record in self._named(names, "rejected", "pending")]

    def reject(self, names: Sequence[str]) -> Sequence[schema.KeyView]:
        """See `schema.ControllerApi`."""
        return [self._set_key(record, "rejected") for record in self._named(names, "accepted", "pending")]

    def delete(self, names: Sequence[str]) -> Sequence[schema.KeyView]:
        """See `schema.ControllerApi`."""
        found = self._named(names, "accepted", "pending", "rejected")
        for record in found:
            self.store.keys.delete(record.fingerprint)
            if record.state == "accepted":
                self.store.minions.delete(record.id)
        self._keys_changed(found, "delete")
        return [_key_view(record) for record in found]

    def _named(self, names: Sequence[str], *states: KeyStatus) -> list[KeyRecord]:
        """Keys in these states by id, glob or fingerprint; ServiceError for a name that means none."""
        records = self.store.keys.all()
        found: dict[str, KeyRecord] = {}
        for name in names:
            hits = [each for each in records if name == each.fingerprint or fnmatch.fnmatchcase(each.id, name)]
            if not hits:
                raise ServiceError("not-found", f"no key matches {name!r}", hint="`saltern key list` shows all keys")
            found |= {each.public_key: each for each in hits if each.state in states}
        return list(found.values())

    def _set_key(self, record: KeyRecord, state: KeyStatus) -> schema.KeyView:
        try:
            changed = self.store.keys.set_state(record.fingerprint, state, self.clock())
        except KeyConflict as error:
            raise ServiceError("conflict", str(error)) from error
        self._keys_changed([record], state)
        return _key_view(changed)

    def _keys_changed(self, records: Sequence[KeyRecord], act: str) -> None:
        self.keyring.replace(self.store.keys.all())
        for record in records:
            if act != "accepted":
                self.sessions.lost(record.public_key)
                self.server.disconnect(record.public_key)
            data = {"id": record.id, "act": act, "fingerprint": record.fingerprint}
            self.builds.fleet_changed(self.bus.publish("salt/key", data).id)

    # --- functions and runs ---

    async def call(
        self,
        target: TargetExpression,
        fun: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        timeout: float,
        *,
        progress: bool,
    ) -> AsyncIterator[schema.CallReturn | schema.CallProgress]:
        """See `schema.ControllerApi`."""
        minions = self.targets.select(target)
        async for item in self.jobs.call(minions, fun, args, kwargs, timeout, progress=progress):
            yield item

    async def sync(
        self, target: TargetExpression, *, whole: bool, test: bool, progress: bool
    ) -> AsyncIterator[schema.SyncReturn | schema.CallProgress]:
        """See `schema.ControllerApi`."""
        minions = self.targets.select(target)
        data = {"target": target.expression, "whole": whole, "test": test}
        event = self.bus.publish("saltern/sync", data)
        asked = {}
        answers = self.reconciler.request(minions, Request(whole=whole, test=test), event.id)
        for minion, answer in answers.items():
            if isinstance(answer, Declined):
                yield _declined(minion, answer)
            else:
                asked[minion] = (answer, self.jobs.wait(answer))
        async for minion, run_id, news in self.jobs.gather(asked, SYNC_SECONDS, progress=progress):
            if isinstance(news, RunProgress):
                yield progress_view(minion, news)
            else:
                yield _sync_return(minion, run_id, news)

    async def pause(self, target: TargetExpression) -> Sequence[str]:
        """See `schema.ControllerApi`."""
        return self._set_paused(target, paused=True)

    async def resume(self, target: TargetExpression) -> Sequence[str]:
        """See `schema.ControllerApi`."""
        return self._set_paused(target, paused=False)

    def _set_paused(self, target: TargetExpression, *, paused: bool) -> list[str]:
        minions = self.targets.select(target)
        self.store.minions.set_paused(minions, paused)
        for minion in minions:
            tag = f"saltern/minion/{minion}/{'paused' if paused else 'resumed'}"
            self.reconciler.wake([minion], cause=self.bus.publish(tag, {"id": minion}).id)
        return minions

    async def preview(
        self, base: str, head: str, target: TargetExpression | None, *, live: bool
    ) -> AsyncIterator[schema.PreviewEvent]:
        """See `schema.ControllerApi`."""
        minions = self.targets.select(target or TargetExpression())
        async for event in self.previews.preview(base, head, minions, live=live):
            yield event

    async def events(self) -> AsyncIterator[schema.EventView]:
        """See `schema.ControllerApi`."""
        with self.bus.subscribe() as subscription:
            async for event in subscription:
                yield schema.EventView(
                    id=str(event.id),
                    tag=event.tag,
                    time=event.time,
                    cause=str(event.cause) if event.cause else "",
                    minion=event.minion,
                    revision=event.revision,
                    data=dict(event.data),
                )

    async def hook(self, remote_hint: str | None) -> int:
        """See `schema.ControllerApi`."""
        hints = [remote_hint] if remote_hint else [remote.name for remote in self.source.remotes]
        names = [name for hint in hints for name in self.changes.hint(hint)]
        if names:
            event = self.bus.publish("saltern/hook", {"remote": redact(remote_hint or "")})
            self.sources.noticed(names, event.id)
        return len(names)


def _key_view(record: KeyRecord) -> schema.KeyView:
    return schema.KeyView(
        id=record.id,
        state=record.state,
        fingerprint=record.fingerprint,
        first_seen=record.first_seen,
        changed=record.changed,
        conflict=record.conflict,
    )


def _declined(minion: str, why: Declined) -> schema.SyncReturn:
    match why:
        case Declined.UNREACHABLE:
            return schema.SyncReturn(minion=minion, outcome="unreachable", summary="not connected")
        case Declined.PAUSED:
            return schema.SyncReturn(minion=minion, outcome="paused", summary="`saltern resume` first")
        case Declined.NOTHING_PENDING:
            return schema.SyncReturn(minion=minion, outcome="ok", summary="nothing is pending")


def _sync_return(minion: str, run_id: str, result: RunResult | None) -> schema.SyncReturn:
    if result is None:
        return schema.SyncReturn(minion=minion, outcome="error", run_id=run_id, summary="no result in time")
    changes, failed = count_states(result.states)
    return schema.SyncReturn(
        minion=minion,
        outcome=result.outcome,
        run_id=run_id,
        changes=changes,
        failed=failed,
        summary=run_summary(result.states, result.error),
        states=result.states,
        seconds=result.seconds,
    )


def _to_tell(found: schema.MinionDiff) -> bool:
    return bool(found.changes or found.drift or found.errors or found.warnings)
