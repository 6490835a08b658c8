"""Which jobs of the controller's schedule people enabled or disabled, on disk: it holds over restarts and revisions.

Used by `controller.schedules.controller_schedule`. A switch that says what the file says is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import structlog

from controller.schema.schedules import SwitchView
from minion.machine.durable_files import write_durably
from reactors.controller_jobs import MOST_JOBS

log = structlog.get_logger("saltern.schedule")


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    disabled: SwitchView | None = None
    jobs: dict[str, SwitchView] = {}


@dataclass(slots=True)
class Switches:
    """What people switched. Nothing is in force before it is on disk."""

    file: Path
    _kept: _Kept = field(default_factory=_Kept)

    @property
    def disabled(self) -> SwitchView | None:
        """Who disabled the whole schedule; None: nobody."""
        return self._kept.disabled

    def of(self, name: str) -> SwitchView | None:
        """Who enabled or disabled a job; None: nobody."""
        return self._kept.jobs.get(name)

    def read(self) -> None:
        """Read the file again; where it cannot be read, all is as the configuration says, and the log has why."""
        try:
            self._kept = msgspec.json.decode(self.file.read_bytes(), type=_Kept)
        except FileNotFoundError:
            self._kept = _Kept()
        except (OSError, msgspec.MsgspecError) as error:
            log.error("which jobs were disabled is not known", file=str(self.file), error=str(error))

    def set_all(self, switch: SwitchView) -> None:
        """Disable the whole schedule, or no longer. OSError when it cannot be kept."""
        self._keep(_Kept(disabled=None if switch.enabled else switch, jobs=self._kept.jobs))

    def set(self, name: str, switch: SwitchView, *, written: bool, known: Collection[str]) -> None:
        """Enable or disable a job. `written`: what its file says; `known`: all jobs. OSError when it cannot be kept."""
        jobs = {one: kept for one, kept in self._kept.jobs.items() if one != name}
        if len(jobs) >= MOST_JOBS:  # those of jobs that are gone would gather for ever
            jobs = {one: kept for one, kept in jobs.items() if one in known}
        if switch.enabled != written:
            jobs[name] = switch
        self._keep(_Kept(disabled=self._kept.disabled, jobs=jobs))

    def _keep(self, kept: _Kept) -> None:
        write_durably(self.file, msgspec.json.encode(kept))
        self._kept = kept
