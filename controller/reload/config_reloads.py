"""Reloads of the configuration, by `saltern reload` and by SIGHUP: refused whole when something in it is wrong.

The files are read and checked in a thread. Parts of the controller that a reload changes are `followers`: they are
given settings that were checked, and only assign. What is wrong changes nothing, and is told to who asked, by the log
and by the metrics.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from controller.config.settings import BadControllerSettings, ControllerSettings
from controller.reload.config_metrics import ConfigMetrics
from controller.reload.option_changes import OptionChanges, load_checked, option_changes, settings_in_force
from controller.schema.errors import ServiceError
from controller.schema.fleet.reloads import ReloadView
from reactors.bus import Bus

log = structlog.get_logger("saltern.config")

TAG = "saltern/config/reload"


@dataclass(slots=True, kw_only=True)
class ConfigReloads:
    """The configuration of a controller that runs."""

    started: ControllerSettings
    """With which it was started."""
    bus: Bus
    metrics: ConfigMetrics
    followers: list[Callable[[ControllerSettings], None]] = field(default_factory=list)
    """Are given the settings in force; must not fail."""
    _current: ControllerSettings | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def reload(self, user: str, *, check: bool = False) -> ReloadView:
        """Take what the files say now; `check`: only say what that would do. ServiceError for what is wrong."""
        async with self._lock:
            current = self._current or self.started
            try:
                new, in_force, changes = await asyncio.to_thread(self._read, current)
            except BadControllerSettings as error:
                faults = [str(fault) for fault in error.faults]
                if not check:
                    self._refused(faults, user)
                hint = "mend it and reload again; what held before still holds"
                raise ServiceError(
                    "bad-request", "the configuration cannot be used", hint=hint, problems=faults
                ) from None
            view = ReloadView(reloaded=changes.reloaded, restart=changes.restart)
            if check:
                return view
            for follow in self.followers:
                follow(in_force)
            self._current = new
            self.metrics.taken(len(changes.restart))
            self.bus.publish(TAG, {"ok": True, "reloaded": view.reloaded, "restart": view.restart, "user": user})
            log.info("configuration reloaded", options=",".join(view.reloaded) or None, user=user or None)
            if view.restart:
                log.warning("options changed that need a restart of the controller", options=",".join(view.restart))
            return view

    def _read(self, current: ControllerSettings) -> tuple[ControllerSettings, ControllerSettings, OptionChanges]:
        new = load_checked(self.started.config_dir)
        return new, settings_in_force(self.started, new), option_changes(self.started, current, new)

    def _refused(self, faults: list[str], user: str) -> None:
        self.metrics.refused()
        self.bus.publish(TAG, {"ok": False, "faults": faults, "user": user})
        for fault in faults:
            log.error("configuration not reloaded; what held before still holds", fault=fault, user=user or None)
