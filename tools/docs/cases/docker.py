"""States of containers: none has a case, which needs an engine of its own."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_WHY = "needs a Docker engine; tried on a real one, Debian's dockerd"

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    "docker_container.absent": _WHY,
    "docker_container.run": _WHY,
    "docker_container.running": _WHY,
    "docker_container.stopped": _WHY,
    "docker_image.absent": _WHY,
    "docker_image.present": _WHY,
    "docker_network.absent": _WHY,
    "docker_network.present": _WHY,
    "docker_volume.absent": _WHY,
    "docker_volume.present": _WHY,
}
"""State functions that no case can run, and why."""
