"""Services that call people: PagerDuty (Events API v2) and Opsgenie (Alert API).

Both know an incident by a key, which is that of the group: a message that comes twice makes no second one.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from controller.config.notifications import OpsgenieOptions, PagerDutyOptions
from controller.notifications.notice import Message
from controller.notifications.receivers.chat import revealed_secret
from controller.notifications.receivers.http_caller import HttpCaller
from controller.notifications.receivers.plain_text import clean, cut, one_line

_SUMMARY = 1024
_OPSGENIE_MESSAGE, _OPSGENIE_TEXT, _OPSGENIE_VALUE = 130, 15_000, 500
_PRIORITIES = {"critical": "P1", "warning": "P3", "info": "P5"}
_DETAILS = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerDutyReceiver:
    """An integration of a service of PagerDuty.

    https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
    """

    name: str
    options: PagerDutyOptions
    source: str
    """This controller."""
    http: HttpCaller

    async def send(self, message: Message) -> None:
        """See `Receiver`."""
        key = await revealed_secret(self.options.routing_key, f"{self.name}: the routing_key")
        body = msgspec.json.encode({"routing_key": key, **self.payload(message)})
        await self.http.send("POST", self.options.url, body, {"content-type": "application/json"}, (key,))

    def payload(self, message: Message) -> dict[str, Any]:
        """The event without its key; one that acknowledges or resolves names the incident alone."""
        event: dict[str, Any] = {"event_action": message.action, "dedup_key": message.group}
        if message.action != "trigger":
            return event
        event["payload"] = {
            "summary": one_line(message.title, _SUMMARY) or "-",
            "source": message.labels.get("minion") or self.source,
            "severity": message.severity,
            "timestamp": datetime.datetime.fromtimestamp(message.at, datetime.UTC).isoformat(),
            "component": "saltern",
            "class": message.labels.get("kind", ""),
            "custom_details": {"text": cut(clean(message.text), _DETAILS), "revision": message.revision},
        }
        event["client"] = "Saltern"
        if message.url:
            event["client_url"] = message.url
        return event


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsgenieReceiver:
    """An integration (API) of Opsgenie.

    https://docs.opsgenie.com/docs/alert-api
    """

    name: str
    options: OpsgenieOptions
    source: str
    http: HttpCaller

    async def send(self, message: Message) -> None:
        """See `Receiver`."""
        key = await revealed_secret(self.options.api_key, f"{self.name}: the api_key")
        path, body = self.request(message)
        headers = {"content-type": "application/json", "authorization": f"GenieKey {key}"}
        await self.http.send("POST", f"{self.options.url}{path}", msgspec.json.encode(body), headers, (key,))

    def request(self, message: Message) -> tuple[str, dict[str, Any]]:
        """Path and body."""
        title = one_line(message.title, _OPSGENIE_MESSAGE) or "-"
        if message.action != "trigger":
            act = "acknowledge" if message.action == "acknowledge" else "close"
            path = f"/v2/alerts/{quote(message.group, safe='')}/{act}?identifierType=alias"
            return path, {"source": self.source, "user": "Saltern", "note": title}
        labels = {name: one_line(value, _OPSGENIE_VALUE) for name, value in message.labels.items()}
        return "/v2/alerts", {
            "message": title,
            "alias": message.group,
            "description": cut(clean(message.text), _OPSGENIE_TEXT),
            "priority": _PRIORITIES[message.severity],
            "source": self.source,
            "entity": labels.get("minion", ""),
            "tags": ["saltern", message.severity],
            "details": {**labels, "revision": message.revision},
        }
