"""Previews of a fleet: a role edited and everything edited, a thousand and ten thousand minions, pushes meanwhile.

The controller is the real one; its minions are accepted keys with grains that are not connected, so that what is
measured is compiling and comparing (layer 1), without test runs. `MINIONS=N` is another number of them.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import zmq
from rig import Rig

from controller.cli.client import Client
from controller.schema.preview_stream import PreviewFinished
from controller.schema.reports import PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.store import Store
from tools.bench import gentree
from tools.bench.figures import Figure

ROLES = 20
STATES = 500
FLEETS = tuple(int(number) for number in os.environ.get("MINIONS", "1000,10000").split(","))
SYSTEMS = (("Debian", "Debian"), ("Ubuntu", "Debian"), ("Rocky", "RedHat"), ("openSUSE", "Suse"))
ROLE_SECONDS = {1000: 1.5, 10000: 4.0}
ALL_SECONDS = {1000: 8.0}
COMPILED = 1800.0
"""Seconds until the fleet has its first documents."""


def measure() -> Iterator[Figure]:
    """All figures of previews."""
    for minions in FLEETS:
        yield from _fleet(minions)


def _fleet(minions: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, _PreviewRig(Path(folder), minions) as rig:
        rig.begin()
        what = f"{minions} minions"
        before = rig.memory()
        role = [rig.preview(rig.edit_role(number), minions // ROLES) for number in range(5)]
        target = ROLE_SECONDS.get(minions)
        yield Figure(metric=f"{what}, one SLS of one role edited", unit="s", samples=role, target=target)
        if minions in ALL_SECONDS:
            every = [rig.preview(rig.edit_all(number), minions) for number in range(3)]
            yield Figure(
                metric=f"{what}, what all include edited", unit="s", samples=every, target=ALL_SECONDS[minions]
            )
        grown = [rig.memory() - before]
        yield Figure(metric=f"{what}, memory of the controller", unit="MiB", samples=grown, target=300.0)


class _PreviewRig(Rig):
    """A controller with a fleet that is known to it and away."""

    def __init__(self, folder: Path, minions: int) -> None:
        self._members = {gentree.minion_id(number): _grains(number) for number in range(minions)}
        tree = folder / "tree"
        files, pillar = gentree.fleet(ROLES, STATES, minions)
        gentree.write(files, tree / "states")
        gentree.write(pillar, tree / "pillar")
        super().__init__(folder, {}, tree, {"gitfs_saltenv_whitelist": ["base"]})  # branches are not live

    def begin(self) -> None:
        """Push the tree, and wait until everyone has a document of it."""
        self.make_remote()
        self.push("the fleet")
        url = f"sqlite:///{self.directory / 'c/var/lib/saltern/controller.sqlite'}"
        (self.directory / "c/var/lib/saltern").mkdir(parents=True)
        with Store(url) as store, store.transaction():
            for minion, grains in self._members.items():
                public = zmq.curve_keypair()[0].decode()
                store.keys.request(public, minion, time.time())
                store.keys.set_state(minion, "accepted", time.time())
                store.minions.seen(minion, time.time(), grains=grains)
        self.start_controller()
        self.wait("every minion to be compiled", self._is_compiled, patience=COMPILED)

    def _is_compiled(self) -> bool:
        time.sleep(0.5)
        return all(each["attempted_revision"] for each in self.status().values())

    def edit_role(self, number: int) -> str:
        """A branch in which one SLS of one role is another."""
        role = gentree.role_of(number, ROLES)
        return self._edit(f"role-{number}", {f"states/{role}/{role}_17.sls": ("first of", "edited first of")})

    def edit_all(self, number: int) -> str:
        """A branch in which an SLS of every role is another."""
        roles = [gentree.role_of(each, ROLES) for each in range(ROLES)]
        paths = [f"states/{role}/{role}_{11 + number}.sls" for role in roles]
        return self._edit(f"all-{number}", dict.fromkeys(paths, ("first of", "edited first of")))

    def _edit(self, branch: str, changes: dict[str, tuple[str, str]]) -> str:
        self.git("checkout", "-q", "-B", branch, "main")
        self.push(branch, changes, branch=branch)
        self.git("checkout", "-q", "main")
        self.saltern("remote", "fetch")
        return branch

    def preview(self, branch: str, changed: int) -> float:
        """Seconds until the report of a preview is there."""
        began = time.perf_counter()
        report = self._report(branch)
        seconds = time.perf_counter() - began
        if report.changed != changed or report.broken:
            raise RuntimeError(f"{report.changed} changed, {len(report.broken)} broken, and {changed} were to change")
        return seconds

    def _report(self, branch: str) -> PreviewReport:
        question = PreviewQuestion(base="main", head=branch, live="none", merge=True)
        with Client(self.config) as client:
            for item in client.stream("/preview", question):
                if isinstance(item, PreviewFinished):
                    return item.report
        raise RuntimeError("no report")

    def memory(self) -> float:
        """MiB of the controller and its processes."""
        total = 0
        for process in (psutil.Process(self.pid("controller")), *psutil.Process(self.pid("controller")).children(True)):
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
        return total / 2**20


def _grains(number: int) -> dict[str, str]:
    system, family = SYSTEMS[number // ROLES % len(SYSTEMS)]
    own = gentree.minion_id(number)
    return {"id": own, "os": system, "os_family": family, "role": gentree.role_of(number, ROLES)}
