"""The state module `at`: jobs that run once, at a time.

Behaviour: doc/ref/states/all/salt.states.at. A job without `unique_tag` is added on each run, as in Salt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import NumberOrText, Unsupported, Value, WatchedFun
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers import at as queue


def present(
    machine: Reader,
    name: str,
    *,
    timespec: NumberOrText,
    tag: NumberOrText | None = None,
    user: str | None = None,
    job: str | None = None,
    unique_tag: bool = False,
) -> Plan:
    """A job is added for this time. With `unique_tag`, only where there is none with the tag yet."""
    command = job or name
    queue.checked_time(timespec)
    if unique_tag:
        if not tag:
            raise StateFailed("no tag provided and unique_tag is set to True")
        if queue.fitting(queue.jobs(machine), tag=queue.checked_tag(tag)):
            return Plan(comment=f"atleast one job with tag {tag} exists.")
    if user and machine.query(["getent", "passwd", user]).returncode != 0:
        raise StateFailed(f"user {user} does not exists")
    said = f"job {command} added and will run {f'as {user} ' if user else ''}on {timespec}"

    def act(machine: Machine) -> Mapping[str, Value]:
        return queue.add(machine, timespec, command, tag=tag, user=user)._asdict()

    return Plan(
        changes=(Change(key="job", reported=command, predicted_only=True, act=act),),
        pending=f"job {command} added and will run on {timespec}",
        done=said,
        converges=unique_tag,
        each_time=not unique_tag,
    )


def absent(
    machine: Reader,
    name: str,
    *,
    jobid: NumberOrText | None = None,
    tag: NumberOrText | None = None,
    runas: str | None = None,
    hour: NumberOrText | None = None,
    minute: NumberOrText | None = None,
    day: NumberOrText | None = None,
    month: NumberOrText | None = None,
    year: NumberOrText | None = None,
    limit: Annotated[Value, Unsupported("name the jobs by tag, user or time")] = None,
) -> Plan:
    """Jobs are removed: the one with this number, those that fit, or all."""
    found = queue.jobs(machine)
    if jobid:
        numbers = [job.job for job in found if str(job.job) == jobid]
        if not numbers:
            return Plan(comment=f"job with id {jobid} not present")
        done = f"job with id {jobid} was removed"
    else:
        conditions = {"tag": tag, "runas": runas, "hour": hour, "minute": minute, "day": day, "month": month,
                      "year": year}  # fmt: skip
        numbers = [job.job for job in queue.fitting(found, **{k: v for k, v in conditions.items() if v is not None})]
        done = f"removed {len(numbers)} job(s)"
    if not numbers:
        return Plan(comment=done)
    removed = Change(
        key="removed", reported=list(map(str, numbers)), act=lambda machine: queue.remove(machine, numbers)
    )
    return Plan(changes=(removed,), pending=f"removed {len(numbers)} job(s)", done=done)


def watch(machine: Reader, name: str, **arguments: Value) -> Plan:
    """Nothing, until what is watched has changed: a job is added then, as by `present`."""
    return Plan()


def mod_watch(
    machine: Reader,
    name: str,
    *,
    timespec: NumberOrText,
    tag: NumberOrText | None = None,
    user: str | None = None,
    job: str | None = None,
    unique_tag: bool = False,
    sfun: WatchedFun = "",
) -> Plan:
    """The job, where it is `watch` that watches."""
    if sfun != "watch":
        return Plan()
    return present(machine, name, timespec=timespec, tag=tag, user=user, job=job, unique_tag=unique_tag)


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present, "watch": watch}
