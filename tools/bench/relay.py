"""What a relay costs: `test.ping` through it beside the same without, and its memory with many minions.

Real processes on this machine: a controller, a relay, and swarms (`saltern swarm`) in front of it and behind it. What
is measured is the time of the API's answer with all returns.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import yaml
from rig import SALTERN, Rig, free_ports

from saltern.client import LocalClient
from tools.bench.figures import Figure
from wire.keys import read_public

MANY = 200
TIMES = 20
_MIB = 1024 * 1024


def measure() -> Iterator[Figure]:
    """Seconds until all have answered, and MiB."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, _BenchScene(Path(folder)) as scene:
        idle = scene.relay_memory()
        scene.swarm("direct", relayed=False)
        scene.swarm("relayed", relayed=True)
        for count, target in ((1, "001"), (MANY, "*")):
            direct = scene.pings(f"direct-{target}", count)
            yield Figure(
                metric=f"relay: test.ping of {count} behind it",
                unit="s",
                samples=scene.pings(f"relayed-{target}", count),
                reference=sorted(direct)[len(direct) // 2],
                reference_of="directly connected",
            )
        for metric, samples, reference in (
            (f"memory with {MANY} minions", [scene.relay_memory()], idle),
            (
                "processor time of a minion's test.ping, controller",
                scene.computing("relayed-*"),
                scene.computing("direct-*")[0],
            ),
        ):
            unit = "MiB" if metric.startswith("memory") else "us"
            of = "without minions" if unit == "MiB" else "directly connected"
            yield Figure(metric=f"relay: {metric}", unit=unit, samples=samples, reference=reference, reference_of=of)


class _BenchScene:
    """The processes.

    Args:
        folder: for all that they write.
    """

    def __init__(self, folder: Path) -> None:
        tree = folder / "tree"
        (tree / "states").mkdir(parents=True)
        (tree / "pillar").mkdir()
        (tree / "states/top.sls").write_text("base: {}\n")
        (tree / "pillar/top.sls").write_text("base: {}\n")
        self._rig = Rig(folder / "rig", {}, tree)
        self._folder = folder
        self._swarms: list[subprocess.Popen[bytes]] = []
        (self._port,) = free_ports(1)

    def __enter__(self) -> _BenchScene:
        rig = self._rig
        rig.configure(auto_accept=True, limits={"stranger": {"address_requests_a_second": 1000}})
        rig.make_remote()
        rig.start_controller()
        config = self._folder / "relay"
        config.mkdir()
        settings = {
            "id": "relay1",
            "syndic_master": f"127.0.0.1:{rig.wire_ports[1]}",
            "controller_key": rig.controller_key,
            "interface": "127.0.0.1",
            "ret_port": self._port,
            "pki_dir": str(config / "pki"),
        }
        (config / "relay").write_text(yaml.safe_dump(settings))
        log = (config / "log").open("wb")
        self._relay = subprocess.Popen([*SALTERN, "relay", "-c", str(config)], stderr=log)
        rig.wait("the relay to ask", lambda: rig.keys("pending") == ["relay1"])
        rig.saltern("key", "accept", "relay1", "--yes")
        self._relay_key = read_public((config / "pki/relay.key").read_text())
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._swarms, self._relay):
            process.terminate()
            process.wait(20)
        self._rig.stop_all()

    def swarm(self, prefix: str, *, relayed: bool) -> None:
        """Connect simulated minions."""
        publish, request = self._rig.wire_ports
        way = (
            ["--relay-key", self._relay_key, "--master-port", str(self._port)]
            if relayed
            else ["--master-port", str(request)]
        )
        words = ["swarm", "--minions", str(MANY), "--id-prefix", f"{prefix}-", "--publish-port", str(publish)]
        key = ["--controller-key", self._rig.controller_key]
        self._swarms.append(
            subprocess.Popen([*SALTERN, *words, *key, *way], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        here = f"{prefix}-"
        self._rig.wait(
            f"the minions {here}*",
            lambda: (
                sum(each["connected"] for name, each in self._rig.status().items() if name.startswith(here)) == MANY
            ),
        )

    def pings(self, target: str, count: int) -> list[float]:
        """Seconds of each."""
        with LocalClient(str(self._rig.config / "controller")) as client:
            samples = []
            for _ in range(TIMES):
                began = time.perf_counter()
                returned = client.cmd(target, "test.ping", timeout=30)
                samples.append(time.perf_counter() - began)
                if len(returned) != count:
                    raise RuntimeError(f"{len(returned)} of {count} have answered")
        return samples

    def computing(self, target: str) -> list[float]:
        """Microseconds of the controller's processor time for each return."""
        process = psutil.Process(self._rig.pid("controller"))
        before = sum(process.cpu_times()[:2])
        self.pings(target, MANY)
        return [(sum(process.cpu_times()[:2]) - before) / (TIMES * MANY) * 1e6]

    def relay_memory(self) -> float:
        """MiB that belong to the relay alone (USS)."""
        return float(psutil.Process(self._relay.pid).memory_full_info().uss / _MIB)
