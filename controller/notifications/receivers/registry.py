"""A receiver as it is configured. Called by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.config.limits import NotificationLimits
from controller.config.notifications import (
    ChatOptions,
    CommitStatusOptions,
    MailOptions,
    MatrixOptions,
    OpsgenieOptions,
    PagerDutyOptions,
    ReceiverSettings,
    WebhookOptions,
)
from controller.forges.client import ForgeClient
from controller.notifications.receivers.chat import DiscordReceiver, SlackReceiver, TeamsReceiver
from controller.notifications.receivers.commit_status import CommitStatusReceiver
from controller.notifications.receivers.http_caller import HttpCaller
from controller.notifications.receivers.mail import MailReceiver
from controller.notifications.receivers.matrix import MatrixReceiver
from controller.notifications.receivers.pagers import OpsgenieReceiver, PagerDutyReceiver
from controller.notifications.receivers.receiver import Receiver
from controller.notifications.receivers.webhook import WebhookReceiver
from options.limits import CountRefusal, uncounted

_CHATS: Mapping[str, Callable[..., Receiver]] = {
    "slack": SlackReceiver,
    "teams": TeamsReceiver,
    "discord": DiscordReceiver,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverParts:
    """What receivers are made of beside their settings."""

    limits: NotificationLimits
    refused: CountRefusal = uncounted
    source: str = "saltern"
    """Names this controller for services that call people."""
    forge: Callable[[str], tuple[ForgeClient, Mapping[str, str]]]
    """Name of a forge -> its client, and remote -> project there."""


def receiver_of(settings: ReceiverSettings, parts: ReceiverParts) -> Receiver:
    """The receiver; nothing is connected yet. The secrets of the settings can be revealed."""
    name, options = settings.name, settings.options
    http = HttpCaller(limits=parts.limits, ca_file=settings.ca_file, refused=parts.refused)
    match options:
        case ChatOptions():
            return _CHATS[settings.kind](name=name, url=options.url, http=http)
        case WebhookOptions():
            return WebhookReceiver(name=name, url=options.url, secret=options.secret, http=http)
        case MailOptions():
            return MailReceiver(
                name=name, options=options, ca_file=settings.ca_file, limits=parts.limits, refused=parts.refused
            )
        case MatrixOptions():
            return MatrixReceiver(name=name, options=options, http=http)
        case PagerDutyOptions():
            return PagerDutyReceiver(name=name, options=options, source=parts.source, http=http)
        case OpsgenieOptions():
            return OpsgenieReceiver(name=name, options=options, source=parts.source, http=http)
        case CommitStatusOptions():
            client, projects = parts.forge(options.forge)
            return CommitStatusReceiver(name=name, context=options.context, client=client, projects=projects)
        case _:
            raise TypeError(f"{type(options).__name__} has no receiver")
