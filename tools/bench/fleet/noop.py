"""Reconciling a fleet in which nothing is to be done: the controller's own parts, wired and not started."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import structlog

from controller.compilation.sources import open_source
from controller.composition.controller import Parts, compose
from controller.composition.shared import Resources
from controller.config.settings import load_settings
from controller.observe.metrics import Metrics
from controller.store import AppliedRecord, DesiredRecord, RevisionRecord, RunRecord, Store
from gitfs.changes import Changes
from tools.bench.figures import Figure
from wire import patch
from wire.messages import Hello
from wire.server.types import Incoming, Limits

TIMES = 5


def figures(minions: int) -> Iterator[Figure]:
    """Seconds of processor time, which is all that it takes."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    yield Figure(
        metric=f"no-op reconcile of {minions} connected minions (processor time)",
        unit="s",
        samples=asyncio.run(_measured(minions)),
        target=0.5 * minions / 10_000,
    )


async def _measured(minions: int) -> list[float]:
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
            try:
                return _reconciled(parts, [f"m{number:05}" for number in range(minions)])
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
