"""Jobs of schedules while a tree is linted: those that cannot be followed, functions that there are not, and targets
that reach nobody. Called by `linting`, for pillar, and by `reactor_lint`, for the controller's own jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from highstate.lint import CallableNames, KnownMinions, ScheduleFault
from highstate.types import Value
from reactors.controller_jobs import ControllerJob
from reactors.schedule import BadSchedule
from reactors.scheduled_jobs import KNOWN, SETTINGS, job_of


@dataclass(frozen=True, slots=True)
class ScheduleLint:
    """Looks at the `schedule` of a pillar."""

    functions: CallableNames

    def __call__(self, given: Value) -> Iterator[ScheduleFault]:
        """What is wrong with jobs, each with the keys that lead to it."""
        if not isinstance(given, Mapping):
            yield ScheduleFault((), "schedule", "schedule is a mapping of names to jobs", "")
            return
        for name, item in given.items():
            if name in SETTINGS:
                continue
            inside = (str(name),)
            try:
                job = job_of(str(name), _without_whens(item), given)
            except (BadSchedule, TypeError, ValueError) as error:
                yield ScheduleFault(inside, "schedule", f"the job {name!r} cannot be followed: {error}", "")
                continue
            for key in [key for key in item if key not in KNOWN]:
                yield ScheduleFault((*inside, str(key)), "no-effect", f"the job {name!r} has no option {key!r}", "")
            if wrong := self.functions.why_not("execution", job.fun):
                yield ScheduleFault((*inside, "function"), "unknown-function", wrong.message, wrong.hint)


def _without_whens(item: Value) -> Value:
    """The same job; what `when` says may be a name of `whens`, which only the minion knows."""
    if isinstance(item, Mapping) and "when" in item:
        return {**{key: value for key, value in item.items() if key != "when"}, "when": "12:00"}
    return item


class JobFault(NamedTuple):
    """What is wrong with a job of the controller."""

    rule: str
    place: str
    message: str
    hint: str


def wrong_jobs(
    jobs: Mapping[str, ControllerJob], functions: CallableNames, minions: KnownMinions
) -> Iterator[JobFault]:
    """What is wrong with jobs of the controller's own schedule."""
    for name, entry in jobs.items():
        if wrong := functions.why_not("execution" if entry.target else "runner", entry.job.fun):
            yield JobFault("unknown-function", entry.place, f"schedule: {name}: {wrong.message}", wrong.hint)
        why, hint = minions.why_nobody(entry.target, entry.tgt_type) if entry.target else ("", "")
        if why:
            yield JobFault("nobody", entry.place, f"schedule: {name} reaches nobody: {why}", hint)
