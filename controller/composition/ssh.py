"""Wires visits of machines over ssh."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from controller.api.key_changes import KeyChanges
from controller.composition.shared import Shared
from controller.reconcile.deciding.decision import reconcile
from controller.reconcile.deciding.instructions import ReleaseHold, RequeueAfter, TimeOutRun, WaitForRemotes
from controller.reconcile.reconciler import Reconciler
from controller.schema.errors import ServiceError
from controller.ssh.bundle import TargetPython, WorkerBundle, make_bundle
from controller.ssh.command import SshCommands
from controller.ssh.own_key import own_key
from controller.ssh.rosters import Rosters
from controller.ssh.visit import VisitFailed, VisitPorts
from controller.ssh.visits import SshVisits
from controller.ssh.waker import Business, SshWaker
from reactors.schedule import next_time, parse_schedule
from wire.bridge import Streams
from wire.keys import fingerprint
from wire.server.server import Server

_PUBLISH = "4505"
"""What the agent of a visit calls the controller's publish port (`minion.visit.bridge_end.PORTS`)."""
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a controller listens everywhere, it is reached here
SSH = "saltern ssh"
"""Who accepts the keys of machines that are visited."""


def compose_ssh(shared: Shared, keys: KeyChanges, reconciler: Reconciler) -> SshVisits:
    """What visits machines, when somebody asks and by itself."""
    visits = _visits(shared, keys)
    waker = SshWaker(visits=visits, business=partial(_business, shared, reconciler), clock=shared.clock)
    visits.beside = waker.run
    shared.live.by_hand = lambda minion: minion in visits.known
    shared.live.visited = lambda minion: minion in visits.known and not waker.failing(minion)
    return visits


def _visits(shared: Shared, keys: KeyChanges) -> SshVisits:
    settings = shared.resources.settings
    bundles = _Bundles(settings.cachedir / "ssh")

    def ports() -> VisitPorts:
        folder = settings.pki_dir / "ssh"
        config_file = settings.ssh.ssh_config_file
        commands = SshCommands(
            folder=folder, own_key=own_key(folder), config_file=config_file if Path(config_file).is_file() else ""
        )
        return VisitPorts(
            commands=commands,
            bundle=bundles.of,
            dial=partial(_dial, keys.server, _WILDCARDS.get(settings.interface, settings.interface)),
            admit=partial(_admit, shared, keys),
            forget=partial(_forget, shared, keys),
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


_NOT_BUSINESS = (RequeueAfter, WaitForRemotes, TimeOutRun, ReleaseHold)
"""Instructions for which nobody has to be there."""


def _business(shared: Shared, reconciler: Reconciler, minion: str) -> Business:
    """What the reconciler would do if the machine were connected, and whether drift is due there."""
    if shared.live.trees is None:
        return Business()
    rows = shared.resources.store.minions.status([minion])
    if not rows:
        policy = shared.live.policy_of(minion, "", None, dict)
        return Business(now=policy.visits == "auto")  # its grains are not known yet
    row, now = rows[0], shared.clock()
    policy = reconciler.policy_of(row)
    if policy.visits != "auto" or row.minion.paused or policy.applies_nothing:
        return Business()
    view = replace(reconciler.observed_under(row, policy), connected=True)
    instructions = reconcile(view, policy, now, run_timeout=reconciler.run_timeout)
    wanted = any(not isinstance(each, _NOT_BUSINESS) for each in instructions)
    schedule = parse_schedule({key: each for key, each in policy.drift.schedule().items() if key != "watch"})
    if wanted or schedule is None:
        return Business(now=wanted)
    due = next_time(schedule, previous=row.minion.last_seen or 0.0, now=now, chance=0.5)
    return Business(drift=due is not None and due <= now)


class _Bundles:
    """Workers, each made once in the life of a controller."""

    def __init__(self, folder: Any) -> None:
        self._folder = folder
        self._made: dict[TargetPython, WorkerBundle] = {}
        self._own, self._fetched = asyncio.Lock(), asyncio.Lock()

    async def of(self, python: TargetPython, again: bool) -> WorkerBundle:
        if python in self._made and not again:
            return self._made[python]
        # What a machine says of its Python may have pip look for long: others do not wait for that.
        async with self._own if python.is_own() else self._fetched:
            if again or python not in self._made:
                self._made[python] = await asyncio.to_thread(make_bundle, python, self._folder, again=again)
            return self._made[python]


async def _dial(server: Server, host: str, port: str) -> Streams:
    ports = server.ports
    return await asyncio.open_connection(host, ports.publish if port == _PUBLISH else ports.request)


def _admit(shared: Shared, keys: KeyChanges, minion: str, public: str) -> None:
    """Accept the key that came over the session, unless it is accepted already."""
    known = shared.keyring.identity(public)
    if known is not None and known.state == "accepted" and known.id == minion:
        return
    try:
        keys.add(minion, public, SSH)
    except ServiceError as error:
        hint = f"if that machine is to be visited from now on: saltern key delete {minion}"
        raise VisitFailed(str(error), hint) from error


async def _forget(shared: Shared, keys: KeyChanges, minion: str, public: str) -> None:
    """Forget the key that was removed from a machine: of this id alone, whatever the machine says."""
    known = shared.keyring.identity(public)
    if known is not None and known.state == "accepted" and known.id == minion:
        await keys.delete([fingerprint(public)], SSH)


def _known(shared: Shared) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return [(record.id, record.grains) for record in shared.resources.store.minions.all()]
