"""The execution module `http`: what a server answers. TLS is verified against the system's authorities."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed

LARGEST = 4 * 1024 * 1024
"""Bytes of an answer that are kept: they go over the wire."""


def query(
    context: Context,
    url: str,
    method: str = "GET",
    params: Mapping[str, Any] | None = None,
    data: Any = None,
    header_dict: Mapping[str, Any] | None = None,
    header_list: list[str] | None = None,
    username: str | None = None,
    password: str | None = None,
    decode: bool = False,
    decode_type: str = "auto",
    text: bool = False,
    status: bool = False,
    headers: bool = False,
    timeout: float = 30,
    raise_error: bool = True,
) -> dict[str, Any]:
    """Ask a server: `body`, and as asked for `text`, `dict` (decoded), `status` and `headers`; or `error`."""
    if not url.startswith(("http://", "https://")):
        raise CallFailed(f"{url} is no http:// or https:// URL")
    request = urllib.request.Request(  # noqa: S310  (the scheme is checked)
        f"{url}?{urllib.parse.urlencode(params)}" if params else url,
        data=_body(data),
        headers=_headers(header_dict, header_list, username, password),
        method=method.upper(),
    )
    trouble, found_headers, body = "", dict[str, str](), b""
    try:
        with urllib.request.urlopen(request, timeout=float(timeout)) as answer:  # noqa: S310  (the scheme is checked)
            code, found_headers, body = answer.status, dict(answer.headers), answer.read(LARGEST)
    except urllib.error.HTTPError as error:
        with error:
            code, found_headers, body = error.code, dict(error.headers), error.read(LARGEST)
        trouble = f"HTTP {code}: {error.reason}" if raise_error else ""
    except (urllib.error.URLError, OSError, ValueError) as error:
        code, trouble = 0, str(getattr(error, "reason", error))
    shown = {"status": code} if status else {}
    if trouble:
        return {**({"body": body.decode("utf-8", "replace")} if body else {}), **shown, "error": trouble}
    said = body.decode("utf-8", "replace")
    answer_dict: dict[str, Any] = {"body": said} if not decode else {}
    if decode:
        answer_dict["dict"] = _decoded(said, decode_type, found_headers)
    return {
        **answer_dict,
        **({"text": said} if text else {}),
        **shown,
        **({"headers": found_headers} if headers else {}),
    }


def wait_for_successful_query(
    context: Context, url: str, wait_for: float = 300, request_interval: float = 1, **options: Any
) -> dict[str, Any]:
    """Ask a server again and again, until it answers or the seconds are over."""
    end = time.monotonic() + float(wait_for)
    while True:
        answer = query(context, url, **options)
        if "error" not in answer:
            return answer
        if time.monotonic() + float(request_interval) > end:
            raise CallFailed(f"{url} did not answer within {wait_for} seconds: {answer['error']}")
        time.sleep(max(float(request_interval), 0.01))


def _body(data: Any) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()


def _headers(
    given: Mapping[str, Any] | None, listed: list[str] | None, username: str | None, password: str | None
) -> dict[str, str]:
    headers = {"User-Agent": "saltern", **{str(key): str(value) for key, value in (given or {}).items()}}
    headers |= {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in listed or ())}
    if username:
        import base64

        headers["Authorization"] = "Basic " + base64.b64encode(f"{username}:{password or ''}".encode()).decode()
    return headers


def _decoded(text: str, kind: str, headers: Mapping[str, str]) -> Any:
    if kind == "plain":
        return text
    is_yaml = kind == "yaml" or (kind == "auto" and "yaml" in headers.get("Content-Type", ""))
    try:
        if not is_yaml:
            return json.loads(text)
        import yaml

        return yaml.safe_load(text)
    except ValueError as error:
        raise CallFailed(f"the answer is no {'YAML' if is_yaml else 'JSON'}: {error}") from error


FUNCTIONS: Mapping[str, Any] = {"query": query, "wait_for_successful_query": wait_for_successful_query}
