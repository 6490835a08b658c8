"""Jobs that at(1) keeps: how they are listed, made and removed.

Where this process may read at's spool, jobs are listed from there, as atq and `at -c` do, and no program is run for it:
their files are named by queue, number and minute, belong to their users, and hold what runs (at(1), atd(8); at 3.1 and
3.2). Elsewhere the programs are asked.

Called by the states and the execution module `at`. A tag is a comment in the job, in Salt's form, so that jobs that
Salt has made are found by theirs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypedDict, Unpack

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_TAG = re.compile(r"^### SALT: (\S+)$", re.MULTILINE)
_ROW = re.compile(r"(?P<job>\d+)\t(?P<when>\w+ +\w+ +\d+ [\d:]+ \d+) (?P<queue>\S) (?P<user>\S+)")
_MADE = re.compile(r"^job (\d+) at ", re.MULTILINE)
_BEGINNING = re.compile(r"^#!/bin/sh\n# atrun uid=", re.MULTILINE)
"""Of what `at -c` shows of a job."""
_SPOOLS = ("/var/spool/cron/atjobs", "/var/spool/at", "/var/spool/atjobs", "/var/spool/atd")
"""Of Debian, Red Hat, SUSE and Arch."""
_FILE = re.compile(r"(?P<queue>[A-Za-z=])(?P<job>[0-9a-f]{5})(?P<minutes>[0-9a-f]{8})")
"""Of a job in the spool: hexadecimal, the time in minutes of the epoch. `=`: it runs now."""
_EXECUTABLE = 0o100
"""A file without it is not whole yet."""
_MISSING = 127
_PLAIN = {"LC_ALL": "C"}


class AtJob(NamedTuple):
    """A job, as the list has it."""

    job: int
    date: str
    time: str
    queue: str
    user: str
    tag: str


class JobConditions(TypedDict, total=False):
    """What a job has to fit; numbers may be texts."""

    tag: str
    runas: str
    hour: str
    minute: str
    day: str
    month: str
    year: str


def jobs(machine: Reader) -> list[AtJob]:
    """All jobs of all users, in the order of their numbers; StateFailed where at is not there."""
    kept = _in_spool(machine)
    if kept is not None:
        return kept
    listed = _said(machine.query(["atq"], env=_PLAIN))
    found = [match for match in map(_ROW.fullmatch, listed.splitlines()) if match]
    found.sort(key=lambda match: int(match["job"]))
    return [_job(row, script) for row, script in zip(found, _scripts(machine, found), strict=True)]


def _in_spool(machine: Reader) -> list[AtJob] | None:
    """The jobs by their files; None where those cannot be read, or there is no at."""
    if shutil.which("atq") is None:
        return None
    try:
        folder = next((each for each in _SPOOLS if machine.stat(each) is not None), None)
        return None if folder is None else sorted(_kept(machine, folder))
    except PermissionError:
        return None


def _kept(machine: Reader, folder: str) -> Iterator[AtJob]:
    for name in machine.listdir(folder):
        found = _FILE.fullmatch(name)
        path = f"{folder}/{name}"
        stat = machine.stat(path) if found else None
        if found is None or stat is None or stat.kind != "file" or not stat.found.st_mode & _EXECUTABLE:
            continue
        try:
            script = machine.read(path).decode(errors="replace")
        except FileNotFoundError:
            continue  # it has run meanwhile
        when = datetime.fromtimestamp(60 * int(found["minutes"], 16))  # as atq tells it
        yield _of(int(found["job"], 16), when, found["queue"], stat.user, script)


def _scripts(machine: Reader, rows: Sequence[re.Match[str]]) -> list[str]:
    """What each job runs: shown at once, or one by one where a job holds what another would begin with."""
    if not rows:
        return []
    together = _shown(machine, *(row["job"] for row in rows))
    parts = _BEGINNING.split(together)[1:]
    return parts if len(parts) == len(rows) else [_shown(machine, row["job"]) for row in rows]


def _shown(machine: Reader, *numbers: str) -> str:
    return machine.query(["at", "-c", *numbers], env=_PLAIN).stdout


def _job(row: re.Match[str], script: str) -> AtJob:
    when = datetime.strptime(row["when"], "%a %b %d %H:%M:%S %Y")
    return _of(int(row["job"]), when, row["queue"], row["user"], script)


def _of(number: int, when: datetime, queue: str, user: str, script: str) -> AtJob:
    tag = _TAG.search(script)
    date, _, time = when.isoformat().partition("T")
    return AtJob(number, date, time, queue, user, tag[1] if tag else "")


def fitting(found: Sequence[AtJob], **conditions: Unpack[JobConditions]) -> list[AtJob]:
    """The jobs that fit all conditions; one that is empty fits each."""
    wanted = {key: str(value) for key, value in conditions.items() if value not in (None, "")}
    if len(wanted.get("year", "")) == len("26"):
        wanted["year"] = f"20{wanted['year']}"
    return [job for job in found if all(_fields(job)[key] == _padded(key, value) for key, value in wanted.items())]


def _fields(job: AtJob) -> Mapping[str, str]:
    year, month, day = job.date.split("-")
    hour, minute, _ = job.time.split(":")
    return {"tag": job.tag, "runas": job.user, "hour": hour, "minute": minute, "day": day, "month": month, "year": year}


def _padded(key: str, value: str) -> str:
    return value.zfill(2) if key not in ("tag", "runas", "year") else value


def add(machine: Machine, timespec: str, command: str, *, tag: str | None, user: str | None) -> AtJob:
    """Make a job; how it is listed. StateFailed for a time that at does not understand, or that it refuses."""
    text = f"### SALT: {checked_tag(tag)}\n{command}" if tag else command
    machine.begin_elsewhere()
    done = machine.run(["at", checked_time(timespec)], stdin=f"{text}\n", runas=user, env=_PLAIN)
    if "Garbled time" in done.stderr:
        raise StateFailed("invalid timespec")
    _said(done)
    made = _MADE.search(done.stderr)
    if made is None:
        raise StateFailed(f"at made no job: {done.stderr.strip()}")
    return next(job for job in jobs(machine) if job.job == int(made[1]))


def remove(machine: Machine, numbers: Sequence[int]) -> None:
    """Remove jobs."""
    machine.begin_elsewhere()
    _said(machine.run(["atrm", *map(str, numbers)], env=_PLAIN))


def script(machine: Reader, number: int | str) -> str:
    """What a job runs, with its environment; empty where there is no such job."""
    done = machine.query(["at", "-c", str(int(number))], env=_PLAIN)
    return done.stdout if done.returncode == 0 else ""


def checked_tag(tag: str) -> str:
    """The tag, where it can be found again."""
    if not re.fullmatch(r"\S+", tag):
        raise StateFailed(f"a tag is one word, not {tag!r}")
    return tag


def checked_time(timespec: str) -> str:
    """The time, where at does not take it for an option."""
    if not timespec.strip() or timespec.startswith("-"):
        raise StateFailed("invalid timespec")
    return timespec


def _said(done: Completed) -> str:
    if done.returncode == _MISSING:
        raise StateFailed("at is not there: install the package at")
    if done.returncode != 0:
        raise StateFailed(f"at failed: {done.stderr.strip() or done.returncode}")
    return done.stdout
