"""What the HTTP ports cost with a fleet in the store: the dashboard, and `/metrics` without and with single series.

`MINIONS` (10000) says how many; they are in the store and not connected, which a scrape
reads no differently. The first figures are those that hold with the default, `metrics_per_minion: auto`.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
from browsing import with_dashboard
from rig import Rig

from controller.store import AppliedRecord, DesiredRecord, RevisionRecord, Store
from highstate.desired import Desired, chunk_keys
from highstate.types import Chunk, Pos, Problem, Stage
from tools.bench.figures import Figure
from tools.bench.web_dashboard import LIMITS, fill_events, measure_dashboard
from wire import patch

TIMES = 10
_STATES = [
    Chunk(
        state="file",
        fun="managed",
        id=f"/etc/app/{number}.conf",
        name=f"/etc/app/{number}.conf",
        sls="app",
        arguments={"contents": f"listen {number}\n", "mode": "0644", "order": number},
    )
    for number in range(40)
]
TREE = Path(__file__).resolve().parents[2] / "examples" / "quickstart"
_CACHED_SECONDS = 1.1
"""The answer is made anew after a second."""
_MIB = 1_000_000
_ACCEPTED = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,*/*;q=0.1"
"""As Prometheus asks."""


def measure() -> Iterator[Figure]:
    """Seconds and megabytes."""
    minions = int(os.environ.get("MINIONS", "10000"))
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/store.sqlite"
        _fill(url, minions)
        fill_events(url, minions)
        rig = Rig(folder / "rig", {}, TREE, with_dashboard(store_url=url, log_level="warning", limits=LIMITS))
        rig.make_remote()  # nothing is pushed: there is nothing to compile
        with rig:
            for per_minion in (False, True):
                rig.configure(metrics_per_minion=per_minion)
                rig.start_controller()
                rig.wait("a look at the fleet", lambda: _counted(_scrape(rig)) == minions)
                what = f"{minions} minions, {'with' if per_minion else 'without'} single series"
                yield from _figures(rig, what, per_minion=per_minion)
                if not per_minion:
                    yield from measure_dashboard(rig, minions)
                rig.stop("controller")


def _figures(rig: Rig, what: str, *, per_minion: bool) -> Iterator[Figure]:
    seconds, sizes = [], []
    for _ in range(TIMES):
        time.sleep(_CACHED_SECONDS)
        began = time.perf_counter()
        text = _scrape(rig)
        seconds.append(time.perf_counter() - began)
        sizes.append(len(text) / _MIB)
    yield Figure(metric=f"/metrics, {what}", unit="s", samples=seconds, target=None if per_minion else 0.15)
    yield Figure(metric=f"its size, {what}", unit="MB", samples=sizes, target=None if per_minion else 1.0)


def _scrape(rig: Rig) -> bytes:
    headers = {"accept": _ACCEPTED}
    return httpx.get(f"{rig.http}/metrics", headers=headers, timeout=60).raise_for_status().content


def _counted(text: bytes) -> int:
    return sum(
        int(float(line.rsplit(b" ", 1)[1])) for line in text.splitlines() if line.startswith(b"saltern_minions{")
    )


def _fill(url: str, minions: int) -> None:
    """Accepted minions that have applied a document; of every tenth the newest does not compile."""
    now = time.time()
    document = Desired(chunks=chunk_keys(_STATES)).as_document()
    packed = msgspec.msgpack.encode(document)
    digest = patch.digest_of_packed(packed)
    broken = (Problem(message="no such pillar key", pos=Pos(file="app.sls", stage=Stage.RENDER)),)
    with Store(url) as store, store.transaction():
        store.revisions.add(RevisionRecord(digest="r" * 64, label="abcdef12", committed_at=now - 3600, first_seen=now))
        names = [f"minion{number:05}" for number in range(minions)]
        for number, name in enumerate(names):
            store.minions.seen(name, now, grains={"os": "Debian", "id": name, "role": f"role{number % 20}"})
            store.keys.request(name.ljust(40, "x"), name, now)
            store.keys.set_state(name, "accepted", now)
        of_document = {"generation": 1, "digest": digest, "revision": "r" * 64}
        store.desired.put(
            [
                DesiredRecord(
                    minion=name,
                    compiled_revision="r" * 64,
                    errors=() if number % 10 else broken,
                    compiled_at=now,
                    saltenvs=("base",),
                    document=packed if number == 0 else None,
                    **of_document,
                )
                for number, name in enumerate(names)
            ]
        )
        applied = [AppliedRecord(minion=name, at=now, outcome="changed", **of_document) for name in names]
        store.applied.put_all({each.minion: each for each in applied})
