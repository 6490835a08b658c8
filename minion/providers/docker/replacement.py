"""A container that is made, and takes the place of one that there may be.

Called by the state `docker_container.running`. The new one is made and connected before the old one is stopped, so that
arguments that the engine refuses cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine
from minion.providers.docker import attachments, images
from minion.providers.docker.containers import WantedContainer
from minion.providers.docker.engine import SHUTDOWN_TIMEOUT, DockerEngine, state_of


@dataclass(frozen=True, slots=True)
class Replacement:
    """What makes a container of this name."""

    engine: DockerEngine
    name: str
    wanted: WantedContainer
    networks: attachments.Networks | None
    shutdown_timeout: int | None

    def create_and_start(self, machine: Machine) -> Mapping[str, Any]:
        """Make it where there is none, and start it; its ID."""
        machine.begin_elsewhere()
        made = self._made(self.name)
        self._start()
        return {"container_id": {"added": made}}

    def replace(self, machine: Machine) -> Mapping[str, Any]:
        """Make it in place of the one that there is; the IDs of both."""
        machine.begin_elsewhere()
        old = self.engine.call("inspect_container", self.name)
        made = self._made(None)
        try:
            self._remove(old)
        except StateFailed:
            self.engine.call("remove_container", made, force=True)
            raise
        self.engine.call("rename", made, self.name)
        return {"container_id": {"removed": [old["Id"]], "added": made}}

    def replace_and_start(self, machine: Machine) -> Mapping[str, Any]:
        """The same, and start it."""
        done = self.replace(machine)
        self._start()
        return done

    def _made(self, name: str | None) -> str:
        if self.engine.image_id(self.wanted.image) is None:
            try:
                images.pull(self.engine, self.wanted.image)
            except StateFailed as error:
                raise StateFailed(f"Failed to pull {self.wanted.image}: {error}") from None
        made = self.wanted.create(name)
        try:
            if self.networks is not None:
                attachments.connect(self.engine, made, self.networks)
        except StateFailed:
            self.engine.call("remove_container", made, force=True)
            raise
        return made

    def _remove(self, old: Mapping[str, Any]) -> None:
        state = state_of(old)
        if state == "paused":
            self.engine.call("unpause", old["Id"])
        if state != "stopped":
            seconds = self.shutdown_timeout or (old.get("Config") or {}).get("StopTimeout") or SHUTDOWN_TIMEOUT
            self.engine.call("stop", old["Id"], timeout=seconds)
        if not (old.get("HostConfig") or {}).get("AutoRemove"):
            self.engine.call("remove_container", old["Id"])

    def _start(self) -> None:
        try:
            self.engine.call("start", self.name)
        except StateFailed as error:
            raise StateFailed(f"Failed to start container '{self.name}': '{error}'") from None
        if self.engine.state(self.name) != "running":
            raise StateFailed("Container is not running")
