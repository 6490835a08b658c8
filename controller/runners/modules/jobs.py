"""The runner `jobs`: what was asked of minions and of the controller, and what came of it. Looks into the store."""

from __future__ import annotations

import asyncio
import datetime
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from controller.observe.run_functions import function_of
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from controller.runners.job_caches import kept_job, kept_jobs, reads_store
from controller.runners.job_views import MASTER, did_return, jid_of, job_view, result_of, time_of, time_of_jid
from controller.store import RunRecord, Store
from minion.arguments.types import AnyValue, Ignored

MOST_JOBS = 5_000
"""The newest jobs, among which those are looked for that are wanted."""
_OF_MINIONS = ("apply", "remediate", "call", "preview")
_KINDS = (*_OF_MINIONS, "runner", "wheel")
_TIMES = ("%Y, %b %d %H:%M:%S.%f", "%Y, %b %d %H:%M:%S", "%Y, %b %d %H:%M", "%Y, %b %d")

Shown = Annotated[bool, Ignored("it takes no time of which one would want to know")]


async def list_jobs(
    context: RunnerContext,
    ext_source: str | None = None,
    outputter: str | None = None,
    search_metadata: AnyValue = None,
    search_function: AnyValue = None,
    search_target: AnyValue = None,
    start_time: str | None = None,
    end_time: str | None = None,
    display_progress: Shown = False,
) -> Any:
    """All jobs by their ids: those of functions and states on minions, and calls of runners and wheels.

    Those that the store has no longer are read from the job caches of the configuration (`ext_job_cache`,
    `master_job_cache`), where these can list.

    Args:
        context: of the call.
        ext_source: the job cache that is read alone; `local_cache`: the store.
        outputter: how the value is shown.
        search_metadata: a mapping; jobs whose metadata have one of its keys with its value.
        search_function: globs of function names: a list, or a text with commas.
        search_target: the same of targets, as they were typed, and of minions.
        start_time: only jobs that began at this time (UTC) or later.
        end_time: only jobs that began at this time or earlier.
        display_progress: accepted.
    """
    since, until = _time(start_time), _time(end_time)
    jobs = {}
    for jid, (view, targets) in (await _all(context, ext_source)).items():
        began = _time(view["StartTime"] or None)
        if since is not None and (began is None or began < since):
            continue
        if until is not None and (began is None or began > until):
            continue
        if search_metadata and not _has_any(view.get("Metadata"), search_metadata):
            continue
        if _matches([view["Function"]], search_function) and _matches(targets, search_target):
            jobs[jid] = view
    return _shown(dict(sorted(jobs.items())), outputter)


async def list_jobs_filter(
    context: RunnerContext,
    count: int,
    filter_find_job: bool = True,
    ext_source: str | None = None,
    outputter: str | None = None,
    display_progress: Shown = False,
) -> Any:
    """The newest `count` jobs, without those that only look for others (`filter_find_job`)."""
    jobs = {
        jid: view
        for jid, (view, _) in sorted((await _all(context, ext_source)).items())
        if not (filter_find_job and view["Function"] == "saltutil.find_job")
    }
    return _shown(dict(list(jobs.items())[-count:] if count > 0 else []), outputter)


async def list_job(
    context: RunnerContext, jid: str, ext_source: str | None = None, display_progress: Shown = False
) -> dict[str, Any]:
    """One job with all that its minions returned."""
    runs = context.ports.store.runs.of_job(jid) if reads_store(ext_source) else []
    if not runs and (kept := await kept_job(context, jid, ext_source)) is not None:
        return kept
    if not runs:
        error = "Cannot contact returner or no job with this jid"
        return {"jid": jid, "Error": error, "StartTime": time_of_jid(jid), "Result": {}}
    job = context.ports.store.jobs.get(jid_of(runs[0]))
    minions = _minions(runs) if job is None else sorted(job.minions)
    return {"jid": jid, **job_view(runs, job), "Minions": minions, "Result": _results(context, runs)}


async def print_job(context: RunnerContext, jid: str, ext_source: str | None = None) -> dict[str, Any]:
    """The same below the job's id."""
    found = await list_job(context, jid, ext_source)
    return {found.pop("jid"): found}


async def lookup_jid(
    context: RunnerContext,
    jid: str,
    ext_source: str | None = None,
    returned: bool = True,
    missing: bool = False,
    display_progress: Shown = False,
) -> Any:
    """What the minions of a job returned; with `missing`, also who did not.

    Args:
        context: of the call.
        jid: of the job.
        ext_source: the job cache that is read alone; `local_cache`: the store.
        returned: whether returns are shown.
        missing: whether minions without a return are named.
        display_progress: accepted.
    """
    runs = context.ports.store.runs.of_job(jid) if reads_store(ext_source) else []
    results, minions = _results(context, runs), _minions(runs)
    if not runs and (kept := await kept_job(context, jid, ext_source)) is not None:
        results, minions = kept["Result"], kept["Minions"]
    found = {minion: one.get("return") for minion, one in results.items()} if returned else {}
    if missing:
        found |= {minion: "Minion did not return" for minion in minions if minion not in results}
    states = any(one.get("out") == "highstate" for one in results.values())
    return {"outputter": "highstate", "data": found} if states else found


