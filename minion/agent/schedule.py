"""The minion's schedule: jobs of its configuration, of its pillar, and those that `schedule.*` adds.

Part of the agent, which waits until `due_at` and gives due jobs to its workers as calls. While an agent runs, the
schedule in force is a file of the cache: functions change it, and the agent reads it when it has changed. A second file
says when each job is due. Without an agent the configuration counts (`minion.modules.schedule.module`).
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from minion.machine.durable_files import write_whole
from minion.spool.schedule import DUE_FILE, SCHEDULE_FILE, UNREPORTED
from reactors.schedule import Every
from reactors.scheduled_jobs import KNOWN, REPLACED_BY_SKIP_FUNCTION, SETTINGS, ScheduledJob, jobs_of
from wire.messages import Call

log = logging.getLogger(__name__)

REPORTED = "scheduled-"
"""How ids of these runs begin whose results are for the controller too."""

MOST_WAITING = 200
"""Results that wait for the controller, above which those of jobs are no longer kept for it."""


_NO_WHENS: Mapping[str, Any] = {}


class ScheduleTimer:
    """When jobs are due. Times are seconds since the epoch."""

    def __init__(self, cachedir: Path, minion_id: str, configured: Any) -> None:
        self._file, self._due_file = cachedir / SCHEDULE_FILE, cachedir / DUE_FILE
        self._id = minion_id
        self._own_jobs: Mapping[str, Any] = {}
        self._pillar_jobs: Mapping[str, Any] = {}
        self._whens: Mapping[str, Any] = {}
        self._items: Mapping[str, Any] = {}
        self._jobs: dict[str, Any] = {}
        self._due: dict[str, float] = {}
        self._runs: dict[str, list[str]] = {}
        self._run_requests: dict[str, str] = {}
        self._skipped: Mapping[str, list[float]] = {}
        self._added: Mapping[str, list[float]] = {}
        self._skip_function = ""
        self._last: dict[str, float] = {}
        self._last_skipped: dict[str, tuple[float, str]] = {}
        self._read_version: tuple[int, int] | None = None
        self._write(self._file, {"schedule": configured if isinstance(configured, Mapping) else {}})

    @property
    def due_at(self) -> float:
        """When `take_due` has something; infinity when never."""
        return min(self._due.values(), default=float("inf"))

    def look(self, pillar: Any, now: float, whens: Mapping[str, Any] = _NO_WHENS) -> None:
        """Read the schedule again where the file, the pillar or what `when` may name has changed."""
        pillar = pillar if isinstance(pillar, Mapping) else {}
        try:
            found = self._file.stat()
            seen = (found.st_mtime_ns, found.st_ino)
        except OSError:
            seen = (0, 0)
        if seen == self._read_version and pillar == self._pillar_jobs and whens == self._whens:
            return
        if seen != self._read_version:
            self._read()
        self._read_version, self._pillar_jobs, self._whens = seen, pillar, whens
        self._follow(now)

    def take_due(self, now: float, running: Collection[str], waiting: int) -> list[Call]:
        """The calls that are due. `running`: ids of runs that go on; `waiting`: results that are not yet sent."""
        calls = []
        taken = [(name, due) for name, due in self._due.items() if due <= now]
        for name, due in taken:
            job = self._jobs[name]
            self._plan(name, previous=now, now=now + 1.0)  # a time of day that is now would be due again at once
            fun = job.fun
            why = self._refusal(name, now, due, running)
            if why:
                self._last_skipped[name] = (now, why)
                log.info("event=scheduled_job_skipped job=%s why=%s", name, why)
                if (held := job.held_until(now, why)) is not None:
                    self._due[name] = held
                if not self._skip_function or why not in REPLACED_BY_SKIP_FUNCTION:
                    continue
                fun = self._skip_function
            prefix = REPORTED if job.returned and waiting < MOST_WAITING else UNREPORTED
            run_id = f"{prefix}{self._id}-{int(now * 1000):012x}{secrets.token_hex(5)}"
            self._runs.setdefault(name, []).append(run_id)
            self._last[name] = now
            log.info("event=scheduled_job job=%s fun=%s run_id=%s", name, fun, run_id)
            calls.append(_call(job, run_id, fun, now))
        if taken:
            self._write_due()
        return calls

    def _refusal(self, name: str, now: float, due: float, running: Collection[str]) -> str:
        job = self._jobs[name]
        alive = [one for one in self._runs.get(name, ()) if one in running]
        self._runs[name] = alive
        asked = self._run_requests.get(name, "done ")
        by_hand = not asked.startswith("done ")
        if by_hand:
            self._run_requests[name] = f"done {asked}"
        if len(alive) >= job.at_most:
            return "maxrunning"
        if by_hand:
            return ""
        return "skip_explicit" if job.is_skipped(due, self._skipped.get(name, ())) else job.refusal(now, due=due)

    def _follow(self, now: float) -> None:
        """Plan new and changed jobs; unchanged ones keep their time."""
        items = {**self._pillar_jobs, **self._own_jobs}
        about = {**{key: items.get(key) for key in SETTINGS}, "whens": self._whens}
        same = {name for name, item in items.items() if self._items.get(name) == (item, about)}
        self._items = {name: (item, about) for name, item in items.items()}
        if not items:
            self._jobs, self._due = {}, {}
            self._write_due()
            return
        self._skip_function = str(items.get("skip_function") or "")
        self._jobs, refused = jobs_of(items, self._whens)
        for name, why in refused.items():
            if name not in same:
                log.error("event=scheduled_job_refused job=%s error=%s", name, why)
        for name in self._jobs.keys() - same:
            if unfollowed := sorted(str(key) for key in items[name] if key not in KNOWN):
                log.warning("event=scheduled_job_options_ignored job=%s options=%s", name, ",".join(unfollowed))
        self._due = {name: due for name, due in self._due.items() if name in same and name in self._jobs}
        for name, job in self._jobs.items():
            asked = self._run_requests.get(name, "done")
            if not asked.startswith("done") or (name not in same and job.enabled and job.at_start):
                self._due[name] = now
            elif name not in same:
                self._plan(name, previous=now, now=now)
            self._plan_added(name, now)
        self._write_due()

    def _plan(self, name: str, *, previous: float, now: float) -> None:
        self._due.pop(name, None)
        job = self._jobs[name]
        chance = secrets.randbelow(1 << 20) / (1 << 20)
        due = job.due(previous=previous, now=now, chance=chance) if job.enabled else None
        if due is not None:
            self._due[name] = due
        self._plan_added(name, now)

    def clock_set(self, step: float, now: float) -> None:
        """The clock of the machine was set by so many seconds: what is due after an interval is due as before."""
        for name, job in self._jobs.items():
            if name in self._due and isinstance(job.times, Every):
                self._due[name] += step
                self._plan_added(name, now)
            elif name in self._due:
                self._plan(name, previous=now, now=now)
        self._write_due()

    def _plan_added(self, name: str, now: float) -> None:
        """A job that was postponed is due when it was postponed to, where that is first."""
        found = [at for at in self._added.get(name, ()) if at >= now] if self._jobs[name].enabled else []
        if found:
            self._due[name] = min(*found, self._due.get(name, float("inf")))

    def _read(self) -> None:
        try:
            kept = msgspec.json.decode(self._file.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            kept = {}
        except (OSError, msgspec.MsgspecError) as error:
            log.error("event=schedule_not_read error=%s", error)
            return
        own, asked, skipped, added = (kept.get(key) for key in ("schedule", "asked", "skipped", "added"))
        self._own_jobs = own if isinstance(own, dict) else {}
        self._skipped = skipped if isinstance(skipped, dict) else {}
        self._added = added if isinstance(added, dict) else {}
        for name, word in asked.items() if isinstance(asked, dict) else ():
            if self._run_requests.get(name) not in (word, f"done {word}"):
                self._run_requests[name] = str(word)

    def _write_due(self) -> None:
        gone = [name for name in {**self._last, **self._last_skipped} if name not in self._jobs]
        for name in gone:
            self._last.pop(name, None)
            self._last_skipped.pop(name, None)
        self._write(self._due_file, {"due": self._due, "last": self._last, "skipped": self._last_skipped})

    def _write(self, path: Path, value: Any) -> None:
        """Replace a file at once; not fsynced, since a start writes it anew."""
        try:
            write_whole(path, msgspec.json.encode(value, enc_hook=str))
        except (OSError, TypeError) as error:
            log.error("event=schedule_not_stored path=%s error=%s", path, error)


def _call(job: ScheduledJob, run_id: str, fun: str, now: float) -> Call:
    """The call of a job. `metadata` has Salt's times in it (`handle_func` of salt/utils/schedule.py)."""
    metadata: dict[str, Any] = {}
    if job.metadata:
        about = {"_TOS": time.strftime("%z", time.localtime(now)), "_TS": time.ctime(now)}
        metadata = {**job.metadata, **about, "_TT": time.strftime("%Y %B %d %a %H %m", time.gmtime(now))}
    return Call(
        run_id=run_id,
        fun=fun,
        args=job.args,
        kwargs=dict(job.kwargs),
        schedule=job.name,
        metadata=metadata,
        returners=job.returners,
        return_config=job.return_config,
        return_kwargs=dict(job.return_kwargs),
    )
