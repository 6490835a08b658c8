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
from typing import TypedDict, Unpack

from extmods.salt_compat.utils.http import answer_to, headers_of
from minion.arguments.types import Pairs, Seconds, Texts
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
    timeout: float
    match: str | None
    pcre: bool
    status: tuple[str, ...]

    def trouble(self) -> str:
        """What is wrong with the answer; empty when it is as wanted."""
        request = urllib.request.Request(  # noqa: S310  (the scheme is checked)
            self.url, data=self.body, headers=dict(self.headers), method=self.method
        )
        code, _, data, trouble = answer_to(request, self.timeout, raise_error=False)
        return f"{shown(self.url)}: {trouble}" if trouble else self._judged(code, data.decode("utf-8", "replace"))

    def _judged(self, code: int, text: str) -> str:
        if self.status and not any(TimedRegex(one).fullmatch(str(code)) for one in self.status):
            return f"Status {code} was not found: {' or '.join(self.status)} was wanted."
        if self.match is not None:
            found = bool(TimedRegex(self.match, re.DOTALL).search(text)) if self.pcre else self.match in text
            if not found:
                return f'Match text "{self.match}" was not found.'
        return f"Status {code} is an error." if not self.status and self.match is None and code >= 400 else ""


class _Asked(TypedDict, total=False):
    """What a query is made with, and what its answer must be."""

    match: str | None
    match_type: str
    status: Texts
    status_type: str
    method: str
    data: str | None
    header_dict: Pairs | None
    timeout: Seconds
    username: str | None
    password: str | None


def query(machine: Reader, name: str, *, wait_for: Seconds | None = None, **asked: Unpack[_Asked]) -> Plan:
    """The server answers with this status, or with this text in its answer."""
    if wait_for:
        return wait_for_successful_query(machine, name, wait_for=wait_for, **asked)
    wanted = _query(name, **asked)
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
    wanted = _query(name, **asked)
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
    url: str,
    *,
    match: str | None = None,
    match_type: str = "string",
    status: Sequence[str] = (),
    status_type: str = "string",
    method: str = "GET",
    data: str | None = None,
    header_dict: Mapping[str, Value] | None = None,
    timeout: float = 30,
    username: str | None = None,
    password: str | None = None,
) -> _Query:
    if not url.startswith(("http://", "https://")):
        raise StateFailed(f"{url} is no http:// or https:// URL")
    if match is None and not status:
        raise StateFailed("Either match text (match) or a status code (status) is required.")
    try:
        for pattern in (*status, *([match] if match and match_type == "pcre" else [])):
            TimedRegex(pattern)
    except re.error as error:
        raise StateFailed(f"{match_type} {status_type}: no regular expression: {error}") from None
    return _Query(
        url=url,
        method=method.upper(),
        body=None if data is None else data.encode(),
        headers=headers_of(header_dict, None, username, password),
        timeout=timeout,
        match=match,
        pcre=match_type == "pcre",
        status=tuple(status) if status_type == "pcre" else tuple(re.escape(one) for one in status),
    )


STATES: Mapping[str, StateFunction] = {"query": query, "wait_for_successful_query": wait_for_successful_query}
