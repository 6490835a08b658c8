"""The execution module `schedule`: jobs that the minion does by itself, as Salt's `schedule` has them.

The agent follows them (`minion.agent.schedule`). What cannot be followed is refused when it is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from minion.execution.context import Context
from minion.modules.schedule.item import build_schedule_item
from minion.modules.schedule.store import agent_runs, as_data, change, job_times, locked, of_pillar, own, save, saved
from reactors.scheduled_jobs import KNOWN, SETTINGS, TIME_FORM


class ScheduleChange(NamedTuple):
    """Arguments of the functions that change the schedule."""

    test: bool = False
    """Say what would change."""
    persist: bool = True
    """Change what the agent reads at its start, too."""
    offline: bool = False
    """Change that alone."""


_DAY = 86_400.0
_NO_AGENT = "no agent runs here that could do it"


def list_(
    context: Context, show_all: bool = False, show_disabled: bool = True, where: str | None = None,
    return_yaml: bool = True, offline: bool = False,
) -> Any:  # fmt: skip
    """The jobs, as YAML; `where`: opts or pillar alone. Jobs whose name begins with `__` are listed with `show_all`."""
    found: dict[str, Any] = {}
    for name, item in _all(context, where, offline).items():
        if name in SETTINGS or not isinstance(item, Mapping):
            found[name] = item
            continue
        shown = {"enabled": True, **{key: one for key, one in item.items() if key in KNOWN and one is not None}}
        if (show_all or not name.startswith("__")) and (show_disabled or shown["enabled"]):
            found[name] = shown
    if not return_yaml:
        return found
    import yaml

    kept = saved(context)
    marked = {name: {**one, "saved": name in kept} if isinstance(one, dict) else one for name, one in found.items()}
    return yaml.safe_dump({"schedule": marked}, default_flow_style=False)


def is_enabled(context: Context, name: str | None = None) -> Any:
    """Whether the schedule is followed; the job of a name, nothing when there is none."""
    found = list_(context, return_yaml=False)
    return found.get(name, {}) if name else found.get("enabled", True)


def add(context: Context, name: str, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Add a job: `function`, `job_args`, `job_kwargs`, and when: seconds … days, cron, when or once."""
    if name in _all(context, None, how.offline):
        return _said(f"Job {name} already exists in schedule.", result=False)
    item = build_schedule_item(context, name, **kwargs)
    if item.get("result") is False:
        return _said(item["comment"], result=False)
    if how.test:
        return _said(f"Job: {name} would be added to schedule.")
    _change(context, {**own(context, offline=how.offline), name: item}, how)
    return _said(f"Added job: {name} to schedule.", {name: "added"})


