"""A store with the past of a fleet: a year of hourly runs, and what `status`, `history` and a start take with it.

`MINIONS` (1000) and `HOURS` (8760) say how much, `DATABASES` (sqlite,postgresql) where; PostgreSQL is left out on a
machine without its programs. A real controller answers; what is measured is its API.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from postgres_server import PROGRAMS, PostgresServer
from rig import Rig
from sqlalchemy import Connection, Text, func, insert, literal, select, text

from controller.store import RunRecord, Store, schema
from controller.store.database import engine_of
from controller.store.run_tables.packed_results import packed_result
from controller.store.run_tables.runs import new_row
from tools.bench.figures import Figure

TIMES = 10
TREE = Path(__file__).resolve().parents[2] / "examples" / "quickstart"
_HOUR = 3600.0


def measure() -> Iterator[Figure]:
    """Seconds."""
    minions, hours = int(os.environ.get("MINIONS", "1000")), int(os.environ.get("HOURS", "8760"))
    for kind in os.environ.get("DATABASES", "sqlite,postgresql").split(","):
        if kind == "postgresql" and PROGRAMS is None:
            continue
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="saltern-bench-")))
            if kind == "postgresql":
                server = PostgresServer()
                stack.callback(server.close)
                url = server.new_database("history")
            else:
                url = f"sqlite:///{folder}/store.sqlite"
            _fill(url, minions, hours)
            yield from _measure(kind, url, folder, minions, hours)


def _measure(kind: str, url: str, folder: Path, minions: int, hours: int) -> Iterator[Figure]:
    size = f"{minions * hours / 1e6:.3g} million runs of {minions} minions"
    rig = Rig(folder / "rig", {}, TREE, {"store_url": url, "keep_runs": 10**6})
    rig.make_remote()
    rig.push("The quickstart")
    began = time.perf_counter()
    with rig:
        rig.start_controller()
        yield Figure(metric=f"{kind}: start, {size}", unit="s", samples=[time.perf_counter() - began])
        asked: dict[str, tuple[Callable[[], bool], float]] = {
            "status": (lambda: len(rig.status()) == minions, 0.3),
            "status --by wave": (lambda: _counted(rig) == minions, 1.0),
            "history": (lambda: len(rig.history(limit=100)) == 100, 0.3),
            "history of a minion": (lambda: len(rig.history("minion0007", limit=100)) == min(hours, 100), 0.3),
        }
        for name, (ask, target) in asked.items():
            if not ask():
                raise RuntimeError(f"{name} does not show what is in the store")
            samples = []
            for _ in range(TIMES):
                began = time.perf_counter()
                ask()
                samples.append(time.perf_counter() - began)
            yield Figure(metric=f"{kind}: {name}, {size}", unit="s", samples=samples, target=target)


def _counted(rig: Rig) -> int:
    """Minions of all waves, counted anew."""
    return sum(each["minions"] for each in rig.ask("/status/fleet", by="wave")["groups"])


def _fill(url: str, minions: int, hours: int) -> None:
    """Minions, and runs of each hour with results: those of one hour are written, the others are copied from them."""
    with Store(url) as store, store.transaction():
        for number in range(minions):
            name = f"minion{number:04}"
            store.minions.seen(name, 1.0, grains={"os": "Debian", "id": name})
            store.keys.request(name.ljust(40, "x"), name, 1.0)
            store.keys.set_state(name, "accepted", 1.0)
    begin = time.time() - hours * _HOUR
    first = [
        RunRecord(
            run_id=f"0-{number}", minion=f"minion{number:04}", kind="drift", created=begin, state="finished",
            outcome="ok", started=begin, finished=begin + 1, seconds=1.0, test=True, reason="schedule",
        )
        for number in range(minions)
    ]  # fmt: skip
    engine = engine_of(url)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL statement_timeout = 0"))  # millions of rows in a statement
        connection.execute(insert(schema.runs), [new_row(run) for run in first])
        packed = packed_result({"states": {}, "value": None, "error": "", "retcode": 0})
        numbers = connection.scalars(select(schema.runs.c.seq)).all()
        connection.execute(insert(schema.results), [{"run": number, "blob": packed} for number in numbers])
        done = 1
        while done < hours:
            done += _copy(connection, done, min(done, hours - done), minions)
    engine.dispose()


def _copy(connection: Connection, done: int, more: int, minions: int) -> int:
    """Copy the runs of the first hours to later ones; how many hours."""
    runs, results = schema.runs, schema.results
    last = connection.scalar(select(func.max(runs.c.seq))) or 0
    columns = [column for column in runs.c if column.name != "seq"]
    changed = {
        "run_id": literal(f"{done}-", Text()).concat(runs.c.run_id),
        **{name: runs.c[name] + done * _HOUR for name in ("created", "started", "finished")},
    }
    values = [changed.get(column.name, column) for column in columns]
    copied = select(*values).where(runs.c.seq <= more * minions).order_by(runs.c.seq)
    connection.execute(insert(runs).from_select([column.name for column in columns], copied))
    blob = select(results.c.blob).limit(1).scalar_subquery()
    connection.execute(insert(results).from_select(["run", "blob"], select(runs.c.seq, blob).where(runs.c.seq > last)))
    return more
