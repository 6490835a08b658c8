"""All grains of this machine in one dictionary.

Called through `minion.grains`. A source that fails costs its own grains and nobody else's.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

log = logging.getLogger(__name__)

Grains = dict[str, Any]


def collect(
    extra: Mapping[str, Any] | None = None,
    *,
    minion_id: str = "",
    opts: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
) -> Grains:
    """Every grain; `extra` (the static grains of the configuration) wins over what is found.

    `opts` are the options of the configuration: Salt's `enable_fqdns_grains` and `enable_gpu_grains` leave out what
    they name, `grains_blacklist` what it matches; with `metadata_server_grains` the cloud's server is asked. `before`
    has the grains of the last collection: names that no name server tells in time are taken over.
    """
    from minion.grains.layers import laid_over, without_blacklisted

    grains: Grains = {}
    for name, source in _sources(minion_id, opts or {}, before or {}):
        try:
            grains.update(without_blacklisted(source(), opts or {}))
        except Exception:
            # A machine with an odd file in /proc shall still be managed: it misses some grains, and the log says why.
            log.exception("event=grains_source_failed source=%s", name)
    return laid_over(grains, extra or {}, opts or {})


def _sources(
    minion_id: str, opts: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], Grains]]]:
    from minion.grains import hardware, network, osrelease, process, storage, system, virtual

    yield "identity", lambda: process.identity_grains(minion_id, opts)
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
    if linux and opts.get("enable_gpu_grains", True) and opts.get("enable_lspci", True):
        yield "gpus", hardware.gpu_grains
    else:
        yield "gpus", lambda: {"num_gpus": 0, "gpus": []}
    yield "network", lambda: network.network_grains(before, fqdns=bool(opts.get("enable_fqdns_grains", True)))
    if opts.get("metadata_server_grains") is True:
        from minion.grains import metadata

        yield "metadata", metadata.metadata_grains
    yield "dns", network.dns_grains
    yield "process", process.process_grains
    yield "version", process.version_grains
