"""The option `schedule` of a controller and of `saltern.yaml`: runners, and with `target` functions on minions.

A job is one of Salt's `schedule` (`reactors.scheduled_jobs`), with what only the controller knows: `target` and
`tgt_type`, and `missed`, whether a run is made up for that fell into a time without a controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from options.document import Fault, Option
from options.near_names import did_you_mean
from reactors.schedule import Every
from reactors.scheduled_jobs import KNOWN, SETTINGS, ScheduledJob, job_of

MOST_JOBS = 1000
_OWN = ("target", "tgt_type", "missed")
_KNOWN = KNOWN.union(_OWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerJob:
    """One job of the controller."""

    job: ScheduledJob
    target: str = ""
    """Minions that call the function; empty: it is a runner."""
    tgt_type: str = "glob"
    missed: bool = False
    """Whether a run that was missed is made up for once, at the start."""
    each_start: bool = False
    """`run_on_start` was written: it runs at each start of the controller, and not at its first alone."""
    place: str = ""

    @property
    def is_interval(self) -> bool:
        """Whether it comes again after a time, and not at times of the clock."""
        return isinstance(self.job.times, Every)


class ControllerJobs:
    """All of them, by name. No dataclass: msgspec, which reads the policy around it, knows no unions of these."""

    def __init__(self, jobs: Mapping[str, ControllerJob] | None = None) -> None:
        self.jobs: Mapping[str, ControllerJob] = jobs or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ControllerJobs) and self.jobs == other.jobs

    __hash__ = None  # type: ignore[assignment]


def read_controller_jobs(option: Option | None, faults: list[Fault]) -> ControllerJobs:
    """The jobs that an option holds; what is wrong with it is appended to the faults."""
    if option is None or option.value in (None, {}):
        return ControllerJobs()
    given = option.value
    if not isinstance(given, Mapping) or len(given) > MOST_JOBS:
        faults.append(Fault(option.place, f"schedule must be a mapping of at most {MOST_JOBS} names to jobs"))
        return ControllerJobs()
    found: dict[str, ControllerJob] = {}
    for name, item in given.items():
        if name == "skip_function":
            said = "schedule: skip_function is of minions: the controller runs nothing in place of what it skips"
            faults.append(Fault(option.at((name,)), said, "remove it"))
        if name in SETTINGS:
            continue
        place = option.at((str(name),))
        unknown = [key for key in item if key not in _KNOWN] if isinstance(item, Mapping) else []
        for key in unknown:
            hint = did_you_mean(str(key), tuple(_KNOWN)) or "see docs/schedules.md"
            faults.append(Fault(option.at((str(name), str(key))), f"schedule: {name} has no option {key!r}", hint))
        if isinstance(item, Mapping) and item.get("return_job", True) is not True:
            said = f"schedule: {name}: return_job is of minions: what the controller begins stands in its history"
            faults.append(Fault(option.at((str(name), "return_job")), said, "remove it"))
        try:
            found[str(name)] = _job(str(name), item, given, place)
        except (ValueError, TypeError) as error:
            faults.append(Fault(place, f"schedule: {name}: {error}", "see docs/schedules.md"))
    return ControllerJobs(found)


def _job(name: str, item: Any, schedule: Mapping[str, Any], place: str) -> ControllerJob:
    job = job_of(name, item, schedule)
    target = item.get("target", "")
    listed = ",".join(map(str, target)) if isinstance(target, list | tuple) else str(target)
    return ControllerJob(
        job=job,
        target=listed,
        tgt_type=str(item.get("tgt_type") or ("list" if isinstance(target, list | tuple) else "glob")),
        missed=item.get("missed") is True,
        each_start=item.get("run_on_start") is True,
        place=place,
    )
