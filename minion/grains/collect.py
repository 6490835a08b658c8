"""All grains of this machine in one dictionary.

Called through `minion.grains`. A source that fails costs its own grains and nobody else's.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minion.config.groups import DEFAULT_OPTIONS, GrainsOptions

log = logging.getLogger(__name__)

Grains = dict[str, Any]


def collect(
    extra: Mapping[str, Any] | None = None,
    *,
    minion_id: str = "",
    options: GrainsOptions = DEFAULT_OPTIONS.grains,
    before: Mapping[str, Any] | None = None,
) -> Grains:
    """Every grain; `extra` (the static grains of the configuration) wins over what is found.

    `before` has the grains of the last collection: names that no name server tells in time are taken over.
    """
    from minion.grains.layers import laid_over, without_blacklisted

    grains: Grains = {}
    for name, source in _sources(minion_id, options, before or {}):
        try:
            grains.update(without_blacklisted(source(), options))
        except Exception:
            # A machine with an odd file in /proc shall still be managed: it misses some grains, and the log says why.
            log.exception("event=grains_source_failed source=%s", name)
    return laid_over(grains, extra or {}, options)


def _sources(
    minion_id: str, options: GrainsOptions, before: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], Grains]]]:
    from minion.grains import hardware, network, osrelease, process, storage, system, virtual

    yield "identity", lambda: process.identity_grains(minion_id, options)
    linux = sys.platform == "linux"
    if linux:
        yield "cpu", hardware.cpu_grains
        yield "memory", hardware.memory_grains
        yield "disks", storage.disk_grains
        yield "mdadm", storage.mdadm_grains
        yield "lvm", storage.lvm_grains
        yield "virtual", virtual.virtual_grains
        yield "gateway", network.gateway_grains
        yield "selinux", system.selinux_grains
        yield "init", system.init_grains
    yield "kernel", system.kernel_grains
    yield "os", osrelease.os_grains
    yield "locale", system.locale_grains
    yield "firmware", hardware.firmware_grains
    yield "fibre channel", storage.fibre_channel_grains
    if linux and options.gpus and options.lspci:
        yield "gpus", hardware.gpu_grains
    else:
        yield "gpus", lambda: {"num_gpus": 0, "gpus": []}
    yield "network", lambda: network.network_grains(before, fqdns=options.fqdns)
    if options.metadata_server:
        from minion.grains import metadata

        yield "metadata", metadata.metadata_grains
    yield "dns", network.dns_grains
    yield "process", process.process_grains
    yield "version", process.version_grains
