"""Answers of a cloud's API that have an end: in bytes, and in seconds.

One question over httpx, for the pillars of Google Cloud and Azure, and for tokens of the former. Packed answers are not
unpacked: no JSON. And botocore's clients, for those of AWS: botocore bounds the seconds without a byte alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.adapters.external_pillars.named_secrets import MAX_SECRET, TIMEOUT
from extmods.timed_answers import TimedResponse
from highstate.ports import SourceFailed

MOST_BYTES = 2 * MAX_SECRET
"""Of an answer: base64 and the names around it make a secret longer."""
ANSWER_SECONDS = 30.0
"""From the question to the last byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudAnswer:
    """What came."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    def part(self, *keys: str) -> Any:
        """What its JSON has there. SourceFailed."""
        try:
            found = json.loads(self.data)
            for key in keys:
                found = found[key]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise SourceFailed(f"the answer has no {'.'.join(keys)}: {type(error).__name__}") from error
        return found


def asked(method: str, url: str, *, headers: Mapping[str, str], **given: Any) -> CloudAnswer:
    """An answer of any status.

    Args:
        method: `GET`, ….
        url: whole.
        headers: of the question.
        given: of `httpx.stream`: `params`, `content`, `verify`.

    Raises:
        httpx.HTTPError: there is none, or it does not end in time.
        SourceFailed: it has too many bytes.
    """
    import httpx

    end, parts, size = time.monotonic() + ANSWER_SECONDS, [], 0
    plain = {**headers, "Accept-Encoding": "identity"}
    with httpx.stream(method, url, headers=plain, timeout=TIMEOUT, **given) as answer:
        for part in answer.iter_raw():
            size += len(part)
            if size > MOST_BYTES:
                raise SourceFailed(f"the answer has more than {MOST_BYTES} bytes")
            if time.monotonic() > end:
                raise httpx.ReadTimeout("the answer does not end in time")
            parts.append(part)
    return CloudAnswer(status=answer.status_code, headers=answer.headers, data=b"".join(parts))


def bound_botocore(client: Any, attempts: int) -> None:
    """Have each answer to a client of botocore end. One that does not fails its question.

    `ReadTimeoutError`, a BotoCoreError, is what comes of one that is not there in time; `HTTPClientError`, another one,
    whose `error` is `TooManyBytes`, of one with too many bytes. Answers are not unpacked: botocore asks urllib3 for
    the bytes as they come. Those of the credentials' own sources (the machine's metadata) are read by other clients.

    Args:
        client: of a service, with its connections as botocore makes them.
        attempts: for which `ANSWER_SECONDS` are, all together.
    """
    from botocore.awsrequest import AWSHTTPConnection, AWSHTTPConnectionPool, AWSHTTPSConnection, AWSHTTPSConnectionPool

    class Bounded(TimedResponse):
        def __init__(self, *args: Any, **given: Any) -> None:
            super().__init__(ANSWER_SECONDS / attempts, *args, most=MOST_BYTES, **given)

    def connections(of: Any) -> Any:
        return type(f"Bounded{of.__name__}", (of,), {"response_class": Bounded})

    def pools(of: Any, connection: Any) -> Any:
        return type(f"Bounded{of.__name__}", (of,), {"ConnectionCls": connections(connection)})

    by_scheme = {
        "http": pools(AWSHTTPConnectionPool, AWSHTTPConnection),
        "https": pools(AWSHTTPSConnectionPool, AWSHTTPSConnection),
    }
    # There is no option for it. What the attributes are called is asserted by the tests of hostile answers.
    session = client._endpoint.http_session
    session._manager.pool_classes_by_scheme = session._pool_classes_by_scheme = by_scheme
