"""A room of Matrix.

https://spec.matrix.org/v1.11/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid: the transaction id is
that of the message, so that one that comes twice is shown once. The body is text without HTML, and an empty
`m.mentions` says that it mentions nobody (https://spec.matrix.org/v1.11/client-server-api/#user-and-room-mentions).
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from controller.config.notifications import MatrixOptions
from controller.notifications.notice import Message
from controller.notifications.receivers.chat import revealed_secret
from controller.notifications.receivers.http_caller import HttpCaller
from controller.notifications.receivers.plain_text import clean, cut_bytes, one_line

_BODY_BYTES = 32_000
"""An event has 65,536 at most, of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixReceiver:
    """One room."""

    name: str
    options: MatrixOptions
    http: HttpCaller

    async def send(self, message: Message) -> None:
        """See `Receiver`."""
        token = await revealed_secret(self.options.token, f"{self.name}: the token")
        room, transaction = quote(self.options.room, safe=""), quote(message.id, safe="")
        url = f"{self.options.server}/_matrix/client/v3/rooms/{room}/send/m.room.message/{transaction}"
        text = f"{one_line(message.title, 300)}\n\n{clean(message.text)}".strip()
        text += f"\n\n{message.url}" if message.url else ""
        # A notice (`m.notice`) would reach nobody's phone: push rules suppress them.
        event = {"msgtype": "m.text", "body": cut_bytes(text, _BODY_BYTES), "m.mentions": {}}
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        await self.http.send("PUT", url, msgspec.json.encode(event), headers, (token,))
