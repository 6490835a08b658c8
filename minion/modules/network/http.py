"""The execution module `http`: what a server answers. TLS is verified against the system's authorities."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from extmods.salt_compat.utils import http
from minion.arguments.types import AnyValue, ListOfTexts, Map, Seconds
from minion.execution.context import Context
from minion.execution.errors import CallFailed


class QueryOptions(TypedDict, total=False):
    """What is asked and shown, as `extmods.salt_compat.utils.http.ask` has it; null is its default."""

    params: Map | None
    data: AnyValue
    header_dict: Map | None
    header_list: ListOfTexts | None
    username: str | None
    password: str | None
    decode: bool
    decode_type: str | None
    text: bool
    status: bool
    headers: bool
    timeout: Seconds | None
    raise_error: bool | None
    test: bool
    test_url: str | None


def query(context: Context, url: str, method: str = "GET", **options: Unpack[QueryOptions]) -> dict[str, Any]:
    """Ask a server: `body`, and as asked for `text`, `dict` (decoded), `status` and `headers`; or `error`.

    With `test` nothing is asked, or `test_url` instead.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    is_test, test_url = given.pop("test", False), given.pop("test_url", None)
    if is_test and test_url is None:
        return {}
    try:
        answer: dict[str, Any] = http.ask(test_url if is_test else url, method, **given)
        return {**answer, "test": True} if is_test else answer
    except http.HttpFailed as error:
        raise CallFailed(str(error)) from error


def wait_for_successful_query(
    context: Context,
    url: str,
    wait_for: Seconds = 300,
    request_interval: Seconds = 1,
    method: str = "GET",
    **options: Unpack[QueryOptions],
) -> dict[str, Any]:
    """Ask a server again and again, until it answers or the seconds are over."""
    end = time.monotonic() + wait_for
    while True:
        answer = query(context, url, method, **options)
        if "error" not in answer:
            return answer
        if time.monotonic() + request_interval > end:
            raise CallFailed(f"{url} did not answer within {wait_for} seconds: {answer['error']}")
        time.sleep(max(request_interval, 0.01))


FUNCTIONS: Mapping[str, Any] = {"query": query, "wait_for_successful_query": wait_for_successful_query}
