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
from controller.jobs.tree_returners import TreeReturners
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
    tree: TreeReturners = field(default_factory=TreeReturners)

    async def look(self, names: Sequence[str]) -> None:
        """Before these are read: look which returners the live tree has, where one is none of the controller's."""
        if any(name != LOCAL and name not in BUILT_IN for name in _each(names)):
            await self.tree.look()

    def on_minions(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of them that are modules of the live tree: minions run these."""
        found = [name for name in _each(names) if name != LOCAL and name not in BUILT_IN and name in self.tree.names]
        return tuple(dict.fromkeys(found))

    def check(self, names: Sequence[str], config: str = "", kwargs: Mapping[str, Any] | None = None) -> None:
        """ServiceError when a job of minions cannot name these; see `read`."""
        self.read_for_minions(names, config, kwargs)

    def read_for_minions(
        self, names: Sequence[str], config: str = "", kwargs: Mapping[str, Any] | None = None
    ) -> tuple[str, tuple[str, ...]]:
        """As `read`, and the returners of the tree, which the minions of the job give their returns to."""
        tree = self.on_minions(names)
        rest = [name for name in _each(names) if name not in tree]
        if not tree:
            return self.read(rest, config, kwargs), ()
        # Their options are known to the modules alone, and may be of either.
        self._packed(JobReturners(names=tree, config=config, kwargs=dict(kwargs or {})))
        return (self._read(rest, config, kwargs) if rest else ""), tree

    def read(self, names: Sequence[str], config: str = "", kwargs: Mapping[str, Any] | None = None) -> str:
        """As a run keeps it; empty when there is nobody but the store.

        Args:
            names: of returners; each may be several with commas between.
            config: the profile of their options in the configuration.
            kwargs: options above those.

        Raises:
            ServiceError: there is no such returner, profile or option, or the options are over the limit.
        """
        found = self._read(names, config, kwargs)
        if found and kwargs:
            _check_options(returners_of(found).names, kwargs)
        return found

    def _read(self, names: Sequence[str], config: str, kwargs: Mapping[str, Any] | None) -> str:
        wanted = _each(names)
        for name in wanted:
            if name != LOCAL and name not in BUILT_IN:
                hint = did_you_mean(name, BUILT_IN) or f"there are {', '.join((LOCAL, *BUILT_IN))}."
                message = f"returner {name!r} is none of the controller's, which delivers what jobs return"
                if name in self.tree.names:
                    hint = "it is a module of the tree, which runs on minions and gets what they return"
                raise ServiceError("bad-request", message, hint=hint)
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
        return self._packed(found) if found.names else ""

    def _packed(self, found: JobReturners) -> str:
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


def _check_options(names: Sequence[str], kwargs: Mapping[str, Any]) -> None:
    """ServiceError for an option that none of these returners has: it would change nothing."""
    known = frozenset[str]().union(*(BUILT_IN[name].options for name in names))
    for option in map(str, kwargs):
        if option not in known:
            own = option.rpartition(".")[2]
            hint = f"write {own}, without what stands before it" if own in known else did_you_mean(option, known)
            raise ServiceError(
                "bad-request",
                f"{' and '.join(names)}: there is no option {option!r}",
                hint=hint or f"there are {', '.join(sorted(known))}",
            )


def _each(names: Sequence[str]) -> list[str]:
    return [one for name in names for part in name.split(",") if (one := part.strip())]


def returners_of(kept: str) -> JobReturners:
    """What a run keeps of its returners."""
    return msgspec.json.decode(kept, type=JobReturners) if kept else JobReturners()
