"""What a stock minion has for others: kept here, since it sends values that have changed, and the controller wants all.

Source: `_mine`, `_mine_get`, `_mine_delete` and `_mine_flush` of `RemoteFuncs` in `salt/daemons/masterapi.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gateway.minions.questions import NoAnswer, OpenQuestions
from highstate.ports import question
from minion.machine.durable_files import write_durably
from wire.messages import GetMine, Mine, MineEntry, MineFound

_ACL = "__saltmine_acl__"
MOST_ENTRIES = 1000


class MinionMine:
    """The mine of one minion.

    Args:
        path: where it is kept.
        questions: to the controller.
        tell: says it to the controller.
    """

    def __init__(self, path: Path, questions: OpenQuestions, tell: Callable[[Mine], object]) -> None:
        self._path = path
        self._questions = questions
        self._tell = tell
        self._entries: dict[str, MineEntry] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):  # the minion sends all of it on its interval
            self._entries = msgspec.msgpack.decode(path.read_bytes(), type=dict[str, MineEntry])

    def tell(self) -> None:
        """Say all of it."""
        if self._entries:
            self._tell(Mine(entries=dict(self._entries)))

    def put(self, load: Mapping[str, Any]) -> bool:
        """`_mine`."""
        data = load.get("data")
        if not isinstance(data, dict):
            return False
        entries = {} if load.get("clear") else dict(self._entries)
        entries.update({str(name)[:256]: _entry(value) for name, value in data.items()})
        if len(entries) > MOST_ENTRIES:
            return False
        self._keep(entries)
        return True

    def delete(self, load: Mapping[str, Any]) -> bool:
        """`_mine_delete`."""
        self._keep({name: entry for name, entry in self._entries.items() if name != load.get("fun")})
        return True

    def flush(self) -> bool:
        """`_mine_flush`."""
        self._keep({})
        return True

    async def get(self, load: Mapping[str, Any]) -> Mapping[str, Any]:
        """`_mine_get`: what others have, as far as they let this minion have it."""
        kind = load.get("tgt_type") or load.get("expr_form") or "glob"
        asked = question([load.get("tgt"), load.get("fun")], {"tgt_type": kind})
        try:
            found: MineFound = await self._questions.ask(lambda number: GetMine(request=number, asked=asked))
        except NoAnswer:
            return {}
        return found.answer.value if isinstance(found.answer.value, dict) else {}

    def _keep(self, entries: dict[str, MineEntry]) -> None:
        self._entries = entries
        write_durably(self._path, msgspec.msgpack.encode(entries))
        self._tell(Mine(entries=dict(entries)))


def _entry(value: Any) -> MineEntry:
    """An entry, with who may have it where the minion says so."""
    if not isinstance(value, dict) or _ACL not in value:
        return MineEntry(value=value)
    allow, kind = value.get("allow_tgt") or (), value.get("allow_tgt_type") or "glob"
    return MineEntry(
        value=value.get("__data__"),
        allow=tuple(map(str, allow)) if isinstance(allow, list) else str(allow),
        allow_type=str(kind),
    )
