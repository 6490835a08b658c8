"""A forge's API on this machine: what the fakes share. Routes, faults on command, requests as they came, webhooks."""

from __future__ import annotations

import hashlib
import itertools
import json
import queue
import re
import ssl
import threading
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from forges.model import Check, Comment, ForgeModel, Happened, Project, Pull

from controller.forges.client import CheckState, Permission


@dataclass(kw_only=True)
class Request:
    """As it came."""

    method: str
    path: str
    """Below the API's address, still quoted."""
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    url: str
    """With scheme, host and query."""

    def number(self, name: str, default: int) -> int:
        return int(self.query.get(name, default))


@dataclass(kw_only=True)
class Reply:
    status: int = 200
    value: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass(kw_only=True)
class Fault:
    """What happens to requests instead of an answer, or before it."""

    kind: str
    """status, slow, hang, huge, expired; mute: it is done, and never answered."""
    times: int = 1
    matching: str = ""
    """Regular expression for `METHOD /path`."""
    reply: Reply | None = None
    seconds: float = 0.0


class Refused(Exception):
    """The route answers with an error."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.reply = Reply(status=status, value={"message": message or "Not Found"})


Handler = Callable[..., Reply]


class FakeForge:
    """One forge with its HTTP server. `with FakeX() as forge`."""

    prefix = ""
    """Path of the API."""
    kind = ""
    has_reactions = True
    has_etags = True
    has_marks = True
    """Whether it says when a pull request changed last."""
    needs_admin = False
    """Whether it tells who may write to administrators alone."""
    tells_scopes = False
    """Whether it tells the scopes of a token whatever that may see."""
    of_readers = Permission.READ
    """What it tells of people who may read."""

    def __init__(self, model: ForgeModel | None = None) -> None:
        self.model = model or ForgeModel()
        if self.needs_admin:
            self.model.robot_level = "admin"
        self.token = "token-" + uuid.uuid4().hex
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.answers: list[tuple[Request, Reply]] = []
        """For the check against the published description."""
        self.statuses: list[int] = []
        self.hook = ""
        """URL that webhooks go to; empty: none are sent."""
        self.secret = b"hook-secret"
        self.lost = 0
        """How many of the next webhooks are lost."""
        self.doubled = 0
        """How many of the next webhooks are sent twice."""
        self.deliveries: list[tuple[str, int]] = []
        """(id, status that the receiver answered; 0: none)."""
        self.rights = {"read", "comments", "statuses"}
        """Of the token."""
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []
        self._released = threading.Event()
        self._outgoing: queue.Queue[tuple[dict[str, str], Any] | None] = queue.Queue()
        self._sender = threading.Thread(target=self._send_webhooks, daemon=True)
        self._counter = itertools.count(1)
        self.model.listeners.append(self._happened)
        self._address = "http://127.0.0.1"
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.routes()

    def __enter__(self) -> FakeForge:
        self._thread.start()
        self._sender.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._outgoing.put(None)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._sender.join()

    def behind_tls(self, context: ssl.SSLContext, host: str = "localhost") -> None:
        """Answer by https from now on; called before it starts."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._address = f"https://{host}"

    @property
    def web(self) -> str:
        return f"{self._address}:{self._server.server_address[1]}"

    @property
    def api(self) -> str:
        return self.web + self.prefix

    @property
    def access(self) -> dict[str, str]:
        """The options with which a configuration has access."""
        return {"token": self.token}

    # What a fake of a forge says.

    def routes(self) -> None:
        raise NotImplementedError

    def authorize(self, request: Request) -> None:
        """Refused(401) when the credentials are wrong."""
        raise NotImplementedError

    def webhook(self, happened: Happened) -> tuple[dict[str, str], Any] | None:
        """Headers and payload; None: nothing is sent."""
        raise NotImplementedError

    def sign(self, body: bytes) -> dict[str, str]:
        raise NotImplementedError

    states: ClassVar[dict[str, CheckState]] = {}
    """Of a status, as the forge calls them."""

    def id_of(self, comment: Comment) -> str:
        """As the client calls it."""
        return str(comment.id)

    def outcome(self, check: Check) -> CheckState:
        """What a person sees of a check. Statuses know no neutral: it is shown as success."""
        return self.states[check.history[-1]]

    # Faults.

    def fault(self, kind: str, *, times: int = 1, matching: str = "", **more: Any) -> None:
        self.faults.append(Fault(kind=kind, times=times, matching=matching, **more))

    def bad_gateway(self, times: int = 1, matching: str = "") -> None:
        self.fault("status", times=times, matching=matching, reply=Reply(status=502, raw=b"<html>Bad Gateway</html>"))

    def rate_limited(self, times: int = 1, matching: str = "", retry_after: int = 7) -> None:
        headers = {"retry-after": str(retry_after)}
        reply = Reply(status=429, value={"message": "Too Many Requests"}, headers=headers)
        self.fault("status", times=times, matching=matching, reply=reply)

    def asked(self, matching: str) -> list[Request]:
        return [each for each in self.requests if re.search(matching, f"{each.method} {each.path}")]

    # The server.

    def route(self, method: str, pattern: str, handler: Handler) -> None:
        """`{name}` is one segment, `{name:path}` several; they are handed over unquoted."""
        expression = re.sub(r"\{(\w+):path\}", r"(?P<\1>.+?)", pattern)
        expression = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", expression)
        self._routes.append((method, re.compile(expression + "$"), handler))

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        fault = self._fault_of(request)
        if fault is not None and (reply := self._faulty(fault)) is not None:
            return reply
        try:
            with self.model.lock:
                self.authorize(request)
                reply = self._routed(request)
        except Refused as refused:
            reply = refused.reply
        self.answers.append((request, reply))
        if fault is not None and fault.kind == "mute":
            self._released.wait()
        return self._conditional(request, reply)

    def _fault_of(self, request: Request) -> Fault | None:
        for fault in self.faults:
            if fault.times and re.search(fault.matching, f"{request.method} {request.path}"):
                fault.times -= 1
                return fault
        return None

    def _faulty(self, fault: Fault) -> Reply | None:
        match fault.kind:
            case "status":
                return fault.reply
            case "slow":
                self._released.wait(fault.seconds)
                return None
            case "hang":
                self._released.wait()
                return Reply(status=503, raw=b"")
            case "huge":
                return Reply(status=200, raw=b"[" + b" " * (64 * 1024 * 1024) + b"]")
            case "expired":
                self.token = "token-" + uuid.uuid4().hex
                return None
            case "mute":
                return None
        raise AssertionError(fault.kind)

    def _routed(self, request: Request) -> Reply:
        for method, pattern, handler in self._routes:
            if method == request.method and (found := pattern.match(request.path)):
                return handler(request, **{name: unquote(value) for name, value in found.groupdict().items()})
        raise Refused(404)

    def _conditional(self, request: Request, reply: Reply) -> Reply:
        if request.method != "GET" or reply.status != 200 or not self.has_etags:
            return reply
        body = reply.raw if reply.raw is not None else json.dumps(reply.value).encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        if request.headers.get("if-none-match") == tag:
            return Reply(status=304, raw=b"", headers={**reply.headers, "etag": tag})
        return Reply(status=200, raw=body, headers={**reply.headers, "etag": tag})

    def paged(self, request: Request, values: list[Any], *, size: str = "per_page", default: int = 30) -> Reply:
        """A page of a list, with links to its neighbours (RFC 8288)."""
        count, page = min(request.number(size, default), 100), request.number("page", 1)
        last = max(1, -(-len(values) // count))
        links = []
        for relation, number in (("next", page + 1), ("last", last)):
            if page < last:
                address = urlsplit(request.url)._replace(query=urlencode({**request.query, "page": number})).geturl()
                links.append(f'<{address}>; rel="{relation}"')
        headers = {"link": ", ".join(links)} if links else {}
        return Reply(value=values[(page - 1) * count : page * count], headers=headers)

    # What routes look up.

    def find_project(self, name: str) -> Project:
        found = self.model.find(name)
        if found is None or "read" not in self.rights:
            raise Refused(404)
        return found

    def find_pull(self, project: str, number: str) -> Pull:
        pull = self.find_project(project).pulls.get(int(number))
        if pull is None:
            raise Refused(404)
        return pull

    def find_comment(self, project: str, comment: str, pull: str = "") -> tuple[Pull, Comment]:
        for each in self.find_project(project).pulls.values():
            if pull in ("", str(each.number)):
                for found in each.visible():
                    if str(found.id) == comment:
                        return each, found
        raise Refused(404)

    def may(self, right: str) -> None:
        """Refused when our token has no such right."""
        if right not in self.rights:
            raise Refused(403, "insufficient_scope")

    def edited(self, project: str, comment: str, body: str, pull: str = "") -> Comment:
        """A comment of ours with another text."""
        self.may("comments")
        found_pull, found = self.find_comment(project, comment, pull)
        if found.author != self.model.robot:
            raise Refused(403, "it is not yours")
        self.model.edit_comment(found_pull, found, body)
        return found

    def keep_status(self, project: Project, sha: str, name: str, values: dict[str, Any], state: str) -> Check:
        found = next((each for each in project.checks if (each.head, each.name) == (sha, name)), None)
        if found is None:
            found = Check(id=self.model.new_id(), head=sha, name=name, values={})
            project.checks.append(found)
        found.values.update(values)
        found.history.append(state)
        return found

    def knows(self, project: Project, sha: str) -> bool:
        commits = {each for pull in project.pulls.values() for each in (*pull.commits, pull.head, pull.merge_commit)}
        return sha in commits | set(project.branches.values())

    # Webhooks.

    def _happened(self, happened: Happened) -> None:
        if not self.hook or (made := self.webhook(happened)) is None:
            return
        self._outgoing.put(made)

    def flush(self) -> None:
        """Wait until all webhooks were sent."""
        self._outgoing.join()

    def _send_webhooks(self) -> None:
        """In a thread, in their order, as forges do: whoever changes something does not wait for it."""
        while (made := self._outgoing.get()) is not None:
            self.deliver(*made)
            self._outgoing.task_done()

    def deliver(self, headers: dict[str, str], payload: Any) -> None:
        """Send a webhook, signed; lost or doubled where that was commanded."""
        if self.lost:
            self.lost -= 1
            return
        body = json.dumps(payload).encode()
        delivery = str(uuid.uuid4())
        times = 1
        if self.doubled:
            self.doubled -= 1
            times = 2
        for _ in range(times):
            sent = {"content-type": "application/json", **headers, **self.sign(body)}
            sent = {name: value.replace("{delivery}", delivery) for name, value in sent.items()}
            request = urllib.request.Request(self.hook, body, sent, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=30) as answered:
                    self.deliveries.append((delivery, answered.status))
            except urllib.error.HTTPError as error:
                self.deliveries.append((delivery, error.code))
                error.close()
            except OSError:
                self.deliveries.append((delivery, 0))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is no news."""


def _handler_of(forge: FakeForge) -> type[BaseHTTPRequestHandler]:
    class _Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # its small answers would wait 40 ms for the acknowledgement of the one before

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            text = self.rfile.read(length)
            parts = urlsplit(self.path)
            if not parts.path.startswith(forge.prefix) and not parts.path.startswith("/api/graphql"):
                self._send(Reply(status=404, value={"message": "Not Found"}))
                return
            request = Request(
                method=self.command,
                path=parts.path.removeprefix(forge.prefix),
                query={name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()},
                headers={name.lower(): value for name, value in self.headers.items()},
                body=json.loads(text) if text else None,
                url=forge.web + self.path,
            )
            reply = forge.answer(request)
            forge.statuses.append(reply.status)
            self._send(reply)

        def _send(self, reply: Reply) -> None:
            body = (
                reply.raw if reply.raw is not None else b"" if reply.value is None else json.dumps(reply.value).encode()
            )
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json; charset=utf-8", **reply.headers}.items():
                self.send_header(name, value)
            if reply.status not in (204, 304):
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            if reply.status not in (204, 304):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        setattr(_Handler, f"do_{method}", _Handler._answer)
    return _Handler
