"""Results of functions into the store: from the messages of minions to rows in SQLite, by what a controller does.

A whole controller is wired and not started; it gets what its sockets would bring, in batches of their size.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

from controller.compilation.sources import open_source
from controller.composition.controller import Parts, compose
from controller.composition.shared import Resources
from controller.config.settings import load_settings
from controller.observe.metrics import Metrics
from controller.schema.requests import CallQuestion
from controller.schema.targets import TargetExpression
from controller.store import Store
from gitfs.changes import Changes
from tools.bench.figures import Figure
from wire.messages import Hello, RunResult, RunStarted, ToController
from wire.server.types import Incoming, Limits

MINIONS = 1000
TIMES = 5


def stored_figures() -> Iterator[Figure]:
    """Microseconds a result."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    for metric, starts in (("", False), (" that was said to have begun", True)):
        yield Figure(
            metric=f"wire: result of a function{metric} into the store",
            unit="us",
            samples=asyncio.run(_stored(starts=starts)),
            target=200.0,
        )


async def _stored(*, starts: bool) -> list[float]:
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
                names = [f"m{number:04}" for number in range(MINIONS)]
                _deliver(parts, [(name, Hello(id=name, grains={"id": name})) for name in names])
                return [_seconds(parts, names, starts=starts) / MINIONS * 1e6 for _ in range(TIMES)]
            finally:
                for pool in parts.pools:
                    pool.close()
                parts.reactor.process.close()


def _seconds(parts: Parts, names: Sequence[str], *, starts: bool) -> float:
    """Of one job of all: from the first message of a minion until the last result is in the store."""
    question = CallQuestion(target=TargetExpression(kind="glob", expression="*"), fun="test.ping")
    asked = parts.service.minions.jobs.start(names, question)
    said: list[tuple[str, ToController]] = []
    for minion, (run_id, _) in asked.items():
        if starts:
            said.append((minion, RunStarted(run_id=run_id)))
        said.append((minion, _result(run_id)))
    began = time.perf_counter()
    _deliver(parts, said)
    took = time.perf_counter() - began
    missing = [
        run_id
        for run_id, _ in asked.values()
        if (run := parts.resources.store.runs.get(run_id)) is None or not run.finished
    ]
    if missing:
        raise RuntimeError(f"{len(missing)} results are not in the store")
    return took


def _result(run_id: str) -> RunResult:
    return RunResult(run_id=run_id, kind="call", generation=0, digest="", outcome="ok", value=True)


def _deliver(parts: Parts, said: Sequence[tuple[str, ToController]]) -> None:
    size = Limits().batch
    for at in range(0, len(said), size):
        part = said[at : at + size]
        parts.handlers.deliver(
            [Incoming(key=f"key of {minion}", id=minion, message=message) for minion, message in part]
        )
