"""What the honest side sees while an attack runs: pushes, the API, memory, processes, stalls of the event loop."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families
from rig import Failed, Rig

MIB = 1024 * 1024
PATIENCE = 60.0
"""Seconds until a push or an answer counts as lost."""
API_SECONDS = 0.2
MEMORY_SECONDS = 0.5


@dataclass(slots=True, kw_only=True)
class Seen:
    """Figures of one attack. Times in seconds, memory in MiB."""

    pushes: list[float] = field(default_factory=list)
    """From `git push` to applied on every honest minion."""
    api: list[float] = field(default_factory=list)
    gateway: list[float] = field(default_factory=list)
    """Of requests of the honest stock minion, where there is a gateway."""
    baseline: float = 0.0
    most: float = 0.0
    """Of the controller and all its children (PSS)."""
    fetching: float = 0.0
    """At most, of the processes that fetch; they are in `most` too."""
    after: float = 0.0
    """The least in the minute after."""
    stalls: float = 0.0
    """Turns of the event loop above a second."""
    ended: list[str] = field(default_factory=list)
    """Processes that are not there any more."""
    refusals: dict[str, float] = field(default_factory=dict)
    """`border/limit` -> count."""
    errors: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """All figures; of times the median and the maximum."""
        times = {"pushes": self.pushes, "api": self.api, "gateway": self.gateway}
        return asdict(self) | {name: _summary(values) for name, values in times.items()}


class Witness:
    """Watches one rig.

    Args:
        rig: up, with all honest minions connected.
        honest: ids of the minions that pushes are for.
        push: makes a push that changes something for each of them; gives its commit.
    """

    def __init__(self, rig: Rig, honest: list[str], push: Callable[[], str]) -> None:
        self._rig = rig
        self._honest = honest
        self._push = push
        self._stop = threading.Event()
        self.seen = Seen(baseline=memory_of(rig.pid("controller")))
        self._pids = {name: rig.pid(name) for name in ("controller", *honest)}
        self._stalls = self._slow_turns()

    def watch(self, seconds: float) -> None:
        """Push again and again for so long, while the API and the memory are watched."""
        threads = [threading.Thread(target=each, daemon=True) for each in (self._ask, self._weigh)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._push_once()
            time.sleep(0.5)
        self._stop.set()
        for thread in threads:
            thread.join()

    def settle(self, seconds: float, allowed: float) -> None:
        """After the attack: until the memory is back within `allowed` MiB of the baseline, for so long at most."""
        until = time.monotonic() + seconds
        self.seen.after = memory_of(self._pids["controller"])
        while self.seen.after > self.seen.baseline + allowed and time.monotonic() < until:
            time.sleep(1)
            self.seen.after = min(self.seen.after, memory_of(self._pids["controller"]))
        self._push_once()
        self.seen.ended = [name for name, pid in self._pids.items() if not _lives(pid)]
        self.seen.stalls = self._slow_turns() - self._stalls
        self.seen.refusals = self._refusals()

    def _push_once(self) -> None:
        began = time.monotonic()
        try:
            commit = self._push()
            self._rig.wait_applied(commit, self._honest, patience=PATIENCE)
        except (Failed, httpx.HTTPError) as error:
            self.seen.errors.append(str(error)[:2000])
        self.seen.pushes.append(time.monotonic() - began)

    def _ask(self) -> None:
        transport = httpx.HTTPTransport(uds=str(self._rig.socket), verify=False)
        with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=PATIENCE) as client:
            while not self._stop.wait(API_SECONDS):
                began = time.monotonic()
                try:
                    client.get("/status")
                except httpx.HTTPError as error:
                    self.seen.errors.append(f"API: {error!r}")
                self.seen.api.append(time.monotonic() - began)

    def _weigh(self) -> None:
        while not self._stop.wait(MEMORY_SECONDS):
            self.seen.most = max(self.seen.most, memory_of(self._pids["controller"]))
            self.seen.fetching = max(self.seen.fetching, memory_of_fetches(self._pids["controller"]))

    def _slow_turns(self) -> float:
        found = {name: value for name, labels, value in self._samples() if labels.get("le", "1.0") == "1.0"}
        return found.get("saltern_loop_stall_seconds_count", 0) - found.get("saltern_loop_stall_seconds_bucket", 0)

    def _refusals(self) -> dict[str, float]:
        return {
            f"{labels['border']}/{labels['limit']}": value
            for name, labels, value in self._samples()
            if name == "saltern_limit_refusals_total"
        }

    def _samples(self) -> list[tuple[str, dict[str, str], float]]:
        try:
            text = httpx.get(f"{self._rig.http}/metrics", timeout=PATIENCE, trust_env=False, verify=False).text  # noqa: S501
        except httpx.HTTPError as error:
            self.seen.errors.append(f"metrics: {error!r}")
            return []
        return [
            (sample.name, sample.labels, sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        ]


def _summary(values: list[float]) -> dict[str, float]:
    if not values:
        return {"count": 0}
    return {"count": len(values), "median": round(statistics.median(values), 4), "max": round(max(values), 4)}


def memory_of(pid: int) -> float:
    """MiB (PSS) of a process and all its children; 0 when it is gone."""
    try:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(map(_proportional_kib, (process.pid for process in processes))) / 1024


def memory_of_fetches(pid: int) -> float:
    """MiB (PSS) of the controller's processes that fetch: they are forks of its own command."""
    try:
        controller = psutil.Process(pid)
        command = controller.cmdline()
        forks = [child.pid for child in controller.children(recursive=True) if _command(child) == command]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(map(_proportional_kib, forks)) / 1024


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _proportional_kib(pid: int) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
