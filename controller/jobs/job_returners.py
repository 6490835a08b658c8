"""Returners that a job names for itself: `ret`, `ret_config` and `ret_kwargs` of Salt's jobs.

A run keeps them as text until what it returned waits in the spool (`controller.returners`), so that a controller that
is killed in between finds it.

Source: `cmd_async` of salt/client/__init__.py, `_thread_return` of salt/minion.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from controller.config.limits import ReturnerLimits
from controller.config.returners import LOCAL, ReturnerSettings
from controller.schema.errors import ServiceError
from minion.returners.registry import BUILT_IN
from options.near_names import did_you_mean


class JobReturners(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who gets what a run returns, beside those of the configuration."""

    names: tuple[str, ...] = ()
    config: str = ""
    """The profile of their options."""
    kwargs: dict[str, Any] = {}
    """Options above those of the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnerRequests:
    """Reads what a job says of returners."""

    settings: ReturnerSettings = field(default_factory=ReturnerSettings)
    limits: ReturnerLimits = field(default_factory=ReturnerLimits)

    def read(self, names: Sequence[str], config: str = "", kwargs: Mapping[str, Any] | None = None) -> str:
        """As a run keeps it; empty when there is nobody but the store.

        Args:
            names: of returners; each may be several with commas between.
            config: the profile of their options in the configuration.
            kwargs: options above those.

        Raises:
            ServiceError: there is no such returner or profile, or the options are over the limit.
        """
        wanted = [one for name in names for part in name.split(",") if (one := part.strip())]
        for name in wanted:
            if name != LOCAL and name not in BUILT_IN:
                hint = did_you_mean(name, BUILT_IN) or f"there are {', '.join((LOCAL, *BUILT_IN))}."
                message = f"returner {name!r} is none of the controller's, which delivers what jobs return"
                raise ServiceError(
                    "bad-request", message, hint=f"{hint}; those of a tree run where a minion names them"
                )
        if (config or kwargs) and not wanted:
            raise ServiceError("bad-request", "there are options for a returner, and no returner", hint="name it")
        if config and not any(option.startswith(f"{config}.") for option in self.settings.opts):
            message = f"the controller's configuration has no options of the profile {config!r}"
            raise ServiceError("bad-request", message, hint=f"it would have {config}.redis.host, say")
        found = JobReturners(
            names=tuple(dict.fromkeys(name for name in wanted if name != LOCAL)),
            config=config,
            kwargs=dict(kwargs or {}),
        )
        if not found.names:
            return ""
        try:
            text = msgspec.json.encode(found)
        except (TypeError, ValueError, RecursionError) as error:
            raise ServiceError("bad-request", f"options of a returner are what JSON can hold: {error}") from error
        if len(text) > self.limits.options:
            message = (
                f"options of a returner have {len(text)} bytes; the limit `returner: options` is {self.limits.options}"
            )
            raise ServiceError("bad-request", message)
        return text.decode()


def returners_of(kept: str) -> JobReturners:
    """What a run keeps of its returners."""
    return msgspec.json.decode(kept, type=JobReturners) if kept else JobReturners()
