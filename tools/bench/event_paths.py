"""What an event costs on its way between machines: to another minion, to a reader outside, and to a healed file.

Everything is real: controller, agents, workers, sockets. With SALT_VENV the same is measured with real Salt
(`salt_events`), which is then the reference.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import psutil
from rig import Rig, free_ports

from controller.app import controller
from controller.config.settings import load_settings
from controller.reconcile.deciding.decision import TOUCHED_AT_ONCE
from reactors.bus import Bus
from tools.bench import salt_events
from tools.bench.figures import Figure

FIRINGS = 40
READ_EVENTS = 50_000
READ_TIMES = 5
_AHEAD = 4000
"""Events that are published before the reader says that it has them: fewer than its queue holds."""
_SLICE = 200
READER = Path(__file__).with_name("event_reader.py")

MODULE = """
import time


def fire(tag):
    __salt__['event.send'](tag, {'fired': time.time()})


def started(fired):
    return time.time() - float(fired)
"""
REACTION = "measure:\n  local.bench.started:\n  - tgt: two\n  - args:\n    - fired: {{ data['data']['fired'] }}\n"
RULE = """
rules:
- name: measure
  tag: bench/rule
  do: [{local.bench.started: {tgt: two, args: [{fired: '{{ data.data.fired }}'}]}}]
