"""Attacks by events: of a machine whose key is accepted, on the bus, its readers and the reactors.

Where an attack has something to lose beside time and memory, it looks itself, and fails: text that was rendered twice,
a loop of reactors that nobody stopped, a reserved tag that was published.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import zmq

from tools.attack.attacks import Attack, Running
from tools.attack.scene import HOSTILE, Scene, pack
from wire.messages import Hello

_TEMPLATE = "{{ 7 * 7 }}{% for x in range(10 ** 9) %}x{% endfor %}"
_RESERVED = ("salt/job/1/new", "salt/key", "minion_start", "saltern/sync", "salt/beacon/web1/load/", "salt/run/1/ret")
_ANSWER = "told:\n  runner.test.arg:\n  - arg: [{{ data['data'] | tojson }}]\n"
_SLOW = "{% for x in range(300000) %}{% endfor %}\n" + _ANSWER
_PING = "other:\n  runner.event.send:\n  - args:\n    - tag: own/pong\n    - data: {}\n"
_LOOP: Mapping[str, str] = {
    "states/saltern.yaml": "reactor:\n- own/ping: [salt://ping.sls]\n- own/pong: [salt://pong.sls]\n",
    "states/ping.sls": _PING,
    "states/pong.sls": _PING.replace("own/pong", "own/ping"),
}


def _reactor(sls: str, more: str = "") -> dict[str, str]:
    """A tree with a reactor on `own/*`; the process that renders is there before the attack, and is no growth."""
    policy = f"reactor:\n- 'own/*': [salt://answer.sls]\n- 'saltern/run/*': [salt://nothing.sls]\n{more}"
    return {"states/saltern.yaml": policy, "states/answer.sls": sls, "states/nothing.sls": "{}\n"}


def reserved_tags(scene: Scene, running: Running) -> None:
    """Tags that are the controller's, and those of another minion; none may be published."""
    before = _told(scene, "salt/run/1/ret")
    _fire(scene, running, itertools.repeat([(tag, {"id": "web1", "success": True}) for tag in _RESERVED * 10]))
    if len(_told(scene, "salt/run/1/ret")) > len(before):
        raise RuntimeError("an event with a reserved tag was published")


def huge_data(scene: Scene, running: Running) -> None:
    """Events of 15 MiB each."""
    _fire(scene, running, itertools.repeat([("own/huge", {"data": "x" * 15_000_000})]))


def deep_data(scene: Scene, running: Running) -> None:
    """Events whose data are nested 900 deep."""
    nested: Any = "x"
    for _ in range(900):
        nested = {"a": nested}
    _fire(scene, running, itertools.repeat([("own/deep", {"data": nested})] * 10))


def distinct_tags(scene: Scene, running: Running) -> None:
    """A tag of its own for each event, long and without end."""
    _fire(scene, running, ([(f"own/{first}/{at}/{'x' * 900}", {}) for at in range(500)] for first in itertools.count()))


def slow_reactor(scene: Scene, running: Running) -> None:
    """Events without end, each answered by an SLS that takes long to render."""
    _fire(
        scene,
        running,
        ([(f"own/{first}/{at}", {"text": _TEMPLATE}) for at in range(500)] for first in itertools.count()),
    )


def template_text(scene: Scene, running: Running) -> None:
    """Text of a template in data that a reactor passes on: it must arrive as it is."""
    _fire(scene, running, itertools.repeat([("own/text", {"text": _TEMPLATE})]), pause=0.2)
    found = [one["data"] for one in _told(scene, "salt/run/*/ret") if one["data"].get("fun") == "runner.test.arg"]
    texts = [str(one.get("return")) for one in found]
    if not texts or any(_TEMPLATE not in text for text in texts):
        raise RuntimeError(f"text of an event was rendered, or nothing was answered: {texts[:1]}")


def loop_of_two(scene: Scene, running: Running) -> None:
    """Two reactors of the tree that set each other off: they must be stopped, and named."""
    _fire(scene, running, itertools.repeat([("own/ping", {})]), pause=0.5)
    rules = {one["data"].get("rule") for one in _told(scene, "saltern/reaction/loop")}
    if not rules & {"own/ping", "own/pong"}:
        raise RuntimeError(f"a loop of two reactors was not named: {rules}")


def _fire(scene: Scene, running: Running, messages: Iterator[Sequence[tuple[str, Any]]], *, pause: float = 0.0) -> None:
    """Send events as `saltern call` and beacons of the hostile minion would; a new stream after a disconnect."""
    dealer = scene.minion(Hello(id=HOSTILE, grains={"id": HOSTILE}))
    stream, first = f"attack-{time.time_ns()}", 0
    for events in messages:
        frame = pack("minion-events", stream=stream, first=first, end=first + len(events), events=list(events))
        while running():
            with contextlib.suppress(zmq.Again):
                dealer.send(frame, zmq.NOBLOCK)
                break
            time.sleep(0.001)
        first += len(events)
        with contextlib.suppress(zmq.Again):
            while True:
                dealer.recv(zmq.NOBLOCK)
        time.sleep(pause)
        if not running():
            return


def _told(scene: Scene, tag: str) -> list[dict[str, Any]]:
    """Kept events of a tag."""
    asked = {"tag": tag, "since": 600, "follow": "false"}
    lines = scene.ask("GET", "/events", params=asked).text.splitlines()
    return [msgspec.json.decode(line) for line in lines]


ATTACKS: Mapping[str, Attack] = {
    "reserved-tags": Attack("tags that are the controller's without end", reserved_tags),
    "huge-data": Attack("events of 15 MiB", huge_data),
    "deep-data": Attack("data nested 900 deep", deep_data),
    "distinct-tags": Attack("a long tag of its own for each event", distinct_tags, tree=_reactor(_ANSWER)),
    "slow-reactor": Attack("events without end while a reactor is slow", slow_reactor, tree=_reactor(_SLOW)),
    "slow-durable": Attack(
        "the same with durable events", slow_reactor, tree=_reactor(_SLOW, "events: {durable: ['own/*']}\n")
    ),
    "template-text": Attack(
        "text of a template in data that a reactor passes on", template_text, tree=_reactor(_ANSWER)
    ),
    "loop-of-two": Attack("two reactors that set each other off", loop_of_two, tree=_LOOP),
}
