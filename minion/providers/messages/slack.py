"""Slack's Web API and incoming webhooks.

Called by the state and the execution module `slack`. Sources: https://docs.slack.dev/apis/web-api/,
https://docs.slack.dev/reference/methods/chat.postMessage and
https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
"""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from extmods.salt_compat.utils.http import answer_to
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Reader

_API = "https://slack.com/api/"
_HOOKS = "https://hooks.slack.com/services/"
_SECONDS = 60
_PAGE = 200
_MOST_PAGES = 500
"""Slack allows some twenty questions of a list a minute: more than that never ends."""
_ID = re.compile(r"[CDGU][A-Z0-9]{8,}")


class Credentials(NamedTuple):
    """What the configuration, the grains or the pillar have."""

    api_key: str
    hook: str
    api_url: str
    """Of GovSlack, or of a proxy, another one."""


def configured_slack(machine: Reader) -> Credentials:
    """`slack.api_key`, or `api_key` below `slack`, and its like; empty where there is none."""
    below = configured(machine, "slack", {})
    below = below if isinstance(below, Mapping) else {}
    found = [configured(machine, f"slack.{one}", below.get(one)) or "" for one in ("api_key", "hook", "api_url")]
    return Credentials(str(found[0]), str(found[1]), str(found[2]) or _API)


class SlackApi:
    """The Web API, by a token."""

    def __init__(self, token: str, url: str = _API) -> None:
        self._token, self._url = token, url if url.endswith("/") else f"{url}/"

    def post(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a method that does something. Raises StateFailed, with Slack's word for what is wrong."""
        body = json.dumps(arguments).encode()
        return self._asked(method, method, body, {"Content-Type": "application/json; charset=utf-8"})

    def all(self, method: str, key: str) -> Iterator[dict[str, Any]]:
        """What a method lists, page by page."""
        cursor = ""
        for _ in range(_MOST_PAGES):
            words = {"limit": _PAGE, **({"cursor": cursor} if cursor else {})}
            answer = self._asked(method, f"{method}?{urllib.parse.urlencode(words)}", None, {})
            yield from answer.get(key) or ()
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    def _asked(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310  (an address of the configuration, or Slack's)
            self._url + path, data=body, headers={"Authorization": f"Bearer {self._token}", **headers}
        )
        code, given, said, trouble = answer_to(request, _SECONDS, raise_error=False)
        if trouble:
            raise StateFailed(trouble)
        if code == 429:
            raise StateFailed(f"ratelimited: {method} may be asked again in {given.get('Retry-After', 'some')} seconds")
        try:
            answer = json.loads(said)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise StateFailed(f"Unknown response: status {code}")
        if not answer.get("ok"):
            raise StateFailed(str(answer.get("error") or f"status {code}"))
        return answer


def channel_of(name: str) -> str:
    """A channel as Slack takes it: an id as it is, a name with `#`, a person with `@`."""
    return name if name.startswith(("#", "@")) or _ID.fullmatch(name) else f"#{name}"


def post_to_hook(hook: str, payload: Mapping[str, Any]) -> None:
    """Post to an incoming webhook: its address, or what follows `/services/` in it. Raises StateFailed."""
    url = urllib.parse.urljoin(_HOOKS, hook)
    if not url.startswith(("https://", "http://")):
        raise StateFailed("the webhook is no http:// or https:// address")
    request = urllib.request.Request(  # noqa: S310  (the scheme is checked)
        url, data=json.dumps(payload).encode(), headers={"Content-Type": "application/json"}
    )
    code, _, said, trouble = answer_to(request, _SECONDS, raise_error=False)
    if trouble or code > 201:
        raise StateFailed(trouble or said.decode("utf-8", "replace").strip() or f"status {code}")