"""
POLICY = "drift: {interval: 0, mode: remediate, watch: true}\nreactor:\n- bench/sls: [salt://measure.sls]\n"
STATES = "{{ grains['root'] }}/managed:\n  file.managed:\n  - contents: as it shall be\n  - makedirs: true\n"


def measure() -> Iterator[Figure]:
    """Seconds from an event to what follows from it, and microseconds of an event to a reader outside."""
    salt = salt_events.measure(Path(os.environ["SALT_VENV"])) if "SALT_VENV" in os.environ else {}
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        _write_tree(folder / "tree")
        with Rig(folder, {"one": {}, "two": {}}, folder / "tree") as rig:
            rig.up()
            rig.wait_applied(rig.push("what is measured"))
            for kind in ("rule", "sls"):
                metric = f"events: fired on a minion to a job started on another, by {_KINDS[kind]}"
                yield Figure(metric=metric, unit="s", samples=_reacted(rig, kind), target=0.015, **_beside(salt, "job"))
            yield Figure(
                metric="events: edited managed file to healed",
                unit="s",
                samples=_healed(rig),
                target=0.5,
                **_beside(salt, "heal"),
            )
    samples = [asyncio.run(_read()) for _ in range(READ_TIMES)]
    metric = "events: one to a reader in another process, by the unix socket"
    yield Figure(metric=metric, unit="us", samples=samples, target=50.0, **_beside(salt, "read"))


_KINDS = {"rule": "a native rule", "sls": "a reactor SLS"}


def _beside(salt: salt_events.Measured, name: str) -> dict[str, Any]:
    return {"reference": salt[name], "reference_of": "Salt"} if name in salt else {}


def _write_tree(tree: Path) -> None:
    for path, text in {
        "pillar/top.sls": "base: {}\n",
        "states/top.sls": "base: {'*': [managed]}\n",
        "states/managed.sls": STATES,
        "states/measure.sls": REACTION,
        "states/_modules/bench.py": MODULE,
        "states/saltern.yaml": POLICY + RULE,
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)


def _reacted(rig: Rig, kind: str) -> list[float]:
    """Seconds from `event.send` on the one minion to the function on the other; both look at the same clock."""
    seen = len(_returned(rig))
    question = {"target": {"kind": "glob", "expression": "one"}, "fun": "bench.fire", "args": [f"bench/{kind}"]}
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=60) as client:
        for number in range(seen, seen + FIRINGS + 1):
            client.post("/call", json=question).raise_for_status()
            rig.wait("the return", lambda before=number: len(_returned(rig)) > before)  # type: ignore[misc]
    return _returned(rig)[seen + 1 :]


def _returned(rig: Rig) -> list[float]:
    """What the function on the other minion returned, of all firings."""
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(rig.socket), verify=False)) as client:
        asked = {"tag": "salt/job/*/ret/two", "since": 3600, "follow": "false"}
        lines = client.get("http://controller/events", params=asked).text.splitlines()
    events = [json.loads(line)["data"] for line in lines]
    return [float(data["return"]) for data in events if data["fun"] == "bench.started"]


def _healed(rig: Rig) -> list[float]:
    """Seconds from the edit of a managed file until it is as it was; as often as it is put right at once in a row."""
    samples = []
    for minion in rig.minions:
        file = rig.root(minion) / "managed"
        _wait_for_watch(rig, minion, file)
        for _ in range(TOUCHED_AT_ONCE):
            runs = len(rig.history(minion))
            began = time.perf_counter()
            file.write_text("edited\n")
            while file.read_text() != "as it shall be\n":
                time.sleep(0.001)
            samples.append(time.perf_counter() - began)
            rig.wait("the record", lambda of=minion, before=runs: _settled(rig, of, before))  # type: ignore[misc]
            time.sleep(1.0)  # checks that follow one another at once are paced
    return samples


def _settled(rig: Rig, minion: str, before: int) -> bool:
    history = rig.history(minion)
    return len(history) >= before + 2 and all(run["state"] == "finished" for run in history)


def _wait_for_watch(rig: Rig, minion: str, file: Path) -> None:
    wanted = f"ino:{file.parent.stat().st_ino:x} "

    def watched() -> bool:
        children = psutil.Process(rig.pid(minion)).children(recursive=True)
        said = [info.read_text() for each in children for info in Path(f"/proc/{each.pid}/fdinfo").glob("*")]
        return any(wanted in one for one in said if "inotify" in one)

    rig.wait("the watch", watched)


async def _read() -> float:
    """Microseconds an event, from the first that is published until the reader has them all."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        publish, request = free_ports(2)
        options = {"root_dir": str(folder), "sock_dir": str(folder), "publish_port": publish, "ret_port": request}
        lines = [f"{key}: {value}" for key, value in {**options, "interface": "127.0.0.1", "http_port": 0}.items()]
        (folder / "controller").write_text("\n".join([*lines, "log_level: error", ""]))
        settings = load_settings(folder)
        async with controller(settings) as running:
            reader = await asyncio.create_subprocess_exec(
                sys.executable,
                str(READER),
                str(settings.socket),
                str(READ_EVENTS),
                stdout=asyncio.subprocess.PIPE,
            )
            bus, said = running.service.telemetry.bus, cast(asyncio.StreamReader, reader.stdout)
            while not (await _ready(bus, said)):
                continue
            began = time.perf_counter()
            await _publish(bus, said)
            took = time.perf_counter() - began
            await reader.wait()
    return took / READ_EVENTS * 1e6


async def _ready(bus: Bus, said: asyncio.StreamReader) -> bool:
    """Whether the reader is there: it says so when it has an event."""
    bus.publish("bench/hello", {})
    try:
        async with asyncio.timeout(0.2):
            return bool(await said.readline())
    except TimeoutError:
        return False


async def _publish(bus: Bus, said: asyncio.StreamReader) -> None:
    """Publish all, no further ahead of the reader than its queue is long; RuntimeError when it missed some."""
    published = read = 0
    while read < READ_EVENTS:
        while published < min(READ_EVENTS, read + _AHEAD):
            for number in range(published, published + _SLICE):
                bus.publish("salt/beacon/web1/load/", {"id": f"web{number % 100}", "1m": 3.0})
            published += _SLICE
            await asyncio.sleep(0)
        line = await said.readline()
        if not line.strip().isdigit():
            raise RuntimeError(f"the reader of events said {line!r}")
        read = int(line)
