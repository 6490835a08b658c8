"""The grains that the agent sends and gives to its workers: collected in a child, so that psutil is not kept here.

Part of the agent. The last collection is kept in the cache, so that a restarted agent can say hello at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from minion.config.settings import MinionSettings
from minion.machine.durable_files import write_durably
from minion.processes import AgentPipe, Child

log = logging.getLogger(__name__)

FIRST_WITHIN = 30.0
"""Seconds that the very first collection may take; a minion without grains cannot say who it is."""

KEPT = "grains.msgpack"
"""The last collection, in the cache."""

ASKED = "grains.asked"
"""In the cache: somebody wants the grains collected anew (`saltutil.refresh_grains`, `grains.set`)."""

Collector = Callable[[], Mapping[str, Any]]


class GrainsKeeper:
    """The grains as they were collected last."""

    def __init__(
        self,
        cachedir: Path,
        collect: Collector,
        fork: Callable[[Callable[[AgentPipe], None]], Child],
        *,
        least: Mapping[str, Any],
    ) -> None:
        """`least`: what is known without looking; all that there is should the collection fail."""
        self._path = cachedir / KEPT
        self._asked = cachedir / ASKED
        self._collect = collect
        self._fork = fork
        self._child: Child | None = None
        self.collected = False
        self.grains: dict[str, Any] = dict(least)
        kept = _kept(cachedir)
        if kept:
            self.grains = kept
            self.collected = True

    def readers(self) -> list[int]:
        """The collecting child's socket, while there is one."""
        return [] if self._child is None else [self._child.fd]

    def asked(self) -> bool:
        """Whether somebody has asked for a collection since the last time."""
        try:
            self._asked.unlink()
        except OSError:
            return False
        return True

    def refresh(self) -> None:
        """Start a collection, unless one is under way."""
        if self._child is None:
            self._child = self._fork(self._work)

    def first(self) -> None:
        """Collect and wait: there are none from an earlier start."""
        self.refresh()
        deadline = time.monotonic() + FIRST_WITHIN
        while self._child is not None and time.monotonic() < deadline:
            if select.select(self.readers(), [], [], deadline - time.monotonic())[0]:
                self.receive()

    def receive(self) -> bool:
        """Read from the child; True when the grains have changed."""
        if self._child is None:
            return False
        frames, ended = self._child.receive()
        changed = False
        for frame in frames:
            grains = msgspec.msgpack.decode(frame, type=dict[str, Any])
            self.collected = True
            if grains != self.grains:
                self.grains = grains
                self._keep(frame)
                changed = True
        if ended:
            code = self._child.reap()
            self._child = None
            if code:
                log.error("event=grains_not_collected exit_code=%s", code)
        return changed

    def _keep(self, packed: bytes) -> None:
        try:
            write_durably(self._path, packed)
        except OSError as error:
            log.error("event=grains_not_kept error=%s", error)

    def _work(self, pipe: AgentPipe) -> None:
        agent = os.getppid()
        grains = dict(self._collect())
        if "pid" in grains:
            grains["pid"] = agent  # the child's own would be another one each time
        pipe.send(msgspec.msgpack.encode(grains, enc_hook=str))


def collect_grains(settings: MinionSettings) -> dict[str, Any]:
    """All grains of this machine, those of the tree's `_grains` too. Runs in a child. The file of static grains is
    read anew; one that is broken leaves those as they were.
    """
    from extmods.grains import user_grains
    from extmods.store import ModuleStore
    from minion.config.files import BadMinionSettings
    from minion.config.settings import static_grains
    from minion.execution.module_host import imported_functions
    from minion.grains import collect
    from minion.grains.layers import laid_over, without_blacklisted

    cachedir, opts, static = settings.cachedir, settings.opts, settings.grains
    try:
        static = {**static_grains(settings.config_dir), **(opts.get("grains") or {})}
    except BadMinionSettings as error:
        log.error("event=static_grains_not_read error=%s", error)
    found = collect(static, minion_id=settings.id, opts=opts, before=_kept(cachedir))
    store = ModuleStore(str(cachedir), opts, write=write_durably)
    own = without_blacklisted(user_grains(store, settings.id, found, opts, imported_functions()), opts)
    return {**laid_over(laid_over(found, own, opts), static, opts), "id": settings.id}


def known_grains(settings: MinionSettings) -> dict[str, Any]:
    """The grains of one call: with `grains_cache` those of the last collection, when it is young enough."""
    from minion.grains.layers import laid_over

    if not settings.grains_cache:
        return collect_grains(settings)
    path = settings.cachedir / KEPT
    with contextlib.suppress(OSError):
        if 0 <= time.time() - path.stat().st_mtime <= settings.grains_cache_expiration:
            kept = _kept(settings.cachedir)
            if kept.get("id") == settings.id:
                return laid_over(kept, settings.grains, settings.opts)
    grains = collect_grains(settings)
    try:
        settings.cachedir.mkdir(parents=True, exist_ok=True)
        write_durably(path, msgspec.msgpack.encode(grains, enc_hook=str))
    except OSError as error:
        log.warning("event=grains_not_kept error=%s", error)
    return grains


def _kept(cachedir: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.msgpack.decode((cachedir / KEPT).read_bytes(), type=dict[str, Any])
    return {}
