"""Chats that take messages at an address that is their secret: Slack, Microsoft Teams, Discord.

None of them knows a message again that comes twice: after an answer that was lost it is shown twice (at least once).
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import msgspec

from controller.config.notifications import ReceiverSecret, checked_address
from controller.forges.api.authorization import revealed
from controller.forges.client import ForgeRefused
from controller.notifications.notice import Message
from controller.notifications.receivers.http_caller import HttpCaller
from controller.notifications.receivers.plain_text import clean, cut, cut_bytes, discord, one_line, slack
from controller.notifications.receivers.receiver import TryLater

_COLOURS = {"critical": 0xD93025, "warning": 0xF2A900, "info": 0x2F80ED}
_SLACK_HEADER, _SLACK_SECTION = 150, 3000
_TEAMS_BYTES, _TEAMS_LINES = 12_000, 60
"""A card with its quotes has 28 KB at most."""
_DISCORD_TITLE, _DISCORD_TEXT = 256, 4096


async def revealed_secret(secret: ReceiverSecret, what: str) -> str:
    """A secret as it is now; TryLater where it cannot be read, which somebody may change."""
    try:
        return await revealed(secret, what)
    except ForgeRefused as error:
        raise TryLater(str(error)) from error


async def revealed_address(secret: ReceiverSecret, name: str, *, plain_http: bool = False) -> str:
    """An address that is a secret; TryLater for what is none."""
    try:
        return checked_address(await revealed_secret(secret, f"{name}: the url"), plain_http=plain_http)
    except ValueError as error:
        raise TryLater(f"{name}: the url is not {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReceiver(ABC):
    """One chat: a subclass makes its payload."""

    name: str
    url: ReceiverSecret
    http: HttpCaller

    async def send(self, message: Message) -> None:
        """See `Receiver`."""
        url = await revealed_address(self.url, self.name)
        body = msgspec.json.encode(self.payload(message))
        await self.http.send("POST", url, body, {"content-type": "application/json"})

    @abstractmethod
    def payload(self, message: Message) -> dict[str, Any]:
        """What the service takes."""


class SlackReceiver(ChatReceiver):
    """An incoming webhook of Slack.

    https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
    Blocks are of `plain_text`, in which nothing is a mention or markup
    (https://docs.slack.dev/reference/block-kit/composition-objects/text-object); `text`, which notifications show, is
    escaped.
    """

    __slots__ = ()

    def payload(self, message: Message) -> dict[str, Any]:
        """A header and sections."""
        text = clean(message.text)
        parts = [text[start : start + _SLACK_SECTION] for start in range(0, len(text), _SLACK_SECTION)][:10]
        blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(one_line(message.title, _SLACK_HEADER))}]
        blocks += [{"type": "section", "text": _plain(part)} for part in parts if part.strip()]
        if message.url:
            blocks.append({"type": "context", "elements": [_plain(cut(message.url, _SLACK_SECTION))]})
        return {"text": slack(one_line(message.title, 1000)), "blocks": blocks, "unfurl_links": False}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text or "-", "emoji": False}


class TeamsReceiver(ChatReceiver):
    """A webhook of a workflow of Microsoft Teams, with an Adaptive Card.

    https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook and
    https://adaptivecards.io/explorer/RichTextBlock.html: a `TextRun` has no Markdown, and without entities in `msteams`
    nobody is mentioned.
    """

    __slots__ = ()

    def payload(self, message: Message) -> dict[str, Any]:
        """A message with one card."""
        colour = {"critical": "attention", "warning": "warning", "info": "accent"}[message.severity]
        colour = "good" if message.action == "resolve" else colour
        title = {"type": "TextRun", "text": one_line(message.title, 300) or "-", "weight": "bolder", "color": colour}
        lines = [one for one in cut_bytes(clean(message.text), _TEAMS_BYTES).split("\n") if one.strip()]
        body = [{"type": "RichTextBlock", "inlines": [title]}]
        body += [
            {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": one}]} for one in lines[:_TEAMS_LINES]
        ]
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": body,
        }
        if message.url:
            card["actions"] = [{"type": "Action.OpenUrl", "title": "Open", "url": message.url}]
        kind = "application/vnd.microsoft.card.adaptive"
        return {"type": "message", "attachments": [{"contentType": kind, "contentUrl": None, "content": card}]}


class DiscordReceiver(ChatReceiver):
    """A webhook of Discord, or of what takes the same messages.

    https://discord.com/developers/docs/resources/webhook#execute-webhook; `allowed_mentions` without any kind lets
    nothing of it mention anybody.
    """

    __slots__ = ()

    def payload(self, message: Message) -> dict[str, Any]:
        """One embed."""
        embed: dict[str, Any] = {
            "title": cut(discord(one_line(message.title, _DISCORD_TITLE // 2)), _DISCORD_TITLE),
            "description": cut(discord(cut(clean(message.text), _DISCORD_TEXT // 2)), _DISCORD_TEXT),
            "color": 0x27AE60 if message.action == "resolve" else _COLOURS[message.severity],
            "timestamp": datetime.datetime.fromtimestamp(message.at, datetime.UTC).isoformat(),
        }
        if message.url:
            embed["url"] = message.url
        return {"embeds": [embed], "allowed_mentions": {"parse": []}}
