"""Wires visits of machines over ssh."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from controller.composition.shared import Shared
from controller.schema.errors import ServiceError
from controller.ssh.bundle import TargetPython, WorkerBundle, make_bundle
from controller.ssh.command import SshCommands
from controller.ssh.own_key import own_key
from controller.ssh.rosters import Rosters
from controller.ssh.visit import VisitFailed, VisitPorts
from controller.ssh.visits import SshVisits
from wire.bridge import Streams
from wire.server.server import Server

_PUBLISH = "4505"
"""What the agent of a visit calls the controller's publish port (`minion.visit.bridge_end.PORTS`)."""
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a controller listens everywhere, it is reached here
SSH = "saltern ssh"
"""Who accepts the keys of machines that are visited."""


def compose_ssh(shared: Shared, server: Server, add_key: Callable[[str, str, str], object]) -> SshVisits:
    """What visits machines. `add_key` accepts a public key for an id, in the name of somebody."""
    settings = shared.resources.settings
    bundles = _Bundles(settings.cachedir / "ssh")

    def ports() -> VisitPorts:
        folder = settings.pki_dir / "ssh"
        commands = SshCommands(folder=folder, own_key=own_key(folder), config_file=settings.ssh.ssh_config_file)
        return VisitPorts(
            commands=commands,
            bundle=bundles.of,
            dial=partial(_dial, server, _WILDCARDS.get(settings.interface, settings.interface)),
            admit=partial(_admit, shared, add_key),
            controller_key=shared.keypair.public,
            minion_options=settings.ssh.ssh_minion_opts,
        )

    return SshVisits(
        rosters=Rosters(settings=settings.ssh, config_dir=settings.config_dir, known=partial(_known, shared)),
        sessions=shared.sessions,
        ports=ports,
        nodegroups=settings.language.nodegroups,
        connect_at_once=settings.ssh.ssh_max_procs,
        limits=settings.limits.ssh,
        on_refusal=partial(shared.metrics.limit_refused, "ssh"),
    )


class _Bundles:
    """Workers, each made once in the life of a controller."""

    def __init__(self, folder: Any) -> None:
        self._folder = folder
        self._made: dict[TargetPython, WorkerBundle] = {}
        self._lock = asyncio.Lock()

    async def of(self, python: TargetPython, again: bool) -> WorkerBundle:
        async with self._lock:
            if again or python not in self._made:
                self._made[python] = await asyncio.to_thread(make_bundle, python, self._folder, again=again)
            return self._made[python]


async def _dial(server: Server, host: str, port: str) -> Streams:
    ports = server.ports
    return await asyncio.open_connection(host, ports.publish if port == _PUBLISH else ports.request)


def _admit(shared: Shared, add_key: Callable[[str, str, str], object], minion: str, public: str) -> None:
    """Accept the key that came over the session, unless it is accepted already."""
    known = shared.keyring.identity(public)
    if known is not None and known.state == "accepted" and known.id == minion:
        return
    try:
        add_key(minion, public, SSH)
    except ServiceError as error:
        hint = f"if that machine is to be visited from now on: saltern key delete {minion}"
        raise VisitFailed(str(error), hint) from error


def _known(shared: Shared) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return [(record.id, record.grains) for record in shared.resources.store.minions.all()]
