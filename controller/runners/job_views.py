"""Runs of the store as Salt's job cache shows jobs. Pure.

Source: salt/runners/jobs.py, salt/returners/local_cache.py.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from controller.jobs.job_outcomes import UNREACHABLE
from controller.observe.run_functions import arguments_of, function_of, typed, unmarked
from controller.store import RunRecord
from controller.store.jobs.table import JobRecord

MASTER = "controller"
"""Stands where Salt has the id of the master."""


def jid_of(run: RunRecord) -> str:
    """The id of the job that a run belongs to."""
    return run.job or run.run_id


def did_return(run: RunRecord) -> bool:
    """Whether its minion returned something; one that was not connected did not."""
    return run.finished is not None and run.outcome != UNREACHABLE


def job_view(runs: Sequence[RunRecord], job: JobRecord | None = None) -> dict[str, Any]:
    """A job as `jobs.list_jobs` shows it; `job`: how it was asked, where that is known."""
    if job is not None:
        return {
            "Function": job.fun,
            "Arguments": typed(job.args),
            "Target": job.tgt,
            "Target-type": job.tgt_type,
            "User": job.user,
            "StartTime": time_of(job.created),
            **({"Metadata": dict(job.metadata)} if job.metadata else {}),
        }
    first, minions = runs[0], sorted(run.minion or MASTER for run in runs)
    return {
        "Function": function_of(first),
        "Arguments": arguments_of(first),
        "Target": minions[0] if len(minions) == 1 else minions,
        "Target-type": "list",
        "User": first.user,
        "StartTime": time_of(first.created),
    }


def result_of(run: RunRecord, result: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a minion returned, as `jobs.list_job` shows it below `Result`."""
    found = result or {}
    states, value, error = found.get("states"), found.get("value"), found.get("error")
    returned = value if value is not None else states or error or None
    success = run.outcome in ("ok", "changed", "pending")
    if run.kind in ("runner", "wheel"):
        returned = {
            "fun": function_of(run),
            "fun_args": [unmarked(one) for one in arguments_of(run)],
            "jid": run.run_id,
            "user": run.user,
            "_stamp": datetime.datetime.fromtimestamp(run.created, datetime.UTC).isoformat(),
            "return": returned,
            "success": success,
        }
    shown = {"return": returned, "retcode": found.get("retcode") or int(not success), "success": success}
    return {**shown, "out": "highstate"} if states else shown


def time_of_jid(jid: str) -> str:
    """When a job began, by its id; empty for what is no id."""
    try:
        return f"{datetime.datetime.strptime(jid, '%Y%m%d%H%M%S%f'):%Y, %b %d %H:%M:%S.%f}"
    except ValueError:
        return ""


def time_of(at: float) -> str:
    """A time (seconds since the epoch) as Salt shows that of a job: UTC."""
    return f"{datetime.datetime.fromtimestamp(at, datetime.UTC):%Y, %b %d %H:%M:%S.%f}"
