"""What the forges say in their webhooks: who may speak, which delivery it is, and which remote it is about.

Called by `controller.api.public` with headers and body as they came. Pure but for `Deliveries`, which remembers.
A body is a hint and no more: nothing in it is ever fetched, only compared with the remotes that are configured.

| forge              | proof                                  | delivery                            |
|--------------------|----------------------------------------|-------------------------------------|
| GitHub             | X-Hub-Signature-256: sha256=HMAC       | X-GitHub-Delivery                   |
| Gitea, Forgejo     | X-Gitea-Signature, X-Forgejo-Signature | X-Gitea-Delivery, X-Forgejo-Delivery|
| GitLab             | X-Gitlab-Token (the secret itself)     | Idempotency-Key, X-Gitlab-Event-UUID|
| Bitbucket          | X-Hub-Signature: sha256=HMAC           | X-Request-UUID, X-Request-Id        |
| Azure DevOps       | Authorization: Basic (any user)        | `id` in the body                    |
| anything else      | X-Saltern-Signature: sha256=HMAC       | X-Saltern-Delivery                  |
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_SIGNATURES = (
    "x-hub-signature-256",
    "x-hub-signature",
    "x-forgejo-signature",
    "x-gitea-signature",
    "x-saltern-signature",
)
_DELIVERIES = (
    "x-github-delivery",
    "x-forgejo-delivery",
    "x-gitea-delivery",
    "idempotency-key",
    "x-gitlab-event-uuid",
    "x-request-uuid",
    "x-request-id",
    "x-saltern-delivery",
)
_EVENTS = ("x-github-event", "x-event-key")
_PINGS = ("ping", "diagnostics:ping")
_PLACES = (("repository",), ("project",), ("resource", "repository"))
_URLS = (
    *("clone_url", "git_http_url", "http_url", "git_ssh_url", "ssh_url", "sshUrl", "remoteUrl"),
    *("git_url", "html_url", "web_url", "homepage", "url", "full_name", "path_with_namespace"),
)
_LINKS = ("clone", "html", "self")
MOST_HINTS = 32
MOST_DELIVERIES = 4096
LONGEST_ID = 200


def admits(secret: bytes, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the sender proves that it knows the secret, in the way of any forge. Takes the same time for all lies.

    Args:
        secret: shared with the forge, not empty.
        headers: with small names.
        body: exactly as it came; a signature over anything else proves nothing.
    """
    good = hmac.new(secret, body, hashlib.sha256).hexdigest().encode()
    proofs = [hmac.compare_digest(_hex(headers.get(name, "")), good) for name in _SIGNATURES]
    proofs.append(hmac.compare_digest(headers.get("x-gitlab-token", "").encode(), secret))
    proofs.append(hmac.compare_digest(_basic(headers.get("authorization", "")), secret))
    return any(proofs)


def _hex(signature: str) -> bytes:
    """The hexadecimal part; a signature that names another algorithm than SHA-256 fits nothing."""
    return signature.strip().removeprefix("sha256=").lower().encode()


def _basic(authorization: str) -> bytes:
    """The password of basic authentication; empty when it is none."""
    scheme, _, value = authorization.partition(" ")
    try:
        pair = base64.b64decode(value.strip(), validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""
    return pair.partition(b":")[2]


def is_ping(headers: Mapping[str, str]) -> bool:
    """Whether a forge only tries whether we are here."""
    return any(headers.get(name, "").lower() in _PINGS for name in _EVENTS)


def delivery_of(headers: Mapping[str, str], payload: object) -> str:
    """The forge's own name of this delivery, the same when it is sent again; empty when it gives none."""
    for name in _DELIVERIES:
        if value := headers.get(name, ""):
            return f"{name}:{value[:LONGEST_ID]}"
    inner = payload.get("id") if isinstance(payload, Mapping) and "resource" in payload else None
    return f"id:{inner[:LONGEST_ID]}" if isinstance(inner, str) and inner else ""


def payload_of(body: bytes) -> object:
    """The body as plain values; None when it is no JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def hints(payload: object) -> Sequence[str]:
    """Urls and names of the repository that a payload is about, best first; none when it says none."""
    found = (text for place in _PLACES for text in _texts(_at(payload, place)))
    return tuple(dict.fromkeys(text for _, text in zip(range(MOST_HINTS), found, strict=False)))


def _at(payload: object, place: Sequence[str]) -> object:
    for key in place:
        payload = payload.get(key) if isinstance(payload, Mapping) else None
    return payload


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
    """The deliveries of late: forges send again what they believe to be lost."""

    def __init__(self, *, bound: int = MOST_DELIVERIES) -> None:
        self._bound = bound
        self._seen: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, delivery: str) -> bool:
        return delivery in self._seen

    def add(self, delivery: str) -> None:
        """Remember one that was acted upon; a delivery without a name is new each time."""
        if delivery:
            self._seen[delivery] = None
            self._seen.move_to_end(delivery)
        if len(self._seen) > self._bound:
            self._seen.popitem(last=False)
