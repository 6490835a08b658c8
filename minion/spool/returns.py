"""What functions returned and returners of this minion have to get: on disk before its run counts as finished.

Filled by workers, and by the agent where no worker made the result; delivered by children of the agent
(`minion.agent.returners`). `sqlite3` is imported where it is used: an idle agent has no need of it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minion.config.groups import ReturnOptions
from wire.messages import Call, RunResult

if TYPE_CHECKING:
    from minion.returners.spool import Spool

log = logging.getLogger(__name__)

MOST_ENTRIES = 10_000
MOST_BYTES = 64 * 1024 * 1024
"""Of what waits on a minion. When it is full, the oldest entries of the longest queue go, and are counted."""


def spool_file(cachedir: Path) -> Path:
    """Where it is; the file is made when something waits for the first time."""
    return cachedir / "returners" / "spool.sqlite"


def open_spool(cachedir: Path) -> Spool:
    """The spool of this minion. Raises OSError."""
    from minion.returners.spool import Spool, SpoolBounds

    return Spool(spool_file(cachedir), SpoolBounds(entries=MOST_ENTRIES, size=MOST_BYTES))


def returners_of(request: object, options: ReturnOptions) -> tuple[str, ...]:
    """Who gets what a call returns: those that it names, then those of the configuration."""
    if not isinstance(request, Call):
        return ()
    scheduled = options.of_schedule if request.schedule else ()
    return tuple(dict.fromkeys((*request.returners, *scheduled, *options.names)))


def keep_return(cachedir: Path, minion: str, options: ReturnOptions, call: Call, result: RunResult, code: int) -> bool:
    """Have a return wait for the returners of its call; it is on disk when this returns.

    Args:
        cachedir: of the minion.
        minion: its id.
        options: what its configuration says of returners.
        call: which was called.
        result: what came of it.
        code: its retcode.

    Returns:
        Whether it waits. When it cannot be written the log says so; the controller gets the result in any case.
    """
    from minion.returners.spool import Waiting

    names = returners_of(call, options)
    body = returned(minion, call, result, code)
    entries = [Waiting(returner=name, kind="return", name=call.run_id, body=body) for name in names]
    try:
        open_spool(cachedir).put(entries)
    except (OSError, TypeError, ValueError, RecursionError) as error:
        log.error("event=not_returned run_id=%s returners=%s error=%s", call.run_id, ",".join(names), error)
        return False
    return True


def returned(minion: str, call: Call, result: RunResult, code: int) -> dict[str, Any]:
    """What returners are given, under Salt's keys.

    Source: `_thread_return` of salt/minion.py, `handle_func` of salt/utils/schedule.py.
    """
    success = result.outcome in ("ok", "changed", "pending")
    failed = result.error if result.value is None and not success else None
    about: Mapping[str, Any] = {
        "schedule": call.schedule,
        "metadata": call.metadata,
        "ret": ",".join(call.returners),
        "ret_config": call.return_config,
        "ret_kwargs": call.return_kwargs,
    }
    return {
        "id": minion,
        "jid": call.run_id,
        "fun": call.fun,
        "fun_args": [*call.args, *([call.kwargs] if call.kwargs else [])],
        "return": failed or result.value,
        "retcode": code,
        "success": success,
        **{key: value for key, value in about.items() if value},
    }
