"""All grains of this machine in one dictionary.

Called through `minion.grains`. A source that fails costs its own grains and nobody else's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

log = logging.getLogger(__name__)

Grains = dict[str, Any]

COMPATIBLE_WITH = (3008, 3)
"""The release of Salt whose language this speaks; formulas compare `saltversion` with what they need."""


def collect(extra: Mapping[str, Any] | None = None) -> Grains:
    """Every grain but `id`; `extra` (the static grains of the configuration) wins over what is found."""
    grains: Grains = {}
    for source in _sources():
        try:
            grains.update(source())
        except Exception:
            # A machine with an odd file in /proc shall still be managed: it misses some grains, and the log says why.
            log.exception("event=grains_source_failed source=%s", source.__name__)
    grains.update(_versions())
    return {**grains, **(extra or {})}


def _sources() -> tuple[Callable[[], Grains], ...]:
    from minion.grains import hardware, network, osrelease, process, system

    return (
        osrelease.os_grains,
        system.kernel_grains,
        system.init_grains,
        system.locale_grains,
        hardware.cpu_grains,
        hardware.memory_grains,
        hardware.disk_grains,
        hardware.firmware_grains,
        hardware.virtual_grains,
        network.host_grains,
        network.interface_grains,
        network.gateway_grains,
        network.dns_grains,
        process.process_grains,
    )


def _versions() -> Grains:
    return {
        "saltversion": ".".join(str(part) for part in COMPATIBLE_WITH),
        "saltversioninfo": list(COMPATIBLE_WITH),
    }
