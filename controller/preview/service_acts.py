"""What a change does to the services of a minion: restart, reload, start, stop. Pure; called by `comparison`.

1. `service.running` restarts or reloads when something that it watches or listens to is changed by the plan; so does
   `service.dead`, which stops.
2. A service that is newly to run may be started; one that is newly to be dead is stopped.
3. Commands and functions that name a service manager (`systemctl restart nginx`, `service.restart`) do what they say.

It is certain where the plan itself changes what is watched, and uncertain where that may only be triggered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from controller.reconcile.plan import ChangeKind, ChunkChange, PushPlan
from highstate.run.requisites import Index, items
from highstate.types import Chunk, Value

Action: TypeAlias = Literal["restart", "reload", "start", "stop"]

_WATCHES = ("watch", "watch_any", "listen", "listen_any")
_CHANGED = (ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.CONTENT)
_CONDITIONS = ("onlyif", "unless", "creates", "check_cmd")
_SYSTEMCTL = re.compile(
    r"\bsystemctl\s+(?:-\S*\s+)*(try-restart|reload-or-restart|restart|reload|start|stop)\s+([\w@.\-]+)"
)
_SERVICE = re.compile(
    r"(?:\bservice\s+|/etc/init\.d/|\brc-service\s+)([\w@.\-]+)\s+(restart|force-reload|reload|start|stop)\b"
)
_MOST_COMMAND = 4096
"""Characters of a command that are looked at."""
_ACTIONS: dict[str, Action] = {
    "try-restart": "restart",
    "reload-or-restart": "reload",
    "force-reload": "reload",
    "full_restart": "restart",
    "force_reload": "reload",
    "restart": "restart",
    "reload": "reload",
    "start": "start",
    "stop": "stop",
}


@dataclass(frozen=True, slots=True, order=True)
class ServiceAct:
    """What happens to one service of a minion."""

    service: str
    action: Action
    certain: bool


def service_acts(plan: PushPlan, chunks: Mapping[str, Chunk]) -> tuple[ServiceAct, ...]:
    """What the plan of a push does to services, each once, the certain ones before the others.

    Args:
        plan: of one minion.
        chunks: of the document of the head.
    """
    touched = {change.key: change for change in plan.changes if change.kind is not ChangeKind.REMOVED}
    index = Index(chunks) if any(change.chunk.state == "service" for change in touched.values()) else None
    found: dict[tuple[str, Action], bool] = {}
    for change in touched.values():
        for service, action, certain in _acts(change, touched, index):
            found[service, action] = found.get((service, action), False) or certain
    return tuple(sorted(ServiceAct(service, action, certain) for (service, action), certain in found.items()))


def _acts(
    change: ChunkChange, touched: Mapping[str, ChunkChange], index: Index | None
) -> Iterator[tuple[str, Action, bool]]:
    chunk = change.chunk
    match chunk.state:
        case "service" if index is not None:
            yield from _of_state(change, touched, index)
        case "cmd" if chunk.fun in ("run", "wait", "watch"):
            certain = change.kind in _CHANGED and not any(
                name in chunk.arguments for name in (*_CONDITIONS, "onchanges")
            )
            yield from ((service, action, certain) for service, action in _in_command(chunk.name[:_MOST_COMMAND]))
        case "module":
            yield from ((service, action, change.kind in _CHANGED) for service, action in _in_module(chunk))


def _of_state(
    change: ChunkChange, touched: Mapping[str, ChunkChange], index: Index
) -> Iterator[tuple[str, Action, bool]]:
    chunk = change.chunk
    watched = [
        touched[target]
        for kind in _WATCHES
        for item in items(chunk, kind)
        for target in index.find(item, change.key)
        if target in touched
    ]
    conditional = any(name in chunk.arguments for name in _CONDITIONS)
    if watched and chunk.fun in ("running", "dead"):
        turned = "reload" if chunk.arguments.get("reload") else "restart"
        sure = any(each.kind in _CHANGED for each in watched) and not conditional
        yield chunk.name, "stop" if chunk.fun == "dead" else _ACTIONS[turned], sure
    elif change.kind is ChangeKind.ADDED and chunk.fun in ("running", "dead"):
        # Whether it runs already is known by the machine alone.
        yield chunk.name, "start" if chunk.fun == "running" else "stop", False
    elif any(each.name == "fun" for each in change.fields) and chunk.fun in ("running", "dead"):
        yield chunk.name, "start" if chunk.fun == "running" else "stop", not conditional


def _in_command(text: str) -> Iterator[tuple[str, Action]]:
    yield from ((service.removesuffix(".service"), _ACTIONS[verb]) for verb, service in _SYSTEMCTL.findall(text))
    yield from ((service, _ACTIONS[verb]) for service, verb in _SERVICE.findall(text))


def _in_module(chunk: Chunk) -> Iterator[tuple[str, Action]]:
    """`service.restart: [{name: nginx}]`, or the older `name: service.restart` with `m_name: nginx`."""
    if chunk.name.startswith("service."):
        given = chunk.arguments.get("m_name")
        yield from _called(chunk.name, [given] if given else [])
    for name, given in chunk.arguments.items():
        if name.startswith("service."):
            yield from _called(name, given if isinstance(given, list | tuple) else [given])


def _called(function: str, given: Value) -> Iterator[tuple[str, Action]]:
    action = _ACTIONS.get(function.partition(".")[2])
    first = next(iter(given), None)
    service = first.get("name") if isinstance(first, Mapping) else first
    if action and isinstance(service, str):
        yield service, action
