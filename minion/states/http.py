"""The state module `http`: what a server answers.

Behaviour: doc/ref/states/all/salt.states.http. A query that only asks (GET, HEAD) is made while planning, so that a
test run says whether it would succeed; any other is an act. TLS is verified against the system's authorities.
"""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict, Unpack, cast

from extmods.salt_compat.utils.http import HttpFailed, answer_to, body_of, handlers_of, headers_of, with_params
from minion.arguments.types import AnyValue, Ignored, Map, Pairs, Seconds, Texts, Unsupported
from minion.machine.failure import StateFailed
from minion.machine.fetch import shown
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.machine.timed_regex import TimedRegex


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    url: str
    method: str
    body: bytes | None
    headers: Mapping[str, str]
    handlers: tuple[urllib.request.BaseHandler, ...]
    timeout: float
    match: str | None
    pcre: bool
    status: tuple[str, ...]

    def trouble(self) -> str:
        """What is wrong with the answer; empty when it is as wanted."""
        request = urllib.request.Request(  # noqa: S310  (the scheme is checked)
            self.url, data=self.body, headers=dict(self.headers), method=self.method
        )
        code, _, data, trouble = answer_to(request, self.timeout, raise_error=False, handlers=self.handlers)
        return f"{shown(self.url)}: {trouble}" if trouble else self._judged(code, data.decode("utf-8", "replace"))

    def _judged(self, code: int, text: str) -> str:
        if self.status and not any(TimedRegex(one).fullmatch(str(code)) for one in self.status):
            return f"Status {code} was not found: {' or '.join(self.status)} was wanted."
        if self.match is not None:
            found = bool(TimedRegex(self.match, re.DOTALL).search(text)) if self.pcre else self.match in text
            if not found:
                return f'Match text "{self.match}" was not found.'
        return f"Status {code} is an error." if not self.status and self.match is None and code >= 400 else ""


_Shown = Annotated[Value, Ignored("an answer is judged by its status and its text")]
_Python = Annotated[Value, Unsupported("it is for Python code")]
_Written = Annotated[Value, Unsupported("use file.managed with the URL as its source, or module.run with http.query")]
_Session = Annotated[Value, Unsupported("use module.run with http.query")]


class _Asked(TypedDict, total=False):
    """What a query is made with, and what its answer must be."""

    match: str | None
    match_type: str
    status: Texts
    status_type: str
    method: str
    data: AnyValue
    data_file: str | None
    data_render: Annotated[Value, Unsupported("write data in the SLS, which is a template")]
    data_renderer: Annotated[Value, Ignored("it belongs to data_render")]
    template_dict: Annotated[Value, Ignored("it belongs to data_render")]
    params: Map | None
    header_dict: Pairs | None
    header_list: Texts
    timeout: Seconds
    username: str | None
    password: str | None
    auth: Texts
    agent: str
    verify_ssl: bool
    ca_bundle: str | None
    cert: Texts
    decode: _Shown
    decode_type: _Shown
    decode_body: _Shown
    text: _Shown
    headers: _Shown
    raise_error: _Shown
    hide_fields: _Shown
    backend: Annotated[Value, Ignored("there is one way to ask")]
    test_url: Annotated[Value, Ignored("a test run asks what the real one asks")]
    text_out: _Written
    headers_out: _Written
    decode_out: _Written
    cookies: _Session
    cookie_jar: _Session
    cookie_format: Annotated[Value, Ignored("cookies are not kept")]
    persist_session: _Session
    session_cookie_jar: _Session
    formdata: _Session
    formdata_fieldname: Annotated[Value, Ignored("it belongs to formdata")]
    formdata_filename: Annotated[Value, Ignored("it belongs to formdata")]
    header_file: _Session
    header_render: Annotated[Value, Ignored("it belongs to header_file")]
    header_renderer: Annotated[Value, Ignored("it belongs to header_file")]
    stream: _Python
    streaming_callback: _Python
    header_callback: _Python
    handle: _Python


