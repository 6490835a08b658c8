"""The execution module `at`: jobs that run once, at a time.

Behaviour: doc/ref/modules/all/salt.modules.at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers import at as queue
from minion.providers.at import JobConditions


def atq(context: Context, tag: str | int | None = None) -> dict[str, Any]:
    """The jobs that wait: all, or those with a tag or of a number."""
    found = queue.jobs(context.machine)
    return {"jobs": [job._asdict() for job in found if tag in (None, "") or str(tag) in (job.tag, str(job.job))]}


def jobcheck(context: Context, **conditions: Unpack[JobConditions]) -> dict[str, Any]:
    """The jobs that fit: `tag`, `runas`, `hour`, `minute`, `day`, `month`, `year`."""
    unknown = sorted(set(conditions) - set(JobConditions.__annotations__))
    if unknown:
        raise CallFailed(f"there is no condition {' or '.join(unknown)}")
    if not conditions:
        return {"error": "You have given a condition"}
    found = queue.fitting(queue.jobs(context.machine), **conditions)
    jobs = [job._asdict() for job in found]
    return {"jobs": jobs} if jobs else {"jobs": [], "note": "No match jobs or time format error"}


def at(context: Context, *args: str, tag: str | None = None, runas: str | None = None) -> dict[str, Any]:
    """Have a command run at a time: the time, then the words of the command."""
    if len(args) < 2:
        return {"jobs": []}
    made = queue.add(context.machine, str(args[0]), " ".join(map(str, args[1:])), tag=tag, user=runas)
    return {"jobs": [made._asdict()]}


def atc(context: Context, jobid: str | int) -> Any:
    """What a job runs, with the environment that it runs in."""
    if not str(jobid).isdigit():
        raise CallFailed(f"invalid job id '{jobid}'")
    return queue.script(context.machine, jobid) or {"error": f"invalid job id '{jobid}'"}


def atrm(context: Context, *args: str) -> dict[str, Any]:
    """Remove jobs: by their numbers; `all`, or all with a tag that stands after that."""
    words = [str(word) for word in args]
    if not words:
        return {"jobs": {"removed": [], "tag": None}}
    found = queue.jobs(context.machine)
    tag = words[1] if words[0] == "all" and len(words) > 1 else None
    chosen = [
        job.job
        for job in found
        if (tag in (None, job.tag, str(job.job)) if words[0] == "all" else str(job.job) in words)
    ]
    if chosen:
        queue.remove(context.machine, chosen)
    return {"jobs": {"removed": [str(number) for number in chosen], "tag": tag}}


FUNCTIONS: Mapping[str, Any] = {"at": at, "atc": atc, "atq": atq, "atrm": atrm, "jobcheck": jobcheck}
