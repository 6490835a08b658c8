"""The state module `http`: what a server answers.

Behaviour: doc/ref/states/all/salt.states.http. A query that only asks (GET, HEAD) is made while planning, so that a
test run says whether it would succeed; any other is an act. TLS is verified against the system's authorities.
"""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from minion.machine.fetch import shown
from minion.machine.plan import Change, Machine, Plan, Reader, StateFailed, StateFunction, Value

LARGEST = 4 * 1024 * 1024
"""Bytes of an answer that are looked at."""


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
        """What is wrong with the answer; empty when it is as it ought to be."""
        request = urllib.request.Request(  # noqa: S310  (the scheme is checked)
            self.url, data=self.body, headers=dict(self.headers), method=self.method
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310
                code, data = answer.status, answer.read(LARGEST)
        except urllib.error.HTTPError as error:
            with error:
                code, data = error.code, error.read(LARGEST)
        except (urllib.error.URLError, OSError, ValueError) as error:
            return f"{shown(self.url)}: {getattr(error, 'reason', error)}"
        return self._judged(code, data.decode("utf-8", "replace"))

    def _judged(self, code: int, text: str) -> str:
        if self.status and not any(re.fullmatch(one, str(code)) for one in self.status):
            return f"Status {code} was not found: {' or '.join(self.status)} was wanted."
        if self.match is not None:
            found = re.search(self.match, text, re.DOTALL) is not None if self.pcre else self.match in text
            if not found:
                return f'Match text "{self.match}" was not found.'
        return f"Status {code} is an error." if not self.status and self.match is None and code >= 400 else ""


def query(
    machine: Reader,
    name: str,
    *,
    match: Value = None,
    match_type: str = "string",
    status: Value = None,
    status_type: str = "string",
    wait_for: Value = None,
    method: str = "GET",
    data: Value = None,
    header_dict: Value = None,
    timeout: Value = 30,
    username: Value = None,
    password: Value = None,
) -> Plan:
    """The server answers with this status, or with this text in its answer."""
    if wait_for:
        given = {"match": match, "match_type": match_type, "status": status, "status_type": status_type}
        more = {"method": method, "data": data, "header_dict": header_dict, "timeout": timeout}
        secret = {"username": username, "password": password}
        return wait_for_successful_query(machine, name, wait_for=wait_for, **given, **more, **secret)
    asked = _query(name, match, match_type, status, status_type, method, data, header_dict, timeout, username, password)
    good = f"{method} {shown(name)} answered as it should"
    if asked.method in ("GET", "HEAD"):
        trouble = asked.trouble()
        if trouble:
            raise StateFailed(trouble)
        return Plan(comment=good)

    def act(machine: Machine) -> None:
        trouble = asked.trouble()
        if trouble:
            raise StateFailed(trouble)

    return Plan(
        changes=(Change(key="", act=act),), pending=f"{method} {shown(name)} would be sent", done=good, converges=False
    )


def wait_for_successful_query(
    machine: Reader, name: str, *, wait_for: Value = 300, request_interval: Value = 1, **arguments: Value
) -> Plan:
    """As `query`, asked again every `request_interval` seconds for `wait_for` seconds. A test run asks once."""
    given = {"match": None, "match_type": "string", "status": None, "status_type": "string", "method": "GET",
             "data": None, "header_dict": None, "timeout": 30, "username": None, "password": None}  # fmt: skip
    strange = sorted(set(arguments) - set(given))
    if strange:
        raise StateFailed(f"http.wait_for_successful_query does not take {', '.join(strange)}")
    asked = _query(name, *{**given, **arguments}.values())
    limit, interval = _number(wait_for, "wait_for"), max(_number(request_interval, "request_interval"), 0.01)
    if asked.method in ("GET", "HEAD") and not asked.trouble():
        return Plan(comment=f"{asked.method} {shown(name)} answered as it should")
    return Plan(
        changes=(Change(key="", act=_waiting(asked, limit, interval)),),
        pending=f"{shown(name)} does not answer as it should yet; it would be asked for {limit:g} seconds",
        done=f"{asked.method} {shown(name)} answered as it should",
        converges=False,
    )


def _waiting(asked: _Query, limit: float, interval: float) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        end = time.monotonic() + limit
        while trouble := asked.trouble():
            if time.monotonic() + interval > end:
                raise StateFailed(f"{trouble}\nAsked for {limit:g} seconds in vain")
            time.sleep(interval)

    return act


def _query(
    url: str,
    match: Value,
    match_type: Value,
    status: Value,
    status_type: Value,
    method: Value,
    data: Value,
    header_dict: Value,
    timeout: Value,
    username: Value,
    password: Value,
) -> _Query:
    if not url.startswith(("http://", "https://")):
        raise StateFailed(f"{url} is no http:// or https:// URL")
    if match is None and status is None:
        raise StateFailed("Either match text (match) or a status code (status) is required.")
    headers = {"User-Agent": "saltern", **{str(k): str(v) for k, v in dict(header_dict or {}).items()}}
    if username:
        import base64

        headers["Authorization"] = "Basic " + base64.b64encode(f"{username}:{password or ''}".encode()).decode()
    codes = () if status is None else tuple(str(one) for one in (status if isinstance(status, list) else [status]))
    try:
        for pattern in (*codes, *([str(match)] if match_type == "pcre" else [])):
            re.compile(pattern)
    except re.error as error:
        raise StateFailed(f"{match_type} {status_type}: no regular expression: {error}") from None
    return _Query(
        url=url,
        method=str(method).upper(),
        body=None if data is None else str(data).encode(),
        headers=headers,
        timeout=_number(timeout, "timeout"),
        match=None if match is None else str(match),
        pcre=match_type == "pcre",
        status=codes if status_type == "pcre" else tuple(re.escape(one) for one in codes),
    )


def _number(value: Value, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise StateFailed(f"{what} must be a number of seconds, not {value!r}") from None


STATES: Mapping[str, StateFunction] = {"query": query, "wait_for_successful_query": wait_for_successful_query}
