"""What returners get of runs and events, in Salt's shape. Pure.

It is what history has: results and events are redacted before they are stored and published.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.config.returners import ReturnerSettings
from controller.jobs.job_returners import returners_of
from controller.observe.run_functions import arguments_of, function_of
from controller.runners.job_views import MASTER, jid_of, result_of
from controller.store import RunRecord
from controller.store.jobs.table import JobRecord
from minion.returners.spool import Waiting
from reactors.events import Event, tag_matches

OWN_TAGS = "saltern/returner/"
"""Events about returners are not given to returners."""


def takes_event(settings: ReturnerSettings, tag: str) -> bool:
    """Whether an event goes to `event_return`. As in Salt the blacklist counts more."""
    if not settings.event_return or tag.startswith(OWN_TAGS):
        return False
    if any(tag_matches(pattern, tag) for pattern in settings.blacklist):
        return False
    return not settings.whitelist or any(tag_matches(pattern, tag) for pattern in settings.whitelist)


def ended_run(settings: ReturnerSettings, tag: str, data: Mapping[str, Any]) -> str:
    """The id of the run that an event says to have ended, where jobs are kept, or it names returners; else empty."""
    if not tag.startswith(("salt/job/", "salt/run/", "salt/wheel/")):
        return ""
    parts = tag.split("/")
    if len(parts) >= 4 and parts[3] == "ret" and (settings.job_caches or data.get("ret")):
        return str(data.get("run") or parts[2])
    return ""


def event_entries(settings: ReturnerSettings, event: Event, life: str) -> Iterator[Waiting]:
    """An event, for each returner of events. `life`: of the controller, as a later one may use its ids again."""
    stamp = datetime.datetime.fromtimestamp(event.time, datetime.UTC).isoformat()
    body = {"tag": event.tag, "data": {"_stamp": stamp, **event.data}}
    for returner in settings.event_return:
        yield Waiting(returner=returner, kind="event", name=f"{life}-{event.id}", body=body)


def load_entries(
    settings: ReturnerSettings, runs: Sequence[RunRecord], job: JobRecord | None = None
) -> Iterator[Waiting]:
    """What was asked for in a job (all its runs, and how it was asked where that is known), for the job caches."""
    if not runs:
        return
    jid, minions = jid_of(runs[0]), sorted(job.minions if job else {run.minion or MASTER for run in runs})
    load: dict[str, Any] = {
        "jid": jid,
        "fun": function_of(runs[0]),
        "arg": arguments_of(runs[0]),
        "tgt": minions if len(minions) > 1 else minions[0],
        "tgt_type": "list" if len(minions) > 1 else "glob",
        "user": runs[0].user,
        "ret": "",
        "minions": minions,
    }
    if job is not None:
        load |= {"tgt": job.tgt, "tgt_type": job.tgt_type}
        load |= {"metadata": dict(job.metadata)} if job.metadata else {}
    for name in settings.job_caches:
        yield Waiting(returner=name, kind="load", name=jid, body=load)


def return_entries(settings: ReturnerSettings, run: RunRecord, result: Mapping[str, Any] | None) -> Iterator[Waiting]:
    """What a run that has ended returned, for the job caches and the returners that its job names."""
    jid, minion = jid_of(run), run.minion or MASTER
    about = {"id": minion, "jid": jid, "fun": function_of(run), "fun_args": arguments_of(run)}
    for name in settings.job_caches:
        yield Waiting(returner=name, kind="return", name=f"{jid}/{minion}", body={**about, **result_of(run, result)})
    asked = returners_of(run.returners)
    options: dict[str, Any] = {"ret_config": asked.config} if asked.config else {}
    options |= {"ret_kwargs": asked.kwargs} if asked.kwargs else {}
    # With options of its own it may go elsewhere than to the job cache of the same name.
    name = f"{jid}/{minion}" + (f"/{json.dumps(options, sort_keys=True)}" if options else "")
    for returner in asked.names:
        body = {**about, "ret": ",".join(asked.names), **options, **result_of(run, result)}
        yield Waiting(returner=returner, kind="return", name=name, body=body)
