"""What the check after a push would find, foretold in a preview. Called by `minion.worker.executor`.

The whole document is planned on the machine as the foretold run leaves it. A state whose content a preview does not
read may be as it is live, and not of this run: then it is planned as a drift check of the live document plans it, and
that it differs is told, and nothing of what it holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from highstate.desired import Desired
from highstate.run.ports import Executor
from highstate.types import Chunk, StateResult, Value
from minion.worker.preview_sandbox import UNREAD

DIFFERS = "It differs on the machine from what the live state makes"


class LiveWhereUnread:
    """What is said of states that a preview does not read: what the live ones are; see `StateEngine.checking`.

    Args:
        live: plans on the machine as it is.
        desired: the document of the preview.
        held: the document that the minion holds.
        ran: keys of the foretold run.
    """

    def __init__(self, live: Executor, desired: Desired, held: Desired, ran: Collection[str]) -> None:
        self._live = live
        self._same = {
            chunk.tag: other
            for key, chunk in desired.chunks.items()
            if key not in ran and (other := held.chunks.get(key)) is not None and _same(chunk, other)
        }

    def __call__(
        self, chunk: Chunk, arguments: Mapping[str, Value], watched: bool, predicted: StateResult
    ) -> StateResult:
        """What the check would find."""
        if chunk.tag not in self._same or not _is_unread(predicted):
            return predicted
        now = self._live.plan(self._same[chunk.tag], arguments, watched=watched)
        if now is None or now.predicted.result is False:
            return predicted
        if now.predicted.result is True:
            return StateResult(name=chunk.name, result=True)
        return StateResult(name=chunk.name, result=None, comment=DIFFERS, changes={"content": "is put right"})


def _same(chunk: Chunk, live: Chunk) -> bool:
    return (chunk.state, chunk.fun, chunk.name, chunk.arguments) == (
        live.state,
        live.fun,
        live.name,
        live.arguments,
    )


def _is_unread(result: StateResult) -> bool:
    return result.result is None and any(UNREAD in text for text in (result.comment, *_texts(result.changes)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, str):
        yield value
