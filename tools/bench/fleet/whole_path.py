"""From `git push` to documents that minions hold: first compile, pushes to one role, restart, drift sweep, memory."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tools.bench import gentree
from tools.bench.figures import Figure
from tools.bench.fleet.scene import ROLES, FleetScene

PUSHES = 5
TEXT = 2048
"""Bytes of the text by which a push changes one state."""
SWEEP = float(os.environ.get("SWEEP", "60"))


def figures(minions: int) -> Iterator[Figure]:
    """Seconds, bytes, MiB, per cent of a core."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, FleetScene(Path(folder), minions) as scene:
        scene.connect()
        scene.disconnect()  # known, and away: the first compile is measured without their work
        yield from _first_compile(scene)
        yield from _first_documents(scene)
        yield from _pushes(scene)
        yield from _sweep(scene)
        yield from _restart(scene)


def _first_compile(scene: FleetScene) -> Iterator[Figure]:
    before, began = scene.computing(), time.monotonic()
    scene.rig.push("The fleet")
    took = scene.wait("all to be compiled", lambda: scene.documents() == scene.minions) - began
    what = f"{scene.minions} minions, first compile with the store"
    yield Figure(metric=f"{what}: push to all documents", unit="s", samples=[took], target=12.0)
    yield Figure(metric=f"{what}: processor time", unit="s", samples=[scene.computing() - before])
    yield _memory(scene, "after it")


def _first_documents(scene: FleetScene) -> Iterator[Figure]:
    before, began = scene.computing(), time.monotonic()
    scene.connect()
    took = scene.wait("all to have applied", lambda: scene.applied() == scene.minions) - began
    what = f"{scene.minions} minions, first document of each sent, run in whole and stored"
    yield Figure(metric=what, unit="s", samples=[took])
    yield Figure(metric=f"{what}: processor time", unit="s", samples=[scene.computing() - before])


def _pushes(scene: FleetScene) -> Iterator[Figure]:
    """To one role each, with all of its figures."""
    of_role = len(range(0, scene.minions, ROLES))
    samples: dict[str, list[float]] = {}
    for number in range(PUSHES):
        _settle(scene)
        for name, value in _push(scene, number, of_role).items():
            samples.setdefault(name, []).append(value)
    what = f"push to {of_role} of {scene.minions}"
    yield Figure(metric=f"{what}: all {of_role} have the document", unit="s", samples=samples["held"], target=1.5)
    yield Figure(metric=f"{what}: all {scene.minions} known", unit="s", samples=samples["known"], target=2.0)
    yield Figure(metric=f"{what}: the push itself", unit="s", samples=samples["git"])
    yield Figure(metric=f"{what}: run and stored", unit="s", samples=samples["applied"])
    yield Figure(metric=f"{what}: processor time until then", unit="s", samples=samples["computing"])
    yield Figure(
        metric=f"{what}: bytes to a changed minion",
        unit="B",
        samples=samples["bytes"],
        reference=float(TEXT),
        reference_of="the change",
        target=2.0 * TEXT,
    )
    yield Figure(metric=f"{what}: documents sent to others", unit="", samples=samples["others"], target=0.0)
    yield _memory(scene, "after the pushes")


def _push(scene: FleetScene, number: int, of_role: int) -> dict[str, float]:
    """Change one state of a role; the samples."""
    role = gentree.role_of(number, ROLES)
    path = scene.rig.work / "states" / role / f"{role}_17.sls"
    line = f"    - name: first of {role}_17 at "
    text = path.read_text()
    if line not in text:
        raise RuntimeError(f"{path} has no {line!r}")
    path.write_text(text.replace(line, f"    - text: {os.urandom(TEXT // 2).hex()}\n{line}"))
    scene.rig.git("commit", "-q", "-a", "-m", f"bench {number}")
    counts, computing, digests = scene.counts(), scene.computing(), _newest(scene)
    began = time.monotonic()
    scene.rig.push_head()
    pushed = time.monotonic()
    held = known = 0.0
    while not (held and known):
        if not held and scene.counts()["documents"] - counts["documents"] >= of_role:
            held = time.monotonic()
        if not known and (new := _newest(scene)) != digests and _of_revision(scene, new) == scene.minions:
            known = time.monotonic()
        if time.monotonic() > began + 600:
            raise RuntimeError(f"the push is not everywhere: {scene.rig.log('controller')}")
        time.sleep(0.01)
    applied = scene.wait("the push to be applied", lambda: scene.applied() == scene.minions)
    after = scene.counts()
    documents = after["documents"] - counts["documents"]
    return {
        "git": pushed - began,
        "held": held - began,
        "known": known - began,
        "applied": applied - began,
        "computing": scene.computing() - computing,
        "bytes": (after["document-bytes"] - counts["document-bytes"]) / documents,
        "others": float(documents - of_role),
    }


def _newest(scene: FleetScene) -> int:
    return scene.count("select max(rowid) from revisions")


def _of_revision(scene: FleetScene, row: int) -> int:
    """Minions of which it is known whether they have what this revision says."""
    query = "select count(*) from desired where revision = (select digest from revisions where rowid = ?)"
    return scene.count(query, row)


def _settle(scene: FleetScene) -> None:
    """Wait until nothing of the last push goes on."""
    scene.wait("runs to end", lambda: scene.open_runs() == 0)
    time.sleep(0.5)
    scene.wait("runs to end", lambda: scene.open_runs() == 0)


def _sweep(scene: FleetScene) -> Iterator[Figure]:
    """The load of drift checks in each second, at the pace of 10,000 minions that are checked in half an hour."""
    _settle(scene)
    checks, shares = scene.counts()["checks"], []
    for _ in range(int(SWEEP)):
        before, began = scene.computing(alone=True), time.monotonic()
        time.sleep(1.0)
        shares.append(100 * (scene.computing(alone=True) - before) / (time.monotonic() - began))
    checks = scene.counts()["checks"] - checks
    what = f"drift sweep, {checks / SWEEP:.3g} checks of 500 states a second for {SWEEP:.0f} s, of a core"
    yield Figure(metric=f"{what}: peak of a second", unit="%", samples=[max(shares)], target=30.0)
    yield Figure(metric=f"{what}: mean", unit="%", samples=[sum(shares) / len(shares)])


def _restart(scene: FleetScene) -> Iterator[Figure]:
    """Until each minion is connected and shown with what it has."""
    _settle(scene)
    since, began = time.time(), time.monotonic()
    scene.rig.stop("controller")
    scene.rig.start_controller()
    scene.wait("all to be shown", lambda: _shown(scene))
    took = time.monotonic() - began
    what = f"{scene.minions} minions, controller restarted"
    yield Figure(metric=f"{what}: all connected and shown as they are", unit="s", samples=[took], target=10.0)
    yield Figure(metric=f"{what}: processor time of it", unit="s", samples=[scene.computing()])
    _settle(scene)
    again = float(scene.compiled_since(since))
    yield Figure(metric=f"{what}: compiled again, though nothing is new", unit="", samples=[again], target=0.0)
    yield _memory(scene, "after a restart")


def _shown(scene: FleetScene) -> bool:
    if scene.counts()["connected"] < scene.minions:
        return False
    shown = scene.rig.status().values()
    well = sum(each["connected"] and each["sync"] in ("Synced", "OutOfSync", "Progressing") for each in shown)
    return well == scene.minions


def _memory(scene: FleetScene, when: str) -> Figure:
    return Figure(
        metric=f"{scene.minions} minions: memory of the controller and its processes (PSS) {when}",
        unit="MiB",
        samples=[scene.memory()],
        target=1024.0,
    )
