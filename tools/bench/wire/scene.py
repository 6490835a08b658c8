"""A controller and a swarm of minions on this machine, as `make bench ONLY=wire` measures them."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import psutil
from rig import Rig

from minion.swarm.member import SwarmBehaviour
from minion.swarm.member_keys import identities, numbered
from minion.swarm.processes import SwarmPlan, SwarmProcesses, processes_for, raise_descriptors
from saltern.client import LocalClient
from wire.address import Address

PACE = 1000.0
"""Members of the swarm that begin to connect in a second."""
PATIENCE = 300.0
_MIB = 1024 * 1024

STRANGERS = {
    "connections": 20_000,
    "address_requests_a_second": 5000,
    "requests_a_second": 5000,
    "address_pending_keys": 20_000,
}
"""All members come from one address, and with new keys all together: limits of strangers are made against that."""
RAISED = "with limits.stranger raised"


class WireScene:
    """A controller that accepts all keys, and one swarm.

    Args:
        folder: for all that they write.
        minions: of the swarm.
    """

    def __init__(self, folder: Path, minions: int) -> None:
        tree = folder / "tree"
        for part in ("states", "pillar"):
            (tree / part).mkdir(parents=True)
            (tree / part / "top.sls").write_text("base: {}\n")
        self.minions = minions
        self.rig = Rig(folder / "rig", {}, tree)
        descriptors = raise_descriptors()
        self.processes = processes_for(minions, descriptors)
        self._swarm: SwarmProcesses | None = None
        self._ending = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> WireScene:
        self.rig.configure(auto_accept=True, limits={"stranger": STRANGERS}, log_level="warning")
        self.rig.make_remote()
        self.rig.start_controller()
        return self

    def __exit__(self, *_: object) -> None:
        if self._swarm is not None:
            self._ending.set()
            self._listener.join()
            self._swarm.stop()
        self.rig.stop_all()

    def connect_swarm(self) -> float:
        """Start the swarm, all with new keys; seconds until all are accepted and connected."""
        publish, request = self.rig.wire_ports
        plan = SwarmPlan(
            members=identities(numbered("swarm-", self.minions), None),
            address=Address(
                host="127.0.0.1",
                publish_port=publish,
                request_port=request,
                controller_key=self.rig.controller_key,
                relay_key="",
            ),
            behaviour=SwarmBehaviour(),
            pace=PACE,
            processes=self.processes,
        )
        self._swarm = SwarmProcesses(plan)
        began = time.monotonic()
        self._swarm.start()
        self._listener.start()
        self._wait_connected()
        return time.monotonic() - began

    def restart(self) -> float:
        """Restart the controller; seconds from the signal until all are connected and have answered a ping."""
        began = time.monotonic()
        self.rig.stop("controller")
        self.rig.start_controller()
        self.take_counts(1.5)  # until then the swarm may tell of the connections that it had
        self._wait_connected()
        self.ping("*", self.minions)
        return time.monotonic() - began

    def _wait_connected(self) -> None:
        until = time.monotonic() + PATIENCE
        while (counts := self.take_counts(0.1))["connected"] < self.minions:
            if time.monotonic() > until or counts["ended"]:
                raise RuntimeError(f"not all are connected: {dict(counts)}\n{self.rig.log('controller')}")

    def take_counts(self, seconds: float) -> dict[str, int]:
        """What the swarm has counted, after so many seconds."""
        assert self._swarm is not None  # noqa: S101 - `connect_swarm` comes first
        time.sleep(seconds)
        return self._swarm.counts()

    def _listen(self) -> None:
        """Take what the swarm tells: a process of it waits when nobody does."""
        while self._swarm is not None and not self._ending.is_set():
            self._swarm.wait(0.2)

    def client(self) -> LocalClient:
        """The Python API."""
        return LocalClient(str(self.rig.config / "controller"))

    def ping(self, target: str, count: int, client: LocalClient | None = None) -> float:
        """Seconds of a `test.ping` by the API until its last return. RuntimeError when one is missing."""
        began = time.perf_counter()
        returned = (client or self.client()).cmd(target, "test.ping", timeout=60)
        took = time.perf_counter() - began
        if sum(value is True for value in returned.values()) != count:
            wrong = {name: value for name, value in returned.items() if value is not True}
            raise RuntimeError(f"{len(returned) - len(wrong)} of {count} have answered: {list(wrong.items())[:3]}")
        return took

    # --- the controller's processes

    @property
    def _controller(self) -> psutil.Process:
        return psutil.Process(self.rig.pid("controller"))

    def computing(self) -> float:
        """Seconds of processor time that the controller's own process has taken."""
        return float(sum(self._controller.cpu_times()[:2]))

    def resident(self) -> float:
        """MiB of the controller's own process (RSS)."""
        return float(self._controller.memory_info().rss / _MIB)

    def memory(self) -> float:
        """MiB of the controller and its children, where what they share counts once (PSS)."""
        found = 0.0
        for each in (self._controller, *self._controller.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):  # a child that had just ended
                found += each.memory_full_info().pss / _MIB
        return found

    def descriptors(self) -> int:
        """Of the controller's own process."""
        return int(self._controller.num_fds())
