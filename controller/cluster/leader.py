"""What the controller that leads does for those that wait: tells where it serves, and serves them. Called by `app`."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial

from controller.api.serving import Listening
from controller.cluster.pool_port import PoolApps, pool_port
from controller.config.settings import ControllerSettings
from controller.observe.metrics import Metrics
from controller.store.leadership import LeaderAddress, Lease
from wire.keys import KeyPair, fingerprint

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - no socket is bound by it


@contextlib.asynccontextmanager
async def serve_cluster(
    lease: Lease,
    listening: Listening,
    settings: ControllerSettings,
    metrics: Metrics,
    keys: KeyPair,
) -> AsyncIterator[None]:
    """Serve controllers that wait. CannotListen when the port for them is taken.

    Args:
        lease: with which this controller leads.
        listening: the applications.
        settings: of the controller.
        metrics: count what was refused.
        keys: of all these controllers.
    """
    from controller.cluster.tls import pool_tls  # takes memory that a controller without others need not have

    port = pool_port(
        PoolApps(listening.apps),
        pool_tls(keys).server,
        settings,
        partial(is_waiting_at, lease),
        partial(metrics.limit_refused, "cluster"),
    )
    async with port as pool:
        address = LeaderAddress(
            epoch=lease.epoch,
            host=address_of(settings),
            publish_port=settings.publish_port,
            request_port=settings.ret_port,
            pool_port=pool,
            key=fingerprint(keys.public),
        )
        lease.advertise(address)
        yield


def address_of(settings: ControllerSettings) -> str:
    """Where other controllers reach this one."""
    named = settings.cluster_address or settings.interface
    return named if named not in _EVERYWHERE else socket.gethostname()


def is_waiting_at(lease: Lease, address: str) -> bool:
    """Whether a controller which waits has this IP address."""
    return address.removeprefix("::ffff:") in {each.address for each in lease.waiting}
