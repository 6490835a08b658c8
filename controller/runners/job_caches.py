"""Jobs that are read back from returners: from those of the configuration, or from one that is named (`ext_source`).

Called by the runner `jobs`. What a store outside holds is somebody else's: whatever is not a job there is passed over.

Source: `_get_returner`, `list_jobs` and `list_job` of salt/runners/jobs.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from controller.config.returners import LOCAL, ReturnerSettings
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from controller.runners.job_views import time_of_jid
from minion.returners.errors import ReturnerError
from minion.returners.registry import BUILT_IN, JobCache, built_in
from options.near_names import did_you_mean


def reads_store(source: str | None) -> bool:
    """Whether jobs are looked for in the controller's store: unless a job cache is named."""
    return not source or source == LOCAL


async def kept_job(context: RunnerContext, jid: str, source: str | None) -> dict[str, Any] | None:
    """A job as `jobs.list_job` shows it, from the first job cache that has it; None when none has.

    Raises:
        ControllerCallFailed: none has it, and one could not be asked; there is no job cache `source`.
    """
    settings, failures = context.ports.settings.returners, []
    for name, cache in _caches(settings, source).items():
        try:
            found = await asyncio.to_thread(_job, cache, settings.opts, jid)
        except ReturnerError as error:
            failures.append(f"job cache {name}: {error}")
            continue
        if found is not None:
            return found
    if failures:
        raise ControllerCallFailed("; ".join(failures))
    return None


async def kept_jobs(context: RunnerContext, source: str | None) -> dict[str, dict[str, Any]]:
    """The jobs that job caches list, as `jobs.list_jobs` shows them.

    One of the configuration that does not answer, or cannot list, is told of; the others are listed.

    Raises:
        ControllerCallFailed: there is no job cache `source`, or it does not answer, or cannot list.
    """
    settings = context.ports.settings.returners
    jobs: dict[str, dict[str, Any]] = {}
    for name, cache in _caches(settings, source).items():
        try:
            if cache.get_jids is None:
                raise ReturnerError("it finds jobs by their ids alone, and lists none")
            found = await asyncio.to_thread(partial(_listed, cache.get_jids, settings.opts))
        except ReturnerError as error:
            if not reads_store(source):
                raise ControllerCallFailed(f"job cache {name}: {error}") from error
            context.say({"message": f"jobs of the job cache {name} are not listed: {error}"})
            continue
        jobs = found | jobs
    return jobs


def _caches(settings: ReturnerSettings, source: str | None) -> dict[str, JobCache]:
    """Those to be asked, in this order."""
    if source == LOCAL:
        return {}
    able = [name for name, one in BUILT_IN.items() if one.job_cache is not None]
    if source and source not in able:
        hint = did_you_mean(source, able) or f"there are {', '.join((LOCAL, *able))}"
        raise ControllerCallFailed(f"ext_source: no returner {source!r} keeps jobs; {hint}")
    caches = {name: built_in(name).job_cache for name in ([source] if source else settings.job_caches)}
    return {name: cache for name, cache in caches.items() if cache is not None}


def _job(cache: JobCache, opts: Mapping[str, Any], jid: str) -> dict[str, Any] | None:
    load, returned = cache.get_load(opts, jid), cache.get_jid(opts, jid)
    if not load and not returned:
        return None
    results = {
        minion: {key: ret[key] for key in ("return", "retcode", "success", "out") if key in ret}
        for minion, ret in returned.items()
        if isinstance(ret, Mapping)
    }
    view = _view(jid, load if isinstance(load, Mapping) else {})
    asked = load.get("minions") if isinstance(load, Mapping) else None
    minions = {*results, *map(str, asked if isinstance(asked, list) else ())}
    return {"jid": jid, **view, "Minions": sorted(minions), "Result": results}


def _listed(get_jids: Any, opts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {jid: _view(jid, load) for jid, load in get_jids(opts).items() if isinstance(load, Mapping)}


def _view(jid: str, load: Mapping[str, Any]) -> dict[str, Any]:
    about = {"Function": str(load.get("fun", "")), "Arguments": load.get("arg", []), "User": load.get("user", "")}
    target = {"Target": load.get("tgt", ""), "Target-type": load.get("tgt_type", ""), "StartTime": time_of_jid(jid)}
    return {**about, **target}