def modify(context: Context, name: str, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Have a job be this one: what is not said again is gone."""
    found = list_(context, show_all=True, return_yaml=False, offline=how.offline)
    if name not in found:
        return _said(f"Job {name} does not exist in schedule.", result=False)
    old = found[name]
    item = build_schedule_item(context, name, **{"function": old.get("function"), **kwargs})
    if item.get("result") is False:
        return _said(item["comment"], result=False)
    if item == old:
        return _said(f"Job {name} in correct state")
    changes = {name: {"old": dict(old), "new": dict(item)}}
    if how.test:
        return _said(f"Job: {name} would be modified in schedule.", changes)
    if name not in (mine := own(context, offline=how.offline)):
        return _of_pillar(name, "modify")
    _change(context, {**mine, name: item}, how)
    return _said(f"Modified job: {name} in schedule.", changes)


def delete(context: Context, name: str, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Take a job out of the schedule."""
    if how.test:
        return _said(f"Job: {name} would be deleted from schedule.")
    if name not in _all(context, None, how.offline):
        return _said(f"Job {name} does not exist.", result=False)
    mine = own(context, offline=how.offline)
    if name not in mine:
        return _of_pillar(name, "delete")
    _change(context, {key: one for key, one in mine.items() if key != name}, how)
    return _said(f"Deleted Job {name} from schedule.", {name: "removed"})


def purge(context: Context, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Take all jobs out of the schedule but those of the pillar."""
    mine = own(context, offline=how.offline)
    names = [name for name in mine if name not in SETTINGS and not name.startswith("__")]
    if how.test:
        return _said([f"Job: {name} would be deleted from schedule." for name in names])
    if names:
        _change(context, {key: one for key, one in mine.items() if key not in names}, how)
    return _said([f"Deleted job: {name} from schedule." for name in names], dict.fromkeys(names, "removed"))


def enable_job(context: Context, name: str, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Have a job be done again."""
    return _set_enabled(context, name, True, how)


def disable_job(context: Context, name: str, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Have a job be done no more, and stay in the schedule."""
    return _set_enabled(context, name, False, how)


def enable(context: Context, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Have the schedule be followed again."""
    return _set_all(context, True, how)


def disable(context: Context, *, how: ScheduleChange, **kwargs: Any) -> dict[str, Any]:
    """Have the schedule be followed no more."""
    return _set_all(context, False, how)


def run_job(context: Context, name: str, force: bool = False) -> dict[str, Any]:
    """Do a job now; with `force` also one that is disabled."""
    found = list_(context, show_all=True, return_yaml=False)
    if name not in found:
        return _ran(f"Job {name} does not exist.", result=False)
    if not found[name]["enabled"] and not force:
        return _ran(f"Job {name} is disabled.")
    if not agent_runs(context):
        return _ran(f"Failed to run job {name} on minion: {_NO_AGENT}.", result=False)
    import secrets

    with locked(context) as kept:
        kept["asked"] = {**(kept.get("asked") or {}), name: secrets.token_hex(8)}
    return _ran(f"Scheduling Job {name} on minion.")


def skip_job(context: Context, name: str, current_time: str, **kwargs: Any) -> dict[str, Any]:
    """Leave a job out at one time: `2026-11-21T17:00:00`."""
    refused = _change_times(context, name, "skip", kwargs, {"skipped": current_time})
    return refused or _ran(f"Added Skip Job {name} in schedule.")


def postpone_job(context: Context, name: str, current_time: str, new_time: str, **kwargs: Any) -> dict[str, Any]:
    """Leave a job out at one time, and do it at another: `2026-11-21T17:00:00`, `2026-11-21T18:00:00`."""
    refused = _change_times(context, name, "postpone", kwargs, {"skipped": current_time, "added": new_time})
    return refused or _ran(f"Postponed Job {name} in schedule.")


def _change_times(
    context: Context, name: str, word: str, how: Mapping[str, Any], times: Mapping[str, str]
) -> dict[str, Any] | None:
    """Have the agent leave a job out, or do it, at times more; why it cannot."""
    from datetime import datetime

    from reactors.wall_clock import moment, zone_of

    jobs = _all(context, None, False)
    if name not in jobs:
        return _ran(f"Job {name} does not exist.", result=False)
    try:
        zone = zone_of(str(dict(jobs[name]).get("timezone") or jobs.get("timezone") or ""))
        form = how.get("time_fmt") or TIME_FORM
        found = {key: moment(datetime.strptime(str(text), form), zone) for key, text in times.items()}
    except ValueError:
        return _ran("Date string could not be parsed.", result=False)
    if how.get("test"):
        return _ran(f"Job: {name} would be {word.rstrip('e')}{'p' if word == 'skip' else ''}ed in schedule.")
    if not agent_runs(context):
        return _ran(f"Failed to {word} job {name} in schedule: {_NO_AGENT}.", result=False)
    import time

    with locked(context) as kept:
        for key, at in found.items():
            old = {
                job: [one for one in each if one > time.time() - _DAY] for job, each in (kept.get(key) or {}).items()
            }
            kept[key] = {**old, name: [*old.get(name, ()), at]}
    return None


def save_(context: Context, **kwargs: Any) -> dict[str, Any]:
    """Have the schedule, as it is, outlive the agent."""
    if kwargs.get("test"):
        return _ran("Schedule would be saved.")
    save(context, own(context))
    return _ran("Schedule (non-pillar items) saved.")


def reload_(context: Context) -> dict[str, Any]:
    """Follow the schedule as it is saved, whatever was changed since."""
    if not agent_runs(context):
        return _ran(_NO_AGENT, result=False)
    found = saved(context) or dict(context.options.schedule.jobs)
    with locked(context) as kept:
        kept["schedule"] = found
    return _ran(["Reloaded schedule on minion from _schedule.conf."])


def show_next_fire_time(context: Context, name: str, **kwargs: Any) -> dict[str, Any]:
    """When a job is due next, in local time."""
    at = job_times(context)[0].get(name)
    return {"result": True, "next_fire_time": None if at is None else _text(at)}


def job_status(context: Context, name: str, time_fmt: str = "%Y-%m-%dT%H:%M:%S") -> dict[str, Any]:
    """A job, when it is due next, when it ran last, and why it was skipped last; nothing when there is none."""
    found = list_(context, show_all=True, return_yaml=False).get(name)
    if found is None:
        return {}
    due, ran, why = job_times(context)
    at, last, skipped = due.get(name), ran.get(name), why.get(name)
    told: dict[str, Any] = {"_next_fire_time": None if at is None else _text(at, time_fmt)}
    told |= {} if last is None else {"_last_run": _text(last, time_fmt)}
    if skipped:
        told |= {"_skipped": True, "_skip_reason": skipped[1], "_skipped_time": _text(skipped[0], time_fmt)}
    return {**found, **told}


def _all(context: Context, where: str | None, offline: bool) -> dict[str, Any]:
    if where == "pillar":
        return of_pillar(context)
    pillar = {} if offline or where == "opts" else of_pillar(context)
    return {**pillar, **own(context, offline=offline)}


def _set_enabled(context: Context, name: str, wanted: bool, how: ScheduleChange) -> dict[str, Any]:
    word = "enabled" if wanted else "disabled"
    mine = own(context, offline=how.offline)
    if how.test:
        return _said(f"Job: {name} would be {word} in schedule.")
    if name not in mine:
        return _of_pillar(name, word) if name in of_pillar(context) else _said(
            f"Job {name} does not exist.", result=False
        )  # fmt: skip
    _change(context, {**mine, name: {**mine[name], "enabled": wanted}}, how)
    return _said(f"{word.capitalize()} Job {name} in schedule.", {name: word})


def _set_all(context: Context, wanted: bool, how: ScheduleChange) -> dict[str, Any]:
    word = "enabled" if wanted else "disabled"
    if how.test:
        return _said(f"Schedule would be {word}.")
    _change(context, {**own(context), "enabled": wanted}, how)
    return _said(f"{word.capitalize()} schedule on minion.", {"schedule": word})


def _change(context: Context, schedule: Mapping[str, Any], how: ScheduleChange) -> None:
    change(context, as_data(schedule), persist=how.persist, offline=how.offline)


def _said(comment: Any, changes: Mapping[str, Any] | None = None, *, result: bool = True) -> dict[str, Any]:
    return {"comment": comment, "result": result, "changes": dict(changes or {})}


def _ran(comment: Any, *, result: bool = True) -> dict[str, Any]:
    return {"comment": comment, "result": result}


def _of_pillar(name: str, what: str) -> dict[str, Any]:
    return _said(f"Failed to {what} job {name}: it is the pillar's.", result=False)


def _text(at: float, form: str = "%Y-%m-%dT%H:%M:%S") -> str:
    from datetime import datetime

    return datetime.fromtimestamp(at).strftime(form)


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "build_schedule_item": build_schedule_item,
    "delete": delete,
    "disable": disable,
    "disable_job": disable_job,
    "enable": enable,
    "enable_job": enable_job,
    "is_enabled": is_enabled,
    "job_status": job_status,
    "list": list_,
    "modify": modify,
    "postpone_job": postpone_job,
    "purge": purge,
    "reload": reload_,
    "run_job": run_job,
    "save": save_,
    "show_next_fire_time": show_next_fire_time,
    "skip_job": skip_job,
}