def query(machine: Reader, name: str, *, wait_for: Seconds | None = None, **asked: Unpack[_Asked]) -> Plan:
    """The server answers with this status, or with this text in its answer."""
    if wait_for:
        return wait_for_successful_query(machine, name, wait_for=wait_for, **asked)
    wanted = _query(machine, name, **cast(dict[str, Any], asked))
    good = f"{wanted.method} {shown(name)} answered as it should"
    if wanted.method in ("GET", "HEAD"):
        trouble = wanted.trouble()
        if trouble:
            raise StateFailed(trouble)
        return Plan(comment=good)

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        trouble = wanted.trouble()
        if trouble:
            raise StateFailed(trouble)

    return Plan(
        changes=(Change(key="", act=act),),
        pending=f"{wanted.method} {shown(name)} would be sent",
        done=good,
        converges=False,
        each_time=True,
    )


def wait_for_successful_query(
    machine: Reader,
    name: str,
    *,
    wait_for: Seconds = 300,
    request_interval: Seconds = 1,
    **asked: Unpack[_Asked],
) -> Plan:
    """As `query`, asked again every `request_interval` seconds for `wait_for` seconds. A test run asks once."""
    wanted = _query(machine, name, **cast(dict[str, Any], asked))
    if wanted.method in ("GET", "HEAD") and not wanted.trouble():
        return Plan(comment=f"{wanted.method} {shown(name)} answered as it should")
    return Plan(
        changes=(Change(key="", act=_waiting(wanted, wait_for, max(request_interval, 0.01))),),
        pending=f"{shown(name)} does not answer as it should yet; it would be asked for {wait_for:g} seconds",
        done=f"{wanted.method} {shown(name)} answered as it should",
        converges=False,
        each_time=True,
    )


def _waiting(asked: _Query, limit: float, interval: float) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        end = time.monotonic() + limit
        while trouble := asked.trouble():
            if time.monotonic() + interval > end:
                raise StateFailed(f"{trouble}\nAsked for {limit:g} seconds in vain")
            time.sleep(interval)

    return act


def _query(
    machine: Reader,
    url: str,
    *,
    match: str | None = None,
    match_type: str = "string",
    status: Sequence[str] = (),
    status_type: str = "string",
    method: str = "GET",
    data: Value = None,
    data_file: str | None = None,
    params: Mapping[str, Value] | None = None,
    header_dict: Mapping[str, Value] | None = None,
    header_list: Sequence[str] = (),
    timeout: float = 30,
    username: str | None = None,
    password: str | None = None,
    auth: Sequence[str] = (),
    agent: str = "saltern",
    verify_ssl: bool = True,
    ca_bundle: str | None = None,
    cert: Sequence[str] = (),
) -> _Query:
    if not url.startswith(("http://", "https://")):
        raise StateFailed(f"{url} is no http:// or https:// URL")
    if match is None and not status:
        raise StateFailed("Either match text (match) or a status code (status) is required.")
    if auth:
        if len(auth) != 2:
            raise StateFailed("auth is a list of a name and a password")
        username, password = auth
    try:
        for pattern in (*status, *([match] if match and match_type == "pcre" else [])):
            TimedRegex(pattern)
        handlers = handlers_of(verify_ssl, ca_bundle, cert[0] if len(cert) == 1 else cert)
    except re.error as error:
        raise StateFailed(f"{match_type} {status_type}: no regular expression: {error}") from None
    except HttpFailed as error:
        raise StateFailed(str(error)) from error
    return _Query(
        url=with_params(url, params),
        method=method.upper(),
        body=_body(machine, data, data_file),
        headers=headers_of(header_dict, header_list, username, password, agent),
        handlers=tuple(handlers),
        timeout=timeout,
        match=match,
        pcre=match_type == "pcre",
        status=tuple(status) if status_type == "pcre" else tuple(re.escape(one) for one in status),
    )


def _body(machine: Reader, data: Value, data_file: str | None) -> bytes | None:
    """What is sent: a value, or a file of the machine."""
    if data_file is None:
        return body_of(data)
    try:
        return machine.read(data_file)
    except OSError as error:
        raise StateFailed(f"{data_file}: {error.strerror}") from error


STATES: Mapping[str, StateFunction] = {"query": query, "wait_for_successful_query": wait_for_successful_query}
