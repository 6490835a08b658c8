"""The execution module `http`: what a server answers. TLS is verified against the system's authorities."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from extmods.salt_compat.utils import http
from minion.execution.context import Context
from minion.execution.errors import CallFailed


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
    try:
        return http.ask(
            url,
            method,
            params=params,
            data=data,
            header_dict=header_dict,
            header_list=header_list,
            username=username,
            password=password,
            decode=decode,
            decode_type=decode_type,
            text=text,
            status=status,
            headers=headers,
            timeout=timeout,
            raise_error=raise_error,
        )
    except http.HttpFailed as error:
        raise CallFailed(str(error)) from error


def wait_for_successful_query(
    context: Context, url: str, wait_for: float = 300, request_interval: float = 1, **options: Any
) -> dict[str, Any]:
    """Ask a server again and again, until it answers or the seconds are over."""
    end = time.monotonic() + wait_for
    while True:
        answer = query(context, url, **options)
        if "error" not in answer:
            return answer
        if time.monotonic() + request_interval > end:
            raise CallFailed(f"{url} did not answer within {wait_for} seconds: {answer['error']}")
        time.sleep(max(request_interval, 0.01))


FUNCTIONS: Mapping[str, Any] = {"query": query, "wait_for_successful_query": wait_for_successful_query}
