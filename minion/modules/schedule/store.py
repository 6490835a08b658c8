"""Where the schedule of the minion is kept, for the functions of the execution module `schedule`.

While an agent runs, its file in the cache is the schedule in force (`minion.agent.schedule`), and what shall outlive
the agent is also in `minion.d/_schedule.conf` beside the configuration (Salt's file). Without an agent there is only
the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.execution.json_store import keep, read_kept
from minion.spool.schedule import DUE_FILE, SCHEDULE_FILE


def saved(context: Context) -> dict[str, Any]:
    """What `_schedule.conf` says."""
    place = _place(context)
    if not place.is_file():
        return {}
    import yaml

    try:
        read = yaml.safe_load(place.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise CallFailed(f"{place} cannot be read: {' '.join(str(error).split())}") from error
    found = read.get("schedule") if isinstance(read, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def own(context: Context, *, offline: bool = False) -> dict[str, Any]:
    """The schedule, without what the pillar has. `offline`: the saved one alone."""
    if offline:
        return saved(context)
    if agent_runs(context):
        found = read_kept(context, SCHEDULE_FILE).get("schedule")
        return dict(found) if isinstance(found, Mapping) else {}
    if _place(context).is_file():
        return saved(context)  # its writer had the configured jobs in it
    return dict(context.options.schedule.jobs)


def of_pillar(context: Context) -> dict[str, Any]:
    """What the pillar has."""
    found = context.pillar.get("schedule")
    return dict(found) if isinstance(found, Mapping) else {}


def change(context: Context, schedule: Mapping[str, Any], *, persist: bool = True, offline: bool = False) -> None:
    """Have this be the schedule, from now on and, with `persist`, after a start of the agent too."""
    if not offline and agent_runs(context):
        with locked(context) as kept:
            kept["schedule"] = dict(schedule)
    elif not persist:
        raise CallFailed("no agent runs here: persist=False would change nothing")
    if persist:
        save(context, schedule)


def save(context: Context, schedule: Mapping[str, Any]) -> None:
    """Write `_schedule.conf`."""
    import yaml

    place = _place(context)
    context.machine.mkdir(str(place.parent), parents=True)
    text = yaml.safe_dump({"schedule": dict(schedule)}, default_flow_style=False, allow_unicode=True)
    context.machine.write(str(place), text.encode())


@contextmanager
def locked(context: Context) -> Iterator[dict[str, Any]]:
    """What the agent reads, to be changed by nobody else meanwhile; kept at the end."""
    import fcntl

    with Path(context.cachedir, f"{SCHEDULE_FILE}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = read_kept(context, SCHEDULE_FILE)
        yield kept
        keep(context, SCHEDULE_FILE, kept)


def job_times(context: Context) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """When jobs are due, when they ran, when and why they were skipped last, as the agent says; nothing without one."""
    kept = read_kept(context, DUE_FILE) if agent_runs(context) else {}
    due, last, skipped = (kept.get(key) for key in ("due", "last", "skipped"))
    return due or {}, last or {}, skipped or {}


def agent_runs(context: Context) -> bool:
    """Whether there is an agent that follows the schedule."""
    if not context.cachedir:
        return False
    from minion.machine.file_locks import lock_holder

    return lock_holder(Path(context.cachedir, "agent.lock")) is not None


def as_data(value: Any) -> Any:
    """The value as JSON has it, so that what is compared is what will be read."""
    return json.loads(json.dumps(value, default=str))


def _place(context: Context) -> Path:
    if not context.config_dir:
        raise CallFailed("this minion has no configuration directory to keep a schedule in")
    return Path(context.config_dir, "minion.d", "_schedule.conf")
