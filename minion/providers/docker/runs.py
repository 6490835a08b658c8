"""A container that is made, started and, where it is waited for, seen to its end: what `docker run` does.

Called by the state `docker_container.run` and the function `docker.run_container`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from minion.machine.failure import StateFailed
from minion.providers.docker import attachments, images
from minion.providers.docker.containers import WantedContainer
from minion.providers.docker.engine import DockerEngine, state_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRun:
    """One run."""

    engine: DockerEngine
    wanted: WantedContainer
    name: str | None
    """None: the engine chooses one."""
    networks: attachments.Networks | None = None
    background: bool = False
    replace: bool = False
    force: bool = False
    remove: bool = False
    """Whether the container is removed when it has ended and was waited for."""

    def refuse(self) -> None:
        """StateFailed: there is a container of the name, which shall stay."""
        found = self.engine.found("inspect_container", self.name) if self.name else None
        if found is None:
            return
        if state_of(found) == "running" and not (self.replace and self.force):
            raise StateFailed(
                f"Container '{self.name}' exists and is running. Run with replace=True and force=True to force removal "
                "of the existing container."
            )
        if not self.replace:
            raise StateFailed(
                f"Container '{self.name}' exists. Run with replace=True to remove the existing container"
            )  # fmt: skip

    def perform(self) -> dict[str, Any]:
        """Run it; its ID and name, and of one that was waited for its output and exit code."""
        self.refuse()
        engine = self.engine
        if engine.image_id(self.wanted.image) is None:
            images.pull(engine, self.wanted.image)
        found = engine.found("inspect_container", self.name) if self.name else None
        replaced = [str(found["Id"])] if found is not None else []
        if found is not None:
            engine.call("remove_container", found["Id"], force=self.force)
        started = time.monotonic()
        made = self.wanted.create(self.name)
        name = self.name or str(engine.call("inspect_container", made)["Name"]).lstrip("/")
        done: dict[str, Any] = {"Id": made, "Name": name, **({"Replaces": replaced} if replaced else {})}
        try:
            if self.networks is not None:
                attachments.connect(engine, made, self.networks)
            engine.call("start", made)
        except StateFailed:
            if self.remove:
                engine.call("remove_container", made, force=True)
            raise
        if not self.background:
            done["ExitCode"] = engine.call("wait", made, timeout=None)["StatusCode"]
            done["Logs"] = engine.call("logs", made).decode(errors="replace")
            if self.remove:
                engine.call("remove_container", made)
        return {**done, "Time_Elapsed": time.monotonic() - started}
