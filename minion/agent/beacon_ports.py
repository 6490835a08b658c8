"""What the process of the beacons has of this minion: its functions, its queue of events, the modules of its tree.

Imported in that process alone.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from highstate.types import Chunk
from minion.beacons.beacon import World
from minion.beacons.host import HostPorts, TreeBeacons
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.processes import AgentPipe, fork
from minion.spool.desired_state import FILE_NAME, read_document
from minion.spool.minion_events import EventNotQueued, EventQueue

log = logging.getLogger(__name__)

LOADING_SECONDS = 30.0
"""That loading all beacons of the tree may take."""

KIND = "beacons"


def ports_of(context: Context) -> HostPorts:
    """The ports of a minion."""
    queue = EventQueue(Path(context.cachedir), context.minion_id)

    def add(events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        try:
            queue.add(*events)
        except EventNotQueued as error:
            if len(events) > 1:  # one of them may be too large for all
                for event in events:
                    add([event])
                return
            log.error("event=beacon_event_dropped tag=%s error=%s", events[0][0], error)

    return HostPorts(
        minion_id=context.minion_id,
        world=World(functions=Modules(context).as_functions(), now=time.time),
        tree=TreeBeacons(names=lambda: _names(context), functions=lambda name: _functions(context, name)),
        add=add,
        drop=queue.count_dropped,
        document=lambda: _document(Path(context.cachedir)),
    )


def _document(cachedir: Path) -> tuple[str, Mapping[str, Chunk]]:
    held = read_document(cachedir / FILE_NAME)
    return held.digest, held.desired.chunks


def _functions(context: Context, name: str) -> Mapping[str, Callable[..., Any]]:
    loaded = context.user_modules.loaded(KIND)[name]
    return {each: function.call for each, function in loaded.functions.items()}


def _names(context: Context) -> tuple[frozenset[str], Mapping[str, str]]:
    """Names of the usable modules, and of the others why they are not; they are loaded in a child to know."""
    files = context.user_modules.store.index().get(KIND, {}) if context.has_user_modules() else {}
    if not files:
        return frozenset(), {}

    def load(pipe: AgentPipe) -> None:
        names = list(context.user_modules.loaded(KIND))
        head = f"{KIND}."
        failures = {
            name.removeprefix(head): why for name, why in context.user_modules.failures.items() if name.startswith(head)
        }
        pipe.send(msgspec.msgpack.encode((names, failures), enc_hook=str))

    child = fork(load, umask=0o022)
    frames: list[bytes] = []
    deadline, ended = time.monotonic() + LOADING_SECONDS, False
    while not ended and (left := deadline - time.monotonic()) > 0:
        if select.select([child.fd], [], [], left)[0]:
            more, ended = child.receive()
            frames += more
    if not ended:
        child.kill()
    child.reap()
    if not frames:
        why = f"loading the modules of _beacons took more than {LOADING_SECONDS:g} s" if not ended else "loading failed"
        return frozenset(), dict.fromkeys(files, why)
    names, failures = msgspec.msgpack.decode(frames[0])
    return frozenset(names), failures
