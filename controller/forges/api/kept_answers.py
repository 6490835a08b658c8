"""Answers that are asked for again with `If-None-Match`: an unchanged one costs no transfer, and no rate limit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from controller.forges.api.answers import Answer


@dataclass(frozen=True, slots=True)
class _Kept:
    etag: str
    answer: Answer


class KeptAnswers:
    """The answers that had an ETag, by address; of more bytes than `limit` the longest unused go."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0

    def condition(self, url: str) -> dict[str, str]:
        """The header that asks whether the kept answer still holds; empty when there is none."""
        kept = self._kept.get(url)
        return {} if kept is None else {"if-none-match": kept.etag}

    def settled(self, url: str, answer: Answer) -> Answer:
        """The kept answer where it still holds (304), else this one, kept from now on when it has an ETag."""
        kept = self._kept.get(url)
        if kept is not None and answer.status == 304:
            self._kept.move_to_end(url)
            return kept.answer
        if answer.status == 200 and (etag := answer.headers.get("etag")):
            self._keep(url, _Kept(etag, answer))
        return answer

    def _keep(self, url: str, kept: _Kept) -> None:
        old = self._kept.pop(url, None)
        self._bytes += len(kept.answer.body) - (len(old.answer.body) if old else 0)
        self._kept[url] = kept
        while self._bytes > self._limit:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped.answer.body)
