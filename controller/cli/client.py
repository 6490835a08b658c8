"""Asks the controller over its unix socket. The answers are types of `controller.schema`.

Every way in which this can fail is a `Failure` that says what to do.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from controller.cli.configuration import is_guessed, socket_of
from controller.cli.failure import COMPILE, FAILED, NO_TARGET, UNREACHABLE, USAGE, Failure
from controller.cli.lean_httpx import httpx
from controller.cli.token_file import shown_token
from controller.schema.errors import ErrorKind, ErrorView
from controller.schema.streams import StreamItem

_View = TypeVar("_View")

_ITEMS = msgspec.json.Decoder(StreamItem)
_CODES: dict[ErrorKind, int] = {
    "no-target": NO_TARGET,
    "compile": COMPILE,
    "bad-request": USAGE,
    "unavailable": UNREACHABLE,
}
_LOG = "its log says why: journalctl -u saltern-controller"
_NEXT: dict[ErrorKind, str] = {
    "no-target": "saltern status lists minions, and saltern key list those whose keys wait",
    "unauthenticated": "saltern login gets a token, and saltern whoami says who you are for the controller",
    "forbidden": "saltern whoami says who you are for the controller; docs/access.md has who may do what",
    "too-many-requests": "ask again in a moment; docs/security.md has the limits",
    "unavailable": "ask again in a moment: another controller takes over, or its database comes back",
    "internal": _LOG,
}
"""What to do next, of errors that do not say it themselves."""


class Client:
    """A connection to the controller of a configuration folder.

    Args:
        config_dir: the folder.
        token: that is shown; empty: none, None: the one that the user has.
        socket_path: of the controller; None: read from the folder.
        seconds: that an answer may take; None: it comes when it comes.
    """

    def __init__(
        self,
        config_dir: Path,
        token: str | None = None,
        socket_path: Path | None = None,
        seconds: float | None = None,
    ) -> None:
        self._socket = socket_path or socket_of(config_dir)
        self._config_dir = config_dir
        transport = httpx.HTTPTransport(uds=str(self._socket), verify=False)
        # Answers come when they come: a run may last for hours, and the controller keeps its own time.
        timeout = httpx.Timeout(seconds, connect=seconds or 10.0)
        shown = shown_token() if token is None else token
        headers = {"authorization": f"Bearer {shown}"} if shown else {}
        self._http = httpx.Client(
            transport=transport, base_url="http://controller/api/v1", timeout=timeout, trust_env=False, headers=headers
        )
        self._streamed: httpx.Response | None = None

    def __enter__(self) -> Client:
        self._knock()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._http.close()

    def get(self, path: str, of: type[_View], **query: Any) -> _View:
        """Ask for a view."""
        given = {key: value for key, value in query.items() if value is not None}
        with self._explained():
            return _view(self._http.get(path, params=given), of)

    def post(self, path: str, question: msgspec.Struct, of: type[_View]) -> _View:
        """Have something done."""
        with self._explained():
            return _view(self._http.post(path, **_body(question)), of)

    def stream(self, path: str, question: msgspec.Struct | None = None, **query: Any) -> Iterator[Any]:
        """Items as they come, of a request that is made now; a Failure when the controller reports one."""
        method = "GET" if question is None else "POST"
        body = {} if question is None else _body(question)
        with self._explained():
            response = self._http.send(self._http.build_request(method, path, params=query, **body), stream=True)
            if not response.is_success:
                response.read()
                raise _refused(response)
        self._streamed = response
        return self._items(response)

    def _items(self, response: httpx.Response) -> Iterator[Any]:
        with self._explained(), contextlib.closing(response):
            for line in json_lines(response.iter_bytes()):
                if not line:
                    continue
                item = _ITEMS.decode(line)
                if isinstance(item, ErrorView):
                    raise failure_of(item)
                yield item

    def hang_up(self) -> None:
        """End the stream that another thread reads; there it fails as when the controller goes away."""
        if self._streamed is None:
            return
        connection: socket.socket = self._streamed.extensions["network_stream"].get_extra_info("socket")
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            hint = f"what it was asked may go on: saltern history, saltern jobs list; {_LOG}"
            raise Failure(f"the controller stopped answering: {error}", UNREACHABLE, hint=hint) from None
        except msgspec.MsgspecError as error:
            hint = "it may be of another version than this program: see saltern --version, and its log"
            raise Failure(f"the controller answers in a way that is not understood: {error}", hint=hint) from None

    def _knock(self) -> None:
        """See whether somebody is there; the system's own error says best why not."""
        start = f"start it with: saltern controller -c {self._config_dir}"
        if is_guessed(self._config_dir):
            start = (
                f"you cannot read {self._config_dir}, where sock_dir may be another: SALTERN_SOCKET names the socket"
            )
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
            try:
                probe.connect(str(self._socket))
                return
            except PermissionError:
                hint = "its socket is for the controller's own user: use that user, or sudo, or publisher_acl there"
            except ConnectionRefusedError:
                hint = f"its socket is there, but nobody listens; {start}"
            except OSError:
                hint = start
        raise Failure(f"no controller answers on {self._socket}", UNREACHABLE, hint=hint)


def failure_of(view: ErrorView) -> Failure:
    """A refusal as it ends a verb."""
    code, forbidden = _CODES.get(view.error, FAILED), view.error in ("forbidden", "unauthenticated")
    hint = view.hint or ("" if view.problems else _NEXT.get(view.error, ""))
    return Failure(view.message, code, hint=hint, problems=view.problems, forbidden=forbidden)


def _body(question: msgspec.Struct) -> Mapping[str, Any]:
    return {"content": msgspec.json.encode(question), "headers": {"content-type": "application/json"}}


def _view(response: httpx.Response, of: type[_View]) -> _View:
    if not response.is_success:
        raise _refused(response)
    return msgspec.json.decode(response.content, type=of)


def _refused(response: httpx.Response) -> Failure:
    try:
        return failure_of(msgspec.json.decode(response.content, type=ErrorView))
    except msgspec.MsgspecError:
        return Failure(f"the controller answers {response.status_code} {response.reason_phrase}", hint=_LOG)


def json_lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of JSON. Their end is LF alone; `iter_lines` ends them at characters too that are parts of texts (NEL)."""
    begun = bytearray()
    for part in parts:
        if b"\n" not in part:
            begun += part
            continue
        *whole, rest = (bytes(begun) + part).split(b"\n")
        begun = bytearray(rest)
        yield from whole
    yield bytes(begun)
