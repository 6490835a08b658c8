"""Wires the replacement of agents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from controller.api.key_changes import KeyChanges
from controller.composition.shared import Shared
from controller.jobs.jobs import Jobs
from controller.reconcile.reconciler import Reconciler
from controller.replacement.machine_steps import MachineSteps
from controller.replacement.replacement import ReplacementPorts
from controller.replacement.replacements import AgentReplacements
from controller.schema.errors import ServiceError
from controller.ssh.bundle import PROGRAM_ROOMS, TargetPython, WorkerBundle, make_bundle
from minion.setup.units import SystemdUnits

_EVERYWHERE = ("0.0.0.0", "::", "*", "")  # noqa: S104 - it is no address of a machine
_UNIT = "saltern-minion.service"


def compose_agents(shared: Shared, keys: KeyChanges, jobs: Jobs, reconciler: Reconciler) -> AgentReplacements:
    """What replaces agents."""
    limits = shared.resources.settings.limits.replacement
    ports = ReplacementPorts(
        steps=MachineSteps(
            jobs=jobs,
            file_server=shared.files,
            clock=shared.clock,
            seconds=limits.step_seconds,
            away_seconds=limits.come_seconds,
        ),
        store=shared.resources.store,
        keys=keys,
        keyring=shared.keyring,
        sessions=shared.sessions,
        bundle=_Bundles(shared.resources.settings.cachedir / "agents").of,
        unit=_unit,
        own=partial(_own, shared, keys),
        refusal=partial(_refusal, shared, reconciler),
        limits=limits,
        clock=shared.clock,
    )
    on_refusal = partial(shared.metrics.limit_refused, "replacement")
    return AgentReplacements(ports=ports, bus=shared.bus, on_refusal=on_refusal)


class _Bundles:
    """New agents, each made once; what a machine says of its Python may have pip look for long."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._making = asyncio.Lock()

    async def of(self, python: TargetPython) -> WorkerBundle:
        async with self._making:
            return await asyncio.to_thread(make_bundle, python, self._folder, rooms=PROGRAM_ROOMS)


def _unit() -> str:
    """The text of the unit that came with this installation."""
    found = next((folder / _UNIT for folder in SystemdUnits().shipped if (folder / _UNIT).is_file()), None)
    if found is None:
        raise ServiceError(
            "conflict", f"{_UNIT} came with no installation here", hint="install the wheel or the package"
        )
    return found.read_text(encoding="utf-8")


def _own(shared: Shared, keys: KeyChanges, address: str) -> Mapping[str, Any]:
    """What a new agent is told of this controller. ServiceError: nobody has said where it is reached."""
    host = address or shared.resources.settings.interface
    if host in _EVERYWHERE:
        text = "the machines have to be told where this controller is, and it listens at all its addresses"
        raise ServiceError("bad-request", text, hint="name its address there: --controller ADDRESS")
    ports = keys.server.ports
    return {
        "master": host,
        "master_port": ports.request,
        "publish_port": ports.publish,
        "controller_key": shared.keypair.public,
    }


def _refusal(shared: Shared, reconciler: Reconciler, minion: str) -> str:
    """Why the agent of a minion must not be replaced now; empty: it may."""
    if shared.live.by_hand(minion):
        return "it is visited over ssh, and has no agent of its own"
    if reconciler.shadowed({minion}):
        return "it is in shadow: a Salt master drives it"
    return ""
