"""Wires notifications."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial

from controller.adapters.secrets.vault_reader import vault_reader
from controller.composition.rollouts import FleetParts
from controller.composition.shared import Shared
from controller.config.forges import projects_of, withhold_secrets
from controller.config.notifications import withhold_receiver
from controller.fleet_status.fleet_status import FleetStatus
from controller.forges.client import ForgeClient
from controller.forges.clients import client_of
from controller.notifications.delivery import NotificationDelivery
from controller.notifications.notifier import Notifier
from controller.notifications.receivers.registry import ReceiverParts, receiver_of
from controller.observe.notification_metrics import NotificationMetrics


@dataclass(slots=True)
class _Forges:
    """The forges whose commits get statuses."""

    shared: Shared

    def __call__(self, name: str) -> tuple[ForgeClient, Mapping[str, str]]:
        """See `ReceiverParts.forge`."""
        settings = self.shared.resources.settings
        own = [each for each in settings.forges if each.name == name]
        (forge,) = withhold_secrets(own, vault_reader(settings.ports.vault))
        refused = partial(self.shared.metrics.limit_refused, "forge")
        urls = {remote.name: remote.url for remote in self.shared.resources.source.remotes}
        found = projects_of(settings.forges, urls)
        projects = {remote: each.project for each in found if each.forge == name for remote in each.remotes}
        return client_of(forge, settings.limits.forge, refused=refused), projects


def compose_notifications(shared: Shared, fleet: FleetParts, status: FleetStatus) -> Notifier:
    """What finds what there is to tell, and tells it."""
    resources, settings = shared.resources, shared.resources.settings
    limits = settings.limits.notification
    names = tuple(each.name for each in settings.receivers)
    metrics = NotificationMetrics(shared.metrics.registry, names)
    refused = partial(shared.metrics.limit_refused, "notification")
    host = socket.gethostname()
    parts = ReceiverParts(limits=limits, refused=refused, source=host, forge=cache(_Forges(shared).__call__))
    ask = vault_reader(settings.ports.vault)
    receivers = {each.name: receiver_of(withhold_receiver(each, ask), parts) for each in settings.receivers}
    notifier = Notifier(
        store=resources.store,
        live=shared.live,
        rollouts=fleet.rollouts,
        redactor=shared.redactor,
        delivery=NotificationDelivery(
            store=resources.store, receivers=receivers, limits=limits, metrics=metrics, clock=shared.clock
        ),
        limits=limits,
        metrics=metrics,
        clock=shared.clock,
        url=settings.public_url,
        leader=str(resources.store.lease) if resources.store.lease else "",
        host=host,
        on_refusal=refused,
    )
    status.looked = notifier.take
    return notifier
