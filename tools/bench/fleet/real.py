"""Real minions, each a process with a root of its own on this machine: a push changes 100 files on each."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from rig import Rig

from tools.bench.figures import Figure
from tools.bench.path import _events

FILES = 100
PUSHES = 7
PATIENCE = 600.0
_SLS = """\
{% for number in range(FILES) %}
{{ grains.root }}/etc/app/{{ number }}.conf:
  file.managed:
    - contents: |
        # file {{ number }} of {{ grains.id }}
        release = {{ pillar.release }}
    - mode: '0644'
    - makedirs: True
{% endfor %}
"""


def figures(_: int) -> Iterator[Figure]:
    """Seconds."""
    count = int(os.environ.get("REAL", "50"))
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        _write_tree(folder / "tree")
        minions = {f"real{number:02}": {} for number in range(count)}
        with Rig(folder / "rig", minions, folder / "tree") as rig:
            rig.up()
            rig.wait_applied(rig.push("The first"), patience=PATIENCE)
            _settle(rig, count)
            yield from _pushes(rig, count)


def _write_tree(tree: Path) -> None:
    for part in ("states", "pillar"):
        (tree / part).mkdir(parents=True)
        (tree / part / "top.sls").write_text("base: {'*': [app]}\n")
    (tree / "states" / "saltern.yaml").write_text("drift: {interval: 1800}\n")
    (tree / "states" / "app.sls").write_text(_SLS.replace("FILES", str(FILES)))
    (tree / "pillar" / "app.sls").write_text("release: 0\n")


def _pushes(rig: Rig, count: int) -> Iterator[Figure]:
    took, computed = [], []
    for number in range(1, PUSHES + 1):
        (rig.work / "pillar" / "app.sls").write_text(f"release: {number}\n")
        rig.git("commit", "-q", "-a", "-m", f"bench {number}")
        with _events(rig) as lines:
            before, began = _computing(rig), time.time()
            rig.push_head()
            took.append(_last_applied(lines, rig.head(), set(rig.minions)) - began)
            computed.append(_computing(rig) - before)
        _check(rig, number)
        _settle(rig, count)
    what = f"{count} real minions, {FILES} files changed on each"
    yield Figure(metric=f"{what}: push to applied on all", unit="s", samples=took, target=1.0)
    yield Figure(metric=f"{what}: processor time of all until then", unit="s", samples=computed)


def _last_applied(events: Iterator[dict[str, object]], commit: str, missing: set[str]) -> float:
    """When the last of these had applied the commit, in seconds since the epoch."""
    for event in events:
        if str(event["tag"]).endswith("/applied") and event["revision"] == commit:
            missing.discard(str(event["minion"]))
            if not missing:
                return float(str(event["time"]))
    raise RuntimeError("the stream of events ended")


def _computing(rig: Rig) -> float:
    """Seconds of processor time of the controller, the minions, and what these have started and seen end."""
    found = 0.0
    for name in ("controller", *rig.minions):
        process = psutil.Process(rig.pid(name))
        found += sum(process.cpu_times()[:4])
        for child in process.children(recursive=True):
            try:
                found += sum(child.cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue  # what it took is in its parent's children's time by now, or will be
    return found


def _check(rig: Rig, release: int) -> None:
    for name in rig.minions:
        for number in (0, FILES - 1):
            text = (rig.root(name) / f"etc/app/{number}.conf").read_text()
            if f"release = {release}\n" not in text:
                raise RuntimeError(f"{name}: {text}")


def _settle(rig: Rig, count: int) -> None:
    """Wait until the checks after a push have ended."""
    rig.wait(
        "all to be well",
        lambda: [each["sync"] for each in rig.status().values()].count("Synced") == count,
        patience=PATIENCE,
    )
    time.sleep(3)
