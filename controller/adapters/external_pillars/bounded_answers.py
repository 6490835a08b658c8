"""One question to a cloud's API over httpx, whose answer has an end: in bytes, and in seconds.

Used by the pillars of Google Cloud and Azure, and for tokens of the former. Packed answers are not unpacked: no JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.adapters.external_pillars.named_secrets import MAX_SECRET, TIMEOUT
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
