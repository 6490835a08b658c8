"""The whole path: from `git push` to applied on three minions, what idle processes weigh, how fast commands start."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import psutil
from rig import SALTERN, Rig

from tools.bench.figures import Figure

TREE = Path(__file__).resolve().parents[2] / "examples" / "quickstart"
MINIONS = {"web1": {"roles": ["web"]}, "web2": {"roles": ["web"]}, "db1": {"roles": ["db"]}}
PUSHES = 20
STARTS = 15
BARE = (sys.executable, "-c", "pass")


def measure() -> Iterator[Figure]:
    """All figures of the path."""
    yield from _starts()
    yield from _memory()
    yield from _pushes()


def _starts() -> Iterator[Figure]:
    bare = _timed(BARE)
    limit = {"reference": min(bare), "reference_of": "python -c pass"}
    yield Figure(metric="start of saltern --help", unit="s", samples=_timed([*SALTERN, "--help"]), target=0.15, **limit)
    call = [*SALTERN, "call", "--local", "test.ping"]
    yield Figure(metric="start of saltern call --local test.ping", unit="s", samples=_timed(call), target=0.3, **limit)


def _timed(command: Sequence[str]) -> list[float]:
    samples = []
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        samples.append(time.perf_counter() - began)
    return samples[1:]  # the first one warms the disk's cache


def _memory() -> Iterator[Figure]:
    """One controller and one minion, as on machines of their own, after a push and idle."""
    one = {"web1": {"roles": ["web"]}}
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, Rig(Path(folder), one, TREE) as rig:
        rig.up()
        _calm(rig)
        rig.wait_applied(rig.push("The quickstart"))
        time.sleep(2)
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bare:
            time.sleep(0.3)
            limit = {"reference": _pss(bare.pid), "reference_of": "idle python", "unit": "MiB"}
            bare.communicate(b"\n")
        yield Figure(metric="idle minion (PSS)", samples=_several(rig.pid("web1")), target=35.0, **limit)
        yield Figure(metric="idle controller (PSS)", samples=_several(rig.pid("controller")), target=120.0, **limit)


def _several(pid: int) -> list[float]:
    samples = []
    for _ in range(9):
        samples.append(_pss(pid))
        time.sleep(0.2)
    return samples


def _pss(pid: int) -> float:
    """MiB of a process and all its children."""
    total = 0
    for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
        try:
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        except OSError:
            continue  # it ended just now
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def _pushes() -> Iterator[Figure]:
    """Latency until the results of all three minions are stored, the push itself in it."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, Rig(Path(folder), MINIONS, TREE) as rig:
        rig.up()
        _calm(rig)
        rig.wait_applied(rig.push("The quickstart"))
        total, bare = [], []
        for number in range(PUSHES):
            release = rig.work / "pillar/release.sls"
            release.write_text(_bumped(release, number + 1))
            rig.git("commit", "-q", "-a", "-m", f"bench {number}")
            with _events(rig) as lines:
                began = time.time()
                rig.push_head()
                bare.append(time.time() - began)
                total.append(_last_applied(lines, rig.head()) - began)
            time.sleep(0.2)
        push = sorted(bare)[len(bare) // 2]
        limit = {"reference": push, "reference_of": "git push alone", "unit": "s"}
        yield Figure(metric="git push to applied on 3 minions", samples=total, target=0.3, **limit)


def _bumped(release: Path, number: int) -> str:
    lines = [line for line in release.read_text().splitlines() if not line.startswith("  version")]
    where = next(index for index, line in enumerate(lines) if line.startswith("  name"))
    return "\n".join([*lines[: where + 1], f"  version: 1.0.{number}", *lines[where + 1 :]]) + "\n"


def _calm(rig: Rig) -> None:
    """Drift checks every half hour, as in life: the quickstart's every two seconds would be measured with the push."""
    policy = rig.work / "states/saltern.yaml"
    policy.write_text(policy.read_text().replace("interval: 2s", "interval: 30m"))


class _events:  # noqa: N801 - used as a function
    """The controller's events from now on, as parsed lines."""

    def __init__(self, rig: Rig) -> None:
        transport = httpx.HTTPTransport(uds=str(rig.socket))
        self._client = httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=60)

    def __enter__(self) -> Iterator[dict[str, object]]:
        self._stream = self._client.stream("GET", "/events")
        lines = self._stream.__enter__().iter_lines()
        return (json.loads(line) for line in lines if line)

    def __exit__(self, *details: object) -> None:
        self._stream.__exit__(None, None, None)
        self._client.close()


def _last_applied(events: Iterator[dict[str, object]], commit: str) -> float:
    """When the last of the minions had applied the commit, in seconds since the epoch."""
    missing = set(MINIONS)
    for event in events:
        if str(event["tag"]).endswith("/applied") and event["revision"] == commit:
            missing.discard(str(event["minion"]))
            if not missing:
                return float(str(event["time"]))
    raise RuntimeError("the stream of events ended")


if __name__ == "__main__":
    sys.exit("run `make bench ONLY=path`")
