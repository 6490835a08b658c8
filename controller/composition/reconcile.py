"""Wires the reconciler, and the answers about the state of minions that are made of it."""

from __future__ import annotations

from controller.composition.shared import Shared
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.remote_lag import RemoteLag
from controller.reconcile.status import Status
from controller.sessions.room import Room
from wire.server.server import Server


def compose_reconciler(shared: Shared, server: Server, room: Room) -> Reconciler:
    """The loop that brings minions to their desired state."""
    changes = shared.resources.changes
    remotes = tuple(each.name for each in shared.resources.source.remotes)
    return Reconciler(
        store=shared.resources.store,
        sessions=shared.sessions,
        server=server,
        documents=shared.documents,
        bus=shared.bus,
        metrics=shared.metrics,
        redactor=shared.redactor,
        ids=shared.ids,
        clock=shared.clock,
        run_timeout=shared.resources.settings.run_timeout,
        live=shared.live,
        room=room,
        lag=RemoteLag(remotes=remotes, fetch=lambda: [changes.pushed(name) for name in remotes]),
    )


def compose_status(shared: Shared, reconciler: Reconciler) -> Status:
    """The state of minions as the API shows it."""
    return Status(
        store=shared.resources.store,
        sessions=shared.sessions,
        reconciler=reconciler,
        documents=shared.documents,
        redactor=shared.redactor,
        keyring=shared.keyring,
        read_blob=lambda oid, length: (
            shared.files.blob_start(oid, length) or shared.resources.source.blob_start(oid, length)
        ),
    )
