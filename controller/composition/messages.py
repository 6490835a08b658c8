"""Wires the sockets, and what handles the messages of minions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

import structlog

from controller.access.access import Access
from controller.composition.compilation import CompilationParts
from controller.composition.shared import Shared
from controller.config.settings import ControllerSettings
from controller.enrolment.autosign import Autosign, AutosignSettings
from controller.enrolment.enrolment import Enrolment
from controller.messages.after_commit import AfterCommit
from controller.messages.backpressure import Backpressure
from controller.messages.call_results import CallResults
from controller.messages.context import MessageContext, Reconcilers
from controller.messages.followed_options import followed_options
from controller.messages.greetings import Greetings
from controller.messages.key_requests import KeyRequests
from controller.messages.key_rotations import KeyRotations
from controller.messages.message_handlers import AnswerSources, MessageHandlers
from controller.messages.mine_pace import MinePace
from controller.messages.minion_events import MinionEventHandler
from controller.messages.own_authority import OwnAuthority
from controller.messages.peer_calls import PeerCalls
from controller.messages.pushed_files import PushedFiles
from controller.messages.refusal_log import RefusalLog
from controller.messages.replies import Replies
from controller.messages.run_events import RunEventHandler
from controller.messages.run_results import RunResults
from controller.messages.sent_events import MinionEventPublisher
from controller.messages.state_questions import StateQuestions
from controller.messages.state_results import StateResults
from controller.messages.stock_keys import StockKeys
from controller.observe.event_budget import EventBudget
from controller.reconcile.reconciler import Reconciler
from controller.sessions.file_answers import FileAnswers
from controller.sessions.signs_of_life import SignsOfLife
from wire.address import Bind
from wire.limits import MIB, WireLimits
from wire.messages import HelloAck
from wire.server.server import Server

log = structlog.get_logger("saltern.enrolment")


@dataclass(frozen=True, slots=True, kw_only=True)
class WireParts:
    """The sockets, and what takes from them."""

    server: Server
    backpressure: Backpressure


def compose_wire(shared: Shared) -> WireParts:
    """The sockets; `Backpressure.attach` connects them to the handlers."""
    settings = shared.resources.settings
    minion_refused = partial(shared.metrics.limit_refused, "minion")
    backpressure = Backpressure(asyncio.get_running_loop(), settings.limits.minion, minion_refused)
    bind = Bind(host=settings.interface, publish_port=settings.publish_port, request_port=settings.ret_port)
    borders = WireLimits(
        stranger=settings.limits.stranger,
        minion=settings.limits.minion,
        relay=settings.limits.relay,
        stranger_refused=partial(shared.metrics.limit_refused, "stranger"),
        minion_refused=minion_refused,
        relay_refused=partial(shared.metrics.limit_refused, "relay"),
        is_controller=shared.resources.is_controller,
    )
    server = Server(
        bind, shared.keypair, shared.keyring, backpressure.put, borders=borders, expected=shared.keyring.count_accepted
    )
    return WireParts(server=server, backpressure=backpressure)


def compose_handlers(
    shared: Shared, wire: WireParts, reconciler: Reconciler, compilation: CompilationParts, access: Access
) -> MessageHandlers:
    """The handlers of all messages."""
    settings = shared.resources.settings
    context = MessageContext(
        store=shared.resources.store,
        sessions=shared.sessions,
        bus=shared.bus,
        metrics=shared.metrics,
        clock=shared.clock,
        after_commit=AfterCommit(),
    )
    greeting = HelloAck(
        epoch=shared.epoch,
        alive_interval=settings.alive_interval,
        heartbeats=False,
        cluster=shared.resources.store.shared,
    )
    publisher = MinionEventPublisher(
        context=context,
        redactor=shared.redactor,
        budget=EventBudget(settings.limits.minion),
        keep=shared.event_log.keep_now,
    )
    signs = SignsOfLife(interval=settings.alive_interval, timeout=settings.minion_timeout, rate=settings.alive_rate)
    replies = Replies(context=context, server=wire.server, greeting=greeting, signs_of_life=signs)
    results = _results(shared, context, reconciler)
    reconcilers = Reconcilers(runs=reconciler, builds=compilation.builds)
    keys = _key_requests(shared, context, replies, compilation)
    return MessageHandlers(
        context=context,
        replies=replies,
        keys=keys,
        greetings=Greetings(
            context=context, replies=replies, keys=keys, reconcilers=reconcilers, mines=compilation.mines
        ),
        reconcilers=reconcilers,
        results=results,
        calls=CallResults(context=context, replies=replies, results=results),
        states=StateResults(context=context, replies=replies, results=results),
        events=RunEventHandler(context=context, reconciler=reconciler, publisher=publisher),
        minion_events=MinionEventHandler(context=context, publisher=publisher),
        answers=AnswerSources(
            files=_file_answers(shared, replies),
            mines=compilation.mines,
            mine_steps=settings.limits.minion.mine_steps,
            mine_pace=MinePace(settings.limits.minion, partial(shared.metrics.limit_refused, "minion")),
            states=_state_questions(shared, replies, compilation),
            peers=_peer_calls(shared, replies, access, compilation),
            options=followed_options(settings),
            pushed=_pushed_files(shared, wire),
        ),
        refusals=RefusalLog(most=settings.limits.stranger.logged_refusals, clock=context.steady),
        lag=wire.backpressure.lag,
    )


def _pushed_files(shared: Shared, wire: WireParts) -> PushedFiles:
    settings = shared.resources.settings
    return PushedFiles(
        folder=settings.cachedir / "minions",
        send=wire.server.send,
        limits=settings.limits.minion,
        most_file=settings.file_recv_max_size * MIB if settings.file_recv else 0,
        on_refusal=partial(shared.metrics.limit_refused, "minion"),
    )


def _key_requests(
    shared: Shared, context: MessageContext, replies: Replies, compilation: CompilationParts
) -> KeyRequests:
    settings = shared.resources.settings
    return KeyRequests(
        context=context,
        replies=replies,
        keyring=shared.keyring,
        builds=compilation.builds,
        enrolment=Enrolment(autosign=Autosign(autosign_settings(settings)), tokens=shared.enrolment_tokens),
        rotations=KeyRotations(
            context=context,
            replies=replies,
            keyring=shared.keyring,
            next_key_file=settings.pki_dir / "controller.key.next",
        ),
        stock_keys=StockKeys(own=shared.keypair, identity=shared.keyring.identity),
    )


def autosign_settings(settings: ControllerSettings) -> AutosignSettings:
    """The options by which keys are accepted without a person."""
    if settings.auto_accept:
        log.warning("auto_accept: whoever asks first for an id gets it; use autosign_file or enrolment tokens instead")
    return AutosignSettings(
        auto_accept=settings.auto_accept,
        autosign_file=settings.autosign_file,
        autoreject_file=settings.autoreject_file,
        autosign_grains_dir=settings.autosign_grains_dir,
        autosign_dir=settings.pki_dir / "minions_autosign",
        autosign_timeout=settings.autosign_timeout,
        permissive_pki_access=settings.permissive_pki_access,
    )


def _file_answers(shared: Shared, replies: Replies) -> FileAnswers:
    refused = partial(shared.metrics.limit_refused, "minion")
    most = shared.resources.settings.limits.minion.file_questions
    return FileAnswers(shared.files, replies.send_now, most=most, has_room=replies.server.has_room, on_refusal=refused)


def _state_questions(shared: Shared, replies: Replies, compilation: CompilationParts) -> StateQuestions:
    return StateQuestions(
        compiler=compilation.states,
        send=replies.send_now,
        limits=shared.resources.settings.limits.minion,
        on_refusal=partial(shared.metrics.limit_refused, "minion"),
        saltenvs=partial(_saltenvs_of, shared),
    )


def _peer_calls(shared: Shared, replies: Replies, access: Access, compilation: CompilationParts) -> PeerCalls:
    settings = shared.resources.settings
    return PeerCalls(
        authority=OwnAuthority(settings=settings, secrets=compilation.profiles, select=access.select),
        settings=access.settings,
        audit=access.audit,
        select=access.select,
        send=replies.send_now,
        limits=shared.resources.settings.limits.minion,
        on_refusal=partial(shared.metrics.limit_refused, "minion"),
    )


def _saltenvs_of(shared: Shared, minion: str) -> frozenset[str]:
    """Those that the states of a minion come from."""
    desired = shared.resources.store.desired.get(minion)
    document = shared.documents.document(desired.digest) if desired else None
    return (
        frozenset(["base", *(chunk["__env__"] for chunk in document["chunks"].values())]) if document else frozenset()
    )


def _results(shared: Shared, context: MessageContext, reconciler: Reconciler) -> RunResults:
    settings = shared.resources.settings
    return RunResults(
        context=context,
        reconciler=reconciler,
        redactor=shared.redactor,
        keep_runs=settings.keep_runs,
        keep_bytes=settings.limits.minion.result_bytes,
    )
