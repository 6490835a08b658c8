"""A webhook of anybody's: the message as JSON, signed over its time and its bytes.

    Saltern-Timestamp: 1764196000
    Saltern-Signature: v1=<HMAC-SHA256 of "TIMESTAMP.BODY" with the secret, in hexadecimal>
    Saltern-Message: <the same id however often it comes>

docs/notifications.md says how a receiver checks it. The scheme is that of Slack, by which a signature is good for
the time that it was made at (https://docs.slack.dev/authentication/verifying-requests-from-slack).
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from controller.config.notifications import ReceiverSecret
from controller.notifications.notice import Message, Notice
from controller.notifications.receivers.chat import revealed_address, revealed_secret
from controller.notifications.receivers.http_caller import HttpCaller

VERSION = 1
"""Of the payload; fields may be added to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookReceiver:
    """An address that takes JSON."""

    name: str
    url: ReceiverSecret
    secret: ReceiverSecret
    """Of the signature; empty: there is none."""
    http: HttpCaller
    clock: Callable[[], float] = time.time

    async def send(self, message: Message) -> None:
        """See `Receiver`."""
        url = await revealed_address(self.url, self.name, plain_http=True)
        body = msgspec.json.encode(payload_of(message))
        stamp = str(int(self.clock()))
        headers = {
            "content-type": "application/json",
            "saltern-message": message.id,
            "saltern-timestamp": stamp,
        }
        secret = await revealed_secret(self.secret, f"{self.name}: the secret") if self.secret else ""
        if secret:
            headers["saltern-signature"] = f"v1={signature(secret, stamp, body)}"
        await self.http.send("POST", url, body, headers, (secret,) if secret else ())


def signature(secret: str, stamp: str, body: bytes) -> str:
    """HMAC-SHA256 of the time and the body, in hexadecimal."""
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def payload_of(message: Message) -> dict[str, Any]:
    """The message as others read it."""
    return {
        "version": VERSION,
        "id": message.id,
        "group": message.group,
        "action": message.action,
        "status": "resolved" if message.action == "resolve" else "firing",
        "severity": message.severity,
        "labels": dict(message.labels),
        "title": message.title,
        "text": message.text,
        "revision": message.revision,
        "commits": dict(message.commits),
        "time": message.at,
        "url": message.url,
        "firing": {"count": message.counts[0], "shown": [_plain(one) for one in message.firing]},
        "resolved": {"count": message.counts[1], "shown": [_plain(one) for one in message.resolved]},
    }


def _plain(notice: Notice) -> dict[str, Any]:
    return {**msgspec.to_builtins(notice), "severity": notice.severity}
