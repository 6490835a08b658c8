"""A workspace of Slack, for tests: the methods of the Web API that are called, and an incoming webhook.

It holds what it is sent against the documentation of each method (https://docs.slack.dev/reference/methods): unknown
arguments, wrong types, missing ones and the forms of a token are errors, by Slack's words.
"""

import json
import urllib.parse
from http.server import BaseHTTPRequestHandler

TOKEN = "xoxb-" + "1" * 12 + "-tests"
_ARGUMENTS = {
    "channel": str, "text": str, "username": str, "icon_url": str, "icon_emoji": str, "attachments": list,
    "blocks": list, "thread_ts": str, "mrkdwn": bool, "unfurl_links": bool,
}  # fmt: skip
_HOOK = {"text": str, "attachments": list, "blocks": list, "channel": str, "username": str, "icon_emoji": str}
_CARD = {"fallback", "color", "pretext", "fields", "title", "text", "author_icon"}


class Workspace:
    """Its channels, members and messages."""

    def __init__(self):
        self.channels = {f"C{number:09}": f"room-{number}" for number in range(450)} | {"C0GENERAL9": "general"}
        self.members = {"U00000001": "ada", "U00000002": "bob"}
        self.posted = []
        self.questions = 0
        self.limited = False

    def answer(self, method, path, headers, body):
        """Status, headers and body of an answer."""
        self.questions += 1
        place = urllib.parse.urlsplit(path)
        if place.path.startswith("/services/"):
            return self.hooked(place.path, headers, body)
        if self.limited:
            return 429, {"Retry-After": "30"}, {"ok": False, "error": "ratelimited"}
        name = place.path.removeprefix("/api/")
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return 200, {}, {"ok": False, "error": "invalid_auth"}
        if name == "chat.postMessage" and method == "POST":
            return 200, {}, self.post(headers, body)
        lists = {"conversations.list": ("channels", self.channels), "users.list": ("members", self.members)}
        if name in lists and method == "GET":
            key, named = lists[name]
            return 200, {}, self.page(key, named, urllib.parse.parse_qs(place.query, strict_parsing=True))
        return 200, {}, {"ok": False, "error": "unknown_method"}

    def page(self, key, named, asked):
        assert set(asked) <= {"limit", "cursor"}
        start, limit = int(asked.get("cursor", ["0"])[0]), int(asked["limit"][0])
        assert 1 <= limit <= 1000
        found = [{"id": one, "name": name} for one, name in named.items()][start : start + limit]
        following = str(start + limit) if start + limit < len(named) else ""
        return {"ok": True, key: found, "response_metadata": {"next_cursor": following}}

    def post(self, headers, body):
        if not headers.get("Content-Type", "").startswith("application/json"):
            return {"ok": False, "error": "invalid_post_type"}
        given = json.loads(body)
        if not all(key in _ARGUMENTS and isinstance(value, _ARGUMENTS[key]) for key, value in given.items()):
            return {"ok": False, "error": "invalid_arguments"}
        if not (given.get("text") or given.get("blocks") or given.get("attachments")):
            return {"ok": False, "error": "no_text"}
        where = given["channel"]
        known = {
            *self.channels,
            *(f"#{one}" for one in self.channels.values()),
            *(f"@{one}" for one in self.members.values()),
        }
        if where not in known:
            return {"ok": False, "error": "channel_not_found"}
        self.posted.append(given)
        return {"ok": True, "channel": where, "ts": "1.0"}

    def hooked(self, path, headers, body):
        if path != "/services/T1/B1/secret":
            return 404, {}, "no_team"
        given = json.loads(body)
        if headers.get("Content-Type") != "application/json" or not (given.get("text") or given.get("attachments")):
            return 400, {}, "no_text"
        if not all(key in _HOOK and isinstance(value, _HOOK[key]) for key, value in given.items()):
            return 400, {}, "invalid_payload"
        if any(set(card) - _CARD for card in given.get("attachments", ())):
            return 400, {}, "invalid_attachments"
        self.posted.append(given)
        return 200, {}, "ok"


def handler_of(workspace):
    """A class that serves it."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, said = workspace.answer(self.command, self.path, self.headers, body)
            data = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815 - http.server's

        def log_message(self, *words):
            """Nothing."""

    return Handler
