"""What a controller opens first, and the parts that all others share."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from controller.config.settings import ControllerSettings
from controller.enrolment.tokens import EnrolmentDesk
from controller.jobs.range_server import RangeServer
from controller.jobs.targets import Targets
from controller.observe.event_log import EventLog
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.reconcile.documents import Documents
from controller.reconcile.jids import Jids
from controller.reconcile.live import LiveRevision
from controller.sessions.file_server import FileServer
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.store import Store
from gitfs.changes import Changes
from gitfs.source import Source
from reactors.bus import Bus, QueueBounds
from wire.keys import KeyPair, fingerprint, load_or_create
from wire.limits import nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a controller opens first, and closes last."""

    settings: ControllerSettings
    store: Store
    source: Source
    changes: Changes
    metrics: Metrics
    is_controller: Callable[[str], bool] = nobody
    """Whether an address is that of another controller, through which many minions come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Parts that know nothing of each other, and that the others share."""

    resources: Resources
    clock: Callable[[], float]
    epoch: str
    """Of this controller's life."""
    keypair: KeyPair
    keyring: KeyRegistry
    enrolment_tokens: EnrolmentDesk
    sessions: Sessions
    live: LiveRevision
    metrics: Metrics
    bus: Bus
    event_log: EventLog
    files: FileServer
    documents: Documents
    redactor: Redactor
    targets: Targets
    ids: Jids

    @property
    def controller_name(self) -> str:
        """By which reports and comments tell controllers apart."""
        return fingerprint(self.keypair.public).replace(":", "")[:12]


def share(resources: Resources) -> Shared:
    """Make the parts that know nothing of each other."""
    settings, store = resources.settings, resources.store
    clock: Callable[[], float] = time.time
    keypair = load_or_create(settings.pki_dir / "controller.key")
    metrics = resources.metrics
    documents = Documents(store)
    bus = Bus(
        clock,
        bounds=QueueBounds(events=settings.limits.api.stream_events, size=settings.limits.api.stream_bytes),
        last=store.events.last_id(),
        on_refusal=partial(metrics.limit_refused, "api"),
    )
    nodegroups = dict(settings.language.nodegroups)
    ranges = RangeServer(
        address=settings.range_server,
        limits=settings.limits.range,
        on_refusal=partial(metrics.limit_refused, "range"),
    )
    live = LiveRevision(nodegroups=nodegroups)
    bus.is_durable = lambda tag: live.policy.events.is_durable(tag)
    return Shared(
        resources=resources,
        clock=clock,
        epoch=uuid.uuid4().hex,
        keypair=keypair,
        keyring=KeyRegistry(
            store.keys.all(),
            settings.limits.stranger,
            partial(metrics.limit_refused, "stranger"),
            resources.is_controller,
        ),
        enrolment_tokens=EnrolmentDesk(
            store=store.enrolment_tokens,
            limits=settings.limits.stranger,
            clock=clock,
            on_refusal=partial(metrics.limit_refused, "stranger"),
            is_controller=resources.is_controller,
        ),
        sessions=Sessions(),
        live=live,
        metrics=metrics,
        bus=bus,
        event_log=EventLog(store, bus, clock, settings.limits.minion, partial(metrics.limit_refused, "minion")),
        files=FileServer(),
        documents=documents,
        redactor=Redactor(store, keypair.secret),
        targets=Targets(store=store, documents=documents, nodegroups=nodegroups, ranges=ranges),
        ids=Jids(clock),
    )
