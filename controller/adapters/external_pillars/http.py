"""`http_yaml`, `http_json`: what a web server answers as pillar.

Arguments are Salt's: `url` (with `%s` for the minion's id and `<grain>` for grains), `username`, `password`,
`with_grains`, `header_dict`. Certificates are checked; answers are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

from highstate.ports import SourceFailed
from highstate.traverse import traverse
from highstate.types import Minion, Value

MAX_ANSWER = 16 * 1024 * 1024
"""Bytes that are read of an answer."""


class HttpSource:
    """Answers that `parse` reads.

    Args:
        parse: text -> data; ValueError when it is no data.
        timeout: seconds for one request.
    """

    def __init__(self, parse: Callable[[str], Value], timeout: float = 15.0) -> None:
        self._parse = parse
        self._timeout = timeout

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """See `PillarSource`."""
        options = arguments if isinstance(arguments, Mapping) else {"url": arguments}
        if not isinstance(options.get("url"), str):
            raise SourceFailed("it takes a url")
        url = _address(options["url"], minion)
        wanted = options.get("with_grains") or []
        query = {str(name): _text(minion.grains.get(name)) for name in (wanted if isinstance(wanted, list) else [])}
        auth = (str(options["username"]), str(options.get("password", ""))) if options.get("username") else None
        headers = {str(name): str(value) for name, value in (options.get("header_dict") or {}).items()}
        try:
            data = self._parse(self._get(url, query, auth, headers))
        except ValueError as error:
            raise SourceFailed(f"the answer cannot be read: {error}") from error
        if data is None:
            return {}
        if not isinstance(data, Mapping):
            raise SourceFailed(f"the answer is a {type(data).__name__}, not a mapping")
        return data

    def _get(self, url: str, query: Mapping[str, str], auth: tuple[str, str] | None, headers: Mapping[str, str]) -> str:
        import httpx  # 12 MiB in each compile process, and few trees have such a pillar

        parts: list[bytes] = []
        try:
            with httpx.stream(
                "GET", url, params=query or None, auth=auth, headers=dict(headers), timeout=self._timeout
            ) as answer:
                if answer.status_code != httpx.codes.OK:
                    raise SourceFailed(f"the server answers {answer.status_code}")
                for part in answer.iter_bytes():
                    parts.append(part)
                    if sum(map(len, parts)) > MAX_ANSWER:
                        raise SourceFailed(f"the answer has more than {MAX_ANSWER} bytes")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SourceFailed(f"the server cannot be asked: {error}") from error
        return b"".join(parts).decode()


def _address(url: str, minion: Minion) -> str:
    """The address with the minion's values, each quoted as one part of a path."""

    def grain(found: re.Match[str]) -> str:
        value = traverse(minion.grains, found[1], None)
        if value is None:
            raise SourceFailed(f"the minion has no grain {found[1]!r}, which the url asks for")
        return quote(_text(value), safe="")

    return re.sub("<(.*?)>", grain, url.replace("%s", quote(minion.id, safe="")))


def _text(value: Value) -> str:
    return value if isinstance(value, str) else str(value)
