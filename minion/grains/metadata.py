"""What the metadata server of a cloud says of this machine: Salt's `metadata_server_grains`.

Called by `minion.grains.collect` when the option asks for it: nothing here is asked unbidden. Servers as EC2's (with
its tokens, and as OpenStack has them) and Google's. Credentials of the machine are left out: grains are sent to the
controller, and seen by every template.
"""

from __future__ import annotations

import json
import posixpath
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

Grains = dict[str, Any]

SERVER = "http://169.254.169.254"
WITHIN = 5.0
"""Seconds for all of it."""
LARGEST = 256 * 1024
"""Bytes of one answer."""
DEEPEST = 12
_PATIENCE = 0.5
"""Seconds for one answer: the server is on the machine's own host."""
_CREDENTIALS = ("security-credentials", "identity-credentials", "token", "identity")
_TOKEN = "X-aws-ec2-metadata-token"  # noqa: S105  (the name of a header)
_GOOGLE = "/computeMetadata/v1/?alt=json&recursive=true"


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    headers: Mapping[str, str]


@dataclass(slots=True)
class _Server:
    """A metadata server that is asked until its time is over."""

    url: str
    until: float
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> _Answer | None:
        """What is there; None when nothing is, or nobody answers."""
        left = self.until - time.monotonic()
        if left <= 0:
            return None
        asked = Request(self.url + path, method=method, headers={**self.headers, **(headers or {})})  # noqa: S310
        try:
            # No proxy knows of a server that each machine has for itself.
            with build_opener(ProxyHandler({})).open(asked, timeout=min(left, _PATIENCE)) as answer:
                text = answer.read(LARGEST).decode("utf-8", "replace")
                return _Answer(text, {key.lower(): value for key, value in answer.headers.items()})
        except (URLError, OSError, ValueError):
            return None


def metadata_grains(url: str = "") -> Grains:
    """EC2's folders below `latest`, or Google's `instance` and `project`; nothing where there is no such server."""
    server = _Server(url or SERVER, time.monotonic() + WITHIN)
    first = server.get("/")
    if first is not None and first.headers.get("metadata-flavor") == "Google":
        return _google(server)
    token = server.get("/latest/api/token", method="PUT", headers={f"{_TOKEN}-ttl-seconds": "300"})
    if token is not None:
        server.headers[_TOKEN] = token.text.strip()
    found = _below(server, "/latest/", DEEPEST)
    return found if isinstance(found, dict) else {}


def _google(server: _Server) -> Grains:
    answer = server.get(_GOOGLE, headers={"Metadata-Flavor": "Google"})
    try:
        found = json.loads(answer.text) if answer is not None else {}
    except ValueError:
        return {}
    return _without_credentials(found) if isinstance(found, dict) else {}


def _without_credentials(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _without_credentials(value) for key, value in found.items() if key not in _CREDENTIALS}
    return [_without_credentials(one) for one in found] if isinstance(found, list) else found


def _below(server: _Server, path: str, depth: int) -> Any:
    """A folder as a mapping, what is no list of names as a text. Documents stay texts, as in Salt."""
    answer = server.get(path) if depth else None
    if answer is None:
        return {}
    if answer.headers.get("content-type", "").partition(";")[0] == "application/octet-stream":
        return answer.text
    return dict(_entries(server, path, answer.text.splitlines(), depth))


def _entries(server: _Server, path: str, lines: list[str], depth: int) -> Iterator[tuple[str, Any]]:
    """Lines with a slash are folders, `0=name` is the folder 0; below `latest` all are folders but `user-data`."""
    for line in lines:
        name = line.rstrip("/")
        if not name or name in _CREDENTIALS:
            continue
        place = posixpath.join(path, quote(name))
        number, numbered, title = line.partition("=")
        if line.endswith("/") or (path == "/latest/" and name != "user-data"):
            yield name, _below(server, f"{place}/", depth - 1)
        elif numbered:
            yield title, _below(server, posixpath.join(path, quote(number)) + "/", depth - 1)
        else:
            answer = server.get(place)
            yield name, None if answer is None else answer.text
