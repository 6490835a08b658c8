"""Options of returners on the controller: where events and jobs are kept outside, under Salt's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minion.returners.registry import BUILT_IN
from options.convert import convert_options
from options.document import Fault, Option
from options.kinds import Names, OptionalText
from options.near_names import did_you_mean

OPTIONS = ("event_return", "event_return_whitelist", "event_return_blacklist", "ext_job_cache", "master_job_cache")
"""Options that say what goes where."""
LOCAL = "local_cache"
"""Salt's name of the job cache that the controller's own store is."""
_NONE = (None, "", LOCAL)
_JOB_CACHES = ("ext_job_cache", "master_job_cache")
"""In the order in which Salt's runner `jobs` asks them."""
_OWN = ("elasticsearch", "redis", "returner", "slack_webhook", "smtp", "syslog", "webhook")
"""Options of returners have one of these names, or begin with one and a dot; a profile's stands before both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnerSettings:
    """What goes to which returners."""

    event_return: tuple[str, ...] = ()
    """Returners that get events."""
    whitelist: tuple[str, ...] = ()
    """Globs of the tags that they get; empty: all."""
    blacklist: tuple[str, ...] = ()
    """Globs of tags that they do not get, whatever the whitelist says."""
    job_caches: tuple[str, ...] = ()
    """Returners that keep jobs, in the order in which they are read; empty: the store alone does."""
    opts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Options of the returners as they were written."""


def is_returner_option(name: str) -> bool:
    """Whether an option belongs to a returner: `redis.host`, or `PROFILE.redis.host` for `ret_config`."""
    return any(part in _OWN for part in name.split(".")[:2])


def read_returners(options: Mapping[str, Option], faults: list[Fault]) -> ReturnerSettings:
    """The options; what is wrong is appended to the faults."""
    kinds = dict.fromkeys(OPTIONS, Names) | dict.fromkeys(_JOB_CACHES, OptionalText)
    given = convert_options(options, {name: kind for name, kind in kinds.items() if name in options}, faults)
    own = {name: option.value for name, option in options.items() if is_returner_option(name)}
    found = ReturnerSettings(
        event_return=tuple(given.get("event_return", ())),
        whitelist=tuple(given.get("event_return_whitelist", ())),
        blacklist=tuple(given.get("event_return_blacklist", ())),
        job_caches=tuple(dict.fromkeys(name for option in _JOB_CACHES if (name := given.get(option)) not in _NONE)),
        opts={**own, "keep_jobs": options["keep_jobs"].value} if "keep_jobs" in options else own,
    )
    takes_events = [name for name, one in BUILT_IN.items() if one.event_return is not None]
    keeps_jobs = [LOCAL, *(name for name, one in BUILT_IN.items() if one.job_cache is not None)]
    for name in found.event_return:
        _check("event_return", name, takes_events, "takes events", options, faults)
    for option in _JOB_CACHES:
        if given.get(option):
            _check(option, given[option], keeps_jobs, "keeps jobs", options, faults)
    return found


def _check(
    option: str, name: str, able: list[str], what: str, options: Mapping[str, Option], faults: list[Fault]
) -> None:
    if name not in able:
        hint = did_you_mean(name, able) or f"there are {', '.join(able)}"
        faults.append(Fault(options[option].place, f"{option}: no returner {name!r} {what}", hint))
