"""The returners that are built in, by Salt's names, and what each can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from minion.returners.errors import UnknownReturner
from options.near_names import did_you_mean

Opts: TypeAlias = Mapping[str, Any]
"""The configuration as it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCache:
    """Jobs are kept there, and read back."""

    save_load: Callable[[Opts, str, Mapping[str, Any]], None]
    get_load: Callable[[Opts, str], dict[str, Any]]
    get_jid: Callable[[Opts, str], dict[str, Any]]
    get_jids: Callable[[Opts], dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInReturner:
    """What a returner can do. All raise ReturnerError, and give up in bounded time."""

    returner: Callable[[Opts, Mapping[str, Any]], None]
    options: frozenset[str]
    """What it can be told."""
    event_return: Callable[[Opts, Sequence[Mapping[str, Any]]], None] | None = None
    job_cache: JobCache | None = None
    message: Callable[[Opts, Mapping[str, Any]], None] | None = None
    """Takes a message for people: `title`, `text`, `name`, `ret_config`, and what it is about."""
    missing: Callable[[Opts, Mapping[str, Any]], list[str]] | None = None
    """Options without which a message cannot be sent."""


def _elasticsearch() -> BuiltInReturner:
    from minion.returners import elasticsearch

    cache = JobCache(save_load=elasticsearch.save_load, get_load=elasticsearch.get_load, get_jid=elasticsearch.get_jid)
    return BuiltInReturner(
        returner=elasticsearch.returner,
        options=frozenset(elasticsearch.DEFAULTS),
        event_return=elasticsearch.event_return,
        job_cache=cache,
    )


def _postgres(prefix: str) -> BuiltInReturner:
    from minion.returners.postgres import DEFAULTS, Postgres

    database = Postgres(prefix)
    cache = JobCache(
        save_load=database.save_load,
        get_load=database.get_load,
        get_jid=database.get_jid,
        get_jids=database.get_jids,
    )
    return BuiltInReturner(
        returner=database.returner, options=frozenset(DEFAULTS), event_return=database.event_return, job_cache=cache
    )


def _redis() -> BuiltInReturner:
    from minion.returners import redis

    cache = JobCache(save_load=redis.save_load, get_load=redis.get_load, get_jid=redis.get_jid, get_jids=redis.get_jids)
    return BuiltInReturner(returner=redis.returner, options=frozenset(redis.DEFAULTS), job_cache=cache)


def _message(name: str) -> BuiltInReturner:
    from minion.returners import messages

    returner, events, message = {
        "slack_webhook": (messages.slack_webhook, None, messages.slack_message),
        "smtp": (messages.smtp, None, messages.smtp_message),
        "syslog": (messages.syslog, messages.syslog_events, messages.syslog_message),
        "webhook": (messages.webhook, messages.webhook_events, messages.webhook_message),
    }[name]
    return BuiltInReturner(
        returner=returner,
        options=frozenset(messages.DEFAULTS[name]),
        event_return=events,
        message=message,
        missing=partial(messages.missing_options, name),
    )


_MAKERS: Mapping[str, Callable[[], BuiltInReturner]] = {
    "elasticsearch": _elasticsearch,
    "pgjsonb": partial(_postgres, "returner.pgjsonb"),
    "postgres": partial(_postgres, "returner.postgres"),
    "redis": _redis,
    **{name: partial(_message, name) for name in ("slack_webhook", "smtp", "syslog", "webhook")},
}
"""An idle agent knows their names; what they import (HTTP, TLS, mail) is in the memory of who uses one."""


class _Returners(Mapping[str, BuiltInReturner]):
    """By name, made when they are asked for."""

    def __getitem__(self, name: str) -> BuiltInReturner:
        return _MAKERS[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(_MAKERS)

    def __len__(self) -> int:
        return len(_MAKERS)


BUILT_IN: Mapping[str, BuiltInReturner] = _Returners()


def built_in(name: str) -> BuiltInReturner:
    """A returner by its name. Raises UnknownReturner, with a hint."""
    if name not in BUILT_IN:
        hint = did_you_mean(name, BUILT_IN) or f"there are {', '.join(BUILT_IN)}"
        raise UnknownReturner(f"there is no returner {name!r}; {hint}")
    return BUILT_IN[name]