async def exit_success(context: RunnerContext, jid: str, ext_source: str | None = None) -> dict[str, bool]:
    """Whether the job succeeded on each of its minions."""
    runs = context.ports.store.runs.of_job(jid) if reads_store(ext_source) else []
    if not runs and (kept := await kept_job(context, jid, ext_source)) is not None:
        results = kept["Result"]
        return {minion: results.get(minion, {}).get("success") is True for minion in kept["Minions"]}
    return {run.minion or MASTER: run.outcome in ("ok", "changed", "pending") for run in runs}


async def last_run(
    context: RunnerContext,
    ext_source: str | None = None,
    outputter: str | None = None,
    metadata: AnyValue = None,
    function: AnyValue = None,
    target: AnyValue = None,
    display_progress: Shown = False,
) -> Any:
    """The newest job, or the newest of a function or target, with its returns; False when there is none."""
    jobs = await list_jobs(
        context, ext_source, search_metadata=metadata, search_function=function, search_target=target
    )
    jobs.pop(context.jid, None)
    return _shown(await print_job(context, max(jobs), ext_source), outputter) if jobs else False


async def active(context: RunnerContext, display_progress: Shown = False) -> dict[str, Any]:
    """Jobs that minions have not returned yet: who runs them, and who has returned."""
    return await asyncio.to_thread(_active, context.ports.store)


async def master(context: RunnerContext) -> list[dict[str, Any]]:
    """Calls of runners and wheels that go on."""
    runs = context.ports.store.runs.open("")
    return [
        {
            "fun": function_of(run),
            "jid": run.run_id,
            "user": run.user,
            "fun_args": job_view([run])["Arguments"],
            "StartTime": time_of(run.created),
        }
        for run in reversed(runs)
    ]


async def _all(context: RunnerContext, source: str | None) -> dict[str, tuple[dict[str, Any], list[str]]]:
    """The jobs of the store, and those of job caches that it has no longer, by id: with names that their targets have.

    Raises ControllerCallFailed.
    """
    kept = {jid: (view, _names(view)) for jid, view in (await kept_jobs(context, source)).items()}
    if reads_store(source):
        stored = await asyncio.to_thread(_stored, context.ports.store)
        if len(stored) == MOST_JOBS:
            context.say({"message": f"only the newest {MOST_JOBS} jobs are looked at"})
        kept |= stored
    return kept


def _names(view: Mapping[str, Any]) -> list[str]:
    target = view["Target"]
    return [str(one) for one in target] if isinstance(target, list) else [str(target)]


def _stored(store: Store) -> dict[str, tuple[dict[str, Any], list[str]]]:
    """The newest jobs of the store by id, without the checks that minions make by themselves."""
    found = {}
    jids = [place.jid for place in store.job_listing.newest(_KINDS, MOST_JOBS)]
    asked = store.jobs.many(jids)
    for jid in jids:
        job, run = asked.get(jid), None if jid in asked else store.runs.get(jid)
        own = [] if run is None else [run]
        if job is not None or own:
            view = job_view(own, job)
            found[jid] = view, [*_names(view), *(job.minions if job is not None else _minions(own))]
    return found


def _active(store: Store) -> dict[str, Any]:
    """The jobs that go on, by id."""
    found = {}
    jids = sorted(store.job_listing.open(_OF_MINIONS))
    asked = store.jobs.many(jids)
    for jid in jids:
        runs = store.runs.of_job(jid)
        if running := [run.minion for run in runs if run.finished is None]:
            returned = [run.minion for run in runs if did_return(run)]
            view = job_view(runs, asked.get(jid))
            found[jid] = view | {"Running": [{one: None} for one in running], "Returned": returned}
    return found


def _results(context: RunnerContext, runs: Iterable[RunRecord]) -> dict[str, Any]:
    result = context.ports.store.runs.result
    return {run.minion or MASTER: result_of(run, result(run.run_id)) for run in runs if did_return(run)}


def _minions(runs: Sequence[RunRecord]) -> list[str]:
    return sorted(run.minion or MASTER for run in runs)


def _has_any(metadata: Any, wanted: Any) -> bool:
    """Whether metadata have one of these with its value. Source: `list_jobs` of salt/runners/jobs.py."""
    if not isinstance(wanted, Mapping) or not isinstance(metadata, Mapping):
        return False
    return any(name in metadata and metadata[name] == value for name, value in wanted.items())


def _matches(names: Sequence[str], patterns: Any) -> bool:
    if not patterns:
        return True
    globs = patterns if isinstance(patterns, list) else str(patterns).split(",")
    return any(fnmatch.fnmatch(name, str(glob).strip()) for name in names for glob in globs)


def _time(text: str | None) -> float | None:
    """Seconds since the epoch; ControllerCallFailed for what is no time."""
    if text is None:
        return None
    for form in _TIMES:
        try:
            return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.UTC).timestamp()
        except ValueError:
            continue
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ControllerCallFailed(f"{text!r} is no time: write it like 2026-11-22T19:00") from None
    return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp()


def _shown(value: Any, outputter: str | None) -> Any:
    return {"outputter": outputter, "data": value} if outputter else value


FUNCTIONS = {
    "active": active,
    "exit_success": exit_success,
    "last_run": last_run,
    "list_job": list_job,
    "list_jobs": list_jobs,
    "list_jobs_filter": list_jobs_filter,
    "lookup_jid": lookup_jid,
    "master": master,
    "print_job": print_job,
}
