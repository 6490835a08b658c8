"""A controller, the tree of a fleet in git, and a swarm that holds its documents: what `whole_path` measures."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
from rig import Rig

from minion.swarm.member import SwarmBehaviour
from minion.swarm.member_keys import identities
from minion.swarm.processes import SwarmPlan, SwarmProcesses, processes_for, raise_descriptors
from tools.bench import gentree
from tools.bench.wire.scene import PACE, STRANGERS
from wire.address import Address

ROLES = 20
STATES = 500
SYSTEMS = (("Debian", "Debian"), ("Ubuntu", "Debian"), ("Rocky", "RedHat"), ("openSUSE", "Suse"))
PATIENCE = 1800.0
SWEEP_OF_FLEET = 1800.0
"""Seconds in which 10,000 minions are checked for drift, as `drift: interval` says by itself."""
_MIB = 2**20


class FleetScene:
    """A controller, whose minions are the swarm.

    Args:
        folder: for all that they write.
        minions: of the swarm.
    """

    def __init__(self, folder: Path, minions: int) -> None:
        self.minions = minions
        tree, pillar = gentree.fleet(ROLES, STATES, minions)
        interval = SWEEP_OF_FLEET * minions / 10_000
        policy = f"drift: {{interval: {interval}, splay: 0}}\n"
        gentree.write({**tree, "saltern.yaml": policy}, folder / "tree" / "states")
        gentree.write(pillar, folder / "tree" / "pillar")
        self.rig = Rig(folder / "rig", {}, folder / "tree")
        processes = processes_for(minions, raise_descriptors())
        made = identities([gentree.minion_id(number) for number in range(minions)], None)
        members = [replace(each, grains=_grains(number)) for number, each in enumerate(made)]
        self._plan = lambda address: SwarmPlan(
            members=members,
            address=address,
            behaviour=SwarmBehaviour(),
            pace=PACE,
            processes=processes,
            told_seconds=0.05,
        )
        self._swarm: SwarmProcesses | None = None
        self._ending = threading.Event()
        self._listener: threading.Thread | None = None

    def __enter__(self) -> FleetScene:
        self.rig.configure(auto_accept=True, limits={"stranger": STRANGERS}, log_level="warning")
        self.rig.make_remote()
        self.rig.start_controller()
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()
        self.rig.stop_all()

    # --- the swarm

    def connect(self) -> None:
        """Start the swarm, and wait until all are connected."""
        publish, request = self.rig.wire_ports
        key = self.rig.controller_key
        self._swarm = SwarmProcesses(
            self._plan(
                Address(host="127.0.0.1", publish_port=publish, request_port=request, controller_key=key, relay_key="")
            )
        )
        self._ending.clear()
        self._swarm.start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.wait("all to connect", lambda: self.counts()["connected"] >= self.minions)

    def disconnect(self) -> None:
        """Have the swarm say Bye, and end it."""
        if self._swarm is not None and self._listener is not None:
            self._ending.set()
            self._listener.join()
            self._swarm.stop()
            self._swarm = None

    def _listen(self) -> None:
        """Take what the swarm tells: a process of it waits when nobody does."""
        while self._swarm is not None and not self._ending.is_set():
            self._swarm.wait(0.2)

    def counts(self) -> Counter[str]:
        """What the members have counted, as of 50 ms ago."""
        assert self._swarm is not None  # noqa: S101 - `connect` comes first
        found = self._swarm.counts()
        if found["ended"]:
            raise RuntimeError(f"a process of the swarm has ended: {dict(found)}")
        return found

    def wait(self, what: str, condition: Callable[[], bool]) -> float:
        """Wait for a condition; when it held, by the monotonic clock."""
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until:
                raise RuntimeError(f"waited for {what}\n{self.rig.log('controller')}")
            time.sleep(0.01)
        return time.monotonic()

    # --- the store, read beside the controller

    def count(self, query: str, *values: object) -> int:
        """What a query of the store gives."""
        with contextlib.closing(sqlite3.connect(f"file:{self._store}?mode=ro", uri=True)) as store:
            return int(store.execute(query, values).fetchone()[0])

    @property
    def _store(self) -> Path:
        return next((self.rig.directory / "c").rglob("*.sqlite"))

    def documents(self) -> int:
        """Minions that have a document."""
        return self.count("select count(*) from desired where digest is not null")

    def applied(self) -> int:
        """Minions that have applied their document."""
        return self.count("select count(*) from desired d join applied a using (minion) where a.digest = d.digest")

    def compiled_since(self, seconds: float) -> int:
        """Minions that were compiled since this time, in seconds since the epoch."""
        return self.count("select count(*) from desired where compiled_at > ?", seconds)

    def open_runs(self) -> int:
        """Runs without a result."""
        return self.count("select count(*) from runs where state in ('requested', 'started')")

    # --- the controller's processes

    def _processes(self) -> list[psutil.Process]:
        controller = psutil.Process(self.rig.pid("controller"))
        return [controller, *controller.children(recursive=True)]

    def computing(self, *, alone: bool = False) -> float:
        """Seconds of processor time of the controller, with the processes that it has (`alone`: without)."""
        found = 0.0
        for each in self._processes()[: 1 if alone else None]:
            with contextlib.suppress(psutil.NoSuchProcess):
                found += sum(each.cpu_times()[:2])
        return found

    def memory(self) -> float:
        """MiB of the controller and its processes, what they share counted once."""
        found = 0.0
        for each in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                found += each.memory_full_info().pss / _MIB
        return found


def _grains(number: int) -> dict[str, str]:
    """As `gentree.fleet` wants them: roles take turns, and the systems within a role."""
    system, family = SYSTEMS[number // ROLES % len(SYSTEMS)]
    return {"os": system, "os_family": family, "role": gentree.role_of(number, ROLES)}
