"""schedule.build_schedule_item: what a job is, of the arguments that Salt's functions and states take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context

_UNITS = ("seconds", "minutes", "hours", "days")
_AS_THEY_ARE = (
    "range", "when", "once", "once_fmt", "cron", "returner", "after", "return_config", "return_kwargs", "until",
    "run_on_start", "skip_during_range", "run_after_skip_range", "skip_explicit",
    "run_explicit", "timezone",
)  # fmt: skip


def build_schedule_item(context: Context, name: str, **kwargs: Any) -> dict[str, Any]:
    """The entry of a job of these arguments; `result` false and a comment when there can be none."""
    wrong = _conflict(name, kwargs)
    if wrong:
        return {"comment": wrong, "result": False}
    item: dict[str, Any] = {"function": kwargs["function"]}
    item |= {key: kwargs[key] for key in (*_UNITS, "return_job", "metadata") if key in kwargs}
    for given, key in (("job_args", "args"), ("job_kwargs", "kwargs")):
        if given in kwargs:
            item[key] = kwargs[given]
    item |= {
        "maxrunning": kwargs.get("maxrunning", 1),
        "name": name,
        "enabled": kwargs.get("enabled", True),
        "jid_include": kwargs.get("jid_include", True),
    }
    splay = kwargs.get("splay")
    if "splay" in kwargs:
        item["splay"] = {"start": splay["start"], "end": splay["end"]} if isinstance(splay, Mapping) else splay
    item |= {key: kwargs[key] for key in _AS_THEY_ARE if key in kwargs}
    refused = _refused(context, name, item)
    return {"comment": refused, "result": False} if refused else item


def _conflict(name: str, kwargs: Mapping[str, Any]) -> str:
    if not name:
        return "Job name is required."
    if not kwargs.get("function"):
        return "function is required: the execution function that the job calls."
    if any(unit in kwargs for unit in _UNITS) and ("when" in kwargs or "cron" in kwargs):
        return 'Unable to use "seconds", "minutes", "hours", or "days" with "when" or "cron" options.'
    if "when" in kwargs and "cron" in kwargs:
        return 'Unable to use "when" and "cron" options together.  Ignoring.'
    if "job_args" in kwargs and not isinstance(kwargs["job_args"], list):
        return "job_args is not a list. please correct and try again."
    if "job_kwargs" in kwargs and not isinstance(kwargs["job_kwargs"], Mapping):
        return "job_kwargs is not a dict. please correct and try again."
    return ""


def _refused(context: Context, name: str, item: Mapping[str, Any]) -> str:
    """Why the agent could not follow this."""
    from reactors.scheduled_jobs import job_of, whens_of

    whens = whens_of(context.pillar.get("whens"), context.grains.get("whens")) if "when" in item else {}
    try:
        job_of(name, item, {}, whens)
    except ValueError as error:
        return f"Job {name} cannot be followed: {error}."
    return ""
