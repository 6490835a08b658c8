"""Webhooks of forges: verification of the secret, the id of the delivery, and the repository of the payload.

Called by `controller.api.public` with headers and body as they came. Pure but for `Deliveries`, which remembers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from controller.forges import generic
from controller.forges.forge import Webhooks
from controller.forges.pull_hints import PullHint, value_at
from controller.forges.registry import all_forges

SENDERS: Mapping[str, Webhooks] = {kind: forge.webhooks for kind, forge in all_forges().items()} | {
    "any other sender": generic.WEBHOOKS
}
"""All of them; a webhook is checked against each, because its origin is not known reliably."""
_URLS = (
    *("clone_url", "ssh_url", *(key for each in SENDERS.values() for key in each.clone_urls)),
    *("git_url", "html_url", "web_url", "homepage", "url", "full_name", "path_with_namespace"),
)
_DELIVERIES = tuple(name for each in SENDERS.values() for name in each.delivery_headers)
_PINGS = tuple(each.ping for each in SENDERS.values() if each.ping is not None)
_REPOSITORIES = tuple(dict.fromkeys(each.repository for each in SENDERS.values()))
_LINKS = ("clone", "html", "self")
MOST_REPOSITORIES = 32
MOST_DELIVERIES = 4096
LONGEST_ID = 200


def verify(secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a request has the secret in the way of any forge. The time does not depend on the secret.

    Args:
        secret: shared with the forge, not empty.
        headers: with lower-case names.
        body: exactly as it came; a signature over anything else proves nothing.
    """
    found = [verifier.verify(secret, headers, body) for each in SENDERS.values() for verifier in each.verifiers]
    return any(found)


def is_ping(headers: Mapping[str, str]) -> bool:
    """Whether a forge only tests whether the webhook is reachable."""
    return any(headers.get(header, "").lower() == value for header, value in _PINGS)


def delivery_of(headers: Mapping[str, str], payload: object) -> str:
    """The forge's id of this delivery, the same when it is sent again; empty when it gives none."""
    for name in _DELIVERIES:
        if value := headers.get(name, ""):
            return f"{name}:{value[:LONGEST_ID]}"
    named = (each.delivery_of(payload) for each in SENDERS.values())
    return next((f"id:{name[:LONGEST_ID]}" for name in named if name), "")


def pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    """The pull request that a delivery says something of; None for pushes and all else. Header names are lower case."""
    marked = [each for each in SENDERS.values() if any(name in headers for name in each.marks)]
    hints = (each.pull_of(headers, payload) for each in marked or SENDERS.values())
    return next((hint for hint in hints if hint is not None), None)


def payload_of(body: bytes) -> object:
    """The body as plain values; None when it is no JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def repositories(payload: object) -> Sequence[str]:
    """URLs and names of the repository of a payload, the most specific first; empty when it has none."""
    found = (text for path in _REPOSITORIES for text in _texts(value_at(payload, *path)))
    return tuple(dict.fromkeys(text for _, text in zip(range(MOST_REPOSITORIES), found, strict=False)))


def _texts(repository: object) -> Iterator[str]:
    if not isinstance(repository, Mapping):
        return
    yield from (value for key in _URLS if isinstance(value := repository.get(key), str) and value)
    links: Any = repository.get("links")
    for kind in _LINKS if isinstance(links, Mapping) else ():
        listed = links.get(kind)
        for link in listed if isinstance(listed, Sequence) else [listed]:
            if isinstance(link, Mapping) and isinstance(link.get("href"), str):
                yield link["href"]


class Deliveries:
    """The newest deliveries. Forges send a delivery again when they get no answer."""

    def __init__(self, *, bound: int = MOST_DELIVERIES) -> None:
        self._bound = bound
        self._seen: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, delivery: str) -> bool:
        return delivery in self._seen

    def add(self, delivery: str) -> None:
        """Remember one that was handled; a delivery without an id is new each time."""
        if delivery:
            self._seen[delivery] = None
            self._seen.move_to_end(delivery)
        if len(self._seen) > self._bound:
            self._seen.popitem(last=False)
