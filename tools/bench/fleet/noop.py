"""A fleet in which nothing is to be done, reconciled and looked at: the controller's parts, wired and not started."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import structlog

from controller.app import collect_seldom
from controller.compilation.sources import open_source
from controller.composition.controller import Parts, compose
from controller.composition.shared import Resources
from controller.config.settings import load_settings
from controller.observe.metrics import Metrics
from controller.sessions.sessions import KeyRegistry
from controller.store import AppliedRecord, DesiredRecord, KeyRecord, RevisionRecord, RunRecord, Store
from gitfs.changes import Changes
from tools.bench.figures import Figure
from wire import patch
from wire.messages import Hello
from wire.server.types import Incoming, Limits

TIMES = 5


def figures(minions: int) -> Iterator[Figure]:
    """Seconds of processor time, which is all that it takes."""
    collect_seldom()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    reconciled, looked_at = asyncio.run(_measured(minions))
    yield Figure(
        metric=f"no-op reconcile of {minions} connected minions (processor time)",
        unit="s",
        samples=reconciled,
        target=0.5 * minions / 10_000,
    )
    yield Figure(
        metric=f"`status --by` of {minions} minions: a look at all of them (processor time)",
        unit="s",
        samples=looked_at,
        target=1.0 * minions / 10_000,
    )


async def _measured(minions: int) -> tuple[list[float], list[float]]:
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        (folder / "controller").write_text(
            f"root_dir: {folder}\nsock_dir: {folder}\nlog_level: error\nauto_accept: true\n"
        )
        settings = load_settings(folder)
        with Store(settings.store_url) as store, open_source(settings) as source:
            changes = Changes(source.remotes, roots=source.roots)
            parts = compose(
                Resources(settings=settings, store=store, source=source, changes=changes, metrics=Metrics(time.time))
            )
            names = [f"m{number:05}" for number in range(minions)]
            try:
                return _reconciled(parts, names), await _looked_at(parts, names)
            finally:
                for pool in parts.pools:
                    pool.close()
                parts.reactor.process.close()


def _reconciled(parts: Parts, names: list[str]) -> list[float]:
    """Seconds of each of some times that all are looked at."""
    _connect_with_what_they_shall_have(parts, names)
    samples = []
    for _ in range(TIMES):
        began = time.process_time()
        parts.reconciler.step(names)
        samples.append(time.process_time() - began)
    store, sessions = parts.resources.store, list(parts.reconciler.sessions)
    if len(sessions) != len(names) or any(each.sent_digest or each.sent for each in sessions) or store.runs.open():
        raise RuntimeError("there was something to do")
    return samples


async def _looked_at(parts: Parts, names: list[str]) -> list[float]:
    """Seconds of each of some looks at the whole fleet."""
    status = replace(parts.fleet_status, keyring=KeyRegistry(map(_accepted, names)))
    samples = []
    for _ in range(TIMES):
        began = time.process_time()
        [fleet] = (await status.view("fleet")).groups
        samples.append(time.process_time() - began)
        if [(one.sync, one.health, one.minions) for one in fleet.states] != [("Synced", "Healthy", len(names))]:
            raise RuntimeError("not all minions were found well")
    return samples


def _accepted(name: str) -> KeyRecord:
    return KeyRecord(
        id=name, public_key=f"key of {name}", state="accepted", fingerprint=name, first_seen=0.0, changed=0.0
    )


def _connect_with_what_they_shall_have(parts: Parts, names: list[str]) -> None:
    documents = {name: {"chunks": {}, "pillar": {"own": name}} for name in names}
    digests = {name: patch.digest(document) for name, document in documents.items()}
    size = Limits().batch
    for at in range(0, len(names), size):
        said = [(name, Hello(id=name, grains={"id": name}, held=digests[name])) for name in names[at : at + size]]
        parts.handlers.deliver([Incoming(key=f"key of {name}", id=name, message=hello) for name, hello in said])
    store = parts.resources.store
    with store.transaction():
        store.revisions.add(RevisionRecord(digest="r" * 64, label="r1"))
        common = {"revision": "r" * 64, "generation": 1}
        store.desired.put(
            [
                DesiredRecord(
                    minion=name,
                    digest=digests[name],
                    document=msgspec.msgpack.encode(document),
                    compiled_revision="r" * 64,
                    **common,
                )
                for name, document in documents.items()
            ]
        )
        for name in names:
            store.runs.create(RunRecord(run_id=f"run-{name}", minion=name, kind="apply", created=1.0, **common))
            store.runs.finish(f"run-{name}", "ok", finished=2.0, summary="", keys=None)
            store.applied.put(AppliedRecord(minion=name, digest=digests[name], at=1.0, outcome="ok", **common))
