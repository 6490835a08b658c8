"""`saltutil.runner` and `sdb.get` in templates: what the controller can answer of the fleet and of its configuration.

Called by compiles through `port_calls`, from the compiler's threads. Built in are runners that look, and give
away nothing that a template might not see: no other minion's pillar.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from controller.adapters.sdb import Profiles
from controller.compilation.mine import GET, MineStore, fleet_answer
from controller.compilation.recorded_facts import FleetAnswer
from controller.sessions.sessions import Sessions
from controller.store import Store
from extmods.compile_modules import runner_call
from extmods.plain_data import plain
from highstate.ports import SecretFailed, SourceFailed, question
from highstate.targeting.match import match_minion, parse_target
from highstate.types import Minion
from matching.matcher import Matcher
from wire.messages import FactAnswer, FactQuery

if TYPE_CHECKING:
    from extmods.plugins import Plugins

BUILT_IN = ("cache.grains", "cache.mine", "manage.down", "manage.status", "manage.up", "mine.get")


class RunnerFailed(ValueError):
    """A runner that is not there or was called in a way that it cannot serve."""


class NoRunner(RunnerFailed):
    """A runner that the controller does not have; a tree may."""


@dataclass(slots=True, kw_only=True)
class Runners:
    """Answers questions about the fleet (`OF_THE_FLEET`)."""

    store: Store
    sessions: Sessions
    mines: MineStore
    plugins: Callable[[], Plugins | None]
    profiles: Profiles

    def answer(self, asked: FactQuery, minion: Minion) -> FleetAnswer:
        """The answer to one question of a compile for a minion."""
        if asked.fun == GET:
            return self.mines.answer(asked, minion)
        try:
            if asked.fun == "sdb.get":
                return self._secret(asked)
            name, args, kwargs = runner_call(*json.loads(asked.asked))
            if name in BUILT_IN:
                return self._built_in(name, args, kwargs)
            return self._own(name, args, kwargs, minion)
        except (RunnerFailed, SecretFailed, SourceFailed) as error:
            absent = isinstance(error, NoRunner)
            return FleetAnswer(answer=FactAnswer(error=f"cannot be answered: {error}"), mark="", absent=absent)

    def _built_in(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> FleetAnswer:
        if name == GET:
            # For the master, as in Salt: what is kept from some is kept from it.
            said = self.mines.answer(FactQuery(fun=GET, asked=question(args, kwargs)), None)
            return said if not said.answer.error else FleetAnswer(answer=said.answer, mark="")
        function = {
            "cache.grains": self._grains,
            "cache.mine": self._mine,
            "manage.up": self._up,
            "manage.down": self._down,
            "manage.status": self._status,
        }[name]
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise RunnerFailed(f"{name}: {error}") from None
        return fleet_answer(FactAnswer(value=function(*args, **kwargs)), shared=True)

    def _secret(self, asked: FactQuery) -> FleetAnswer:
        """`sdb.get`; who changes it is not known, so that it is looked up at each compile."""
        (uri, *_), _ = json.loads(asked.asked)
        return FleetAnswer(answer=FactAnswer(value=plain(self.profiles.get(str(uri)))), mark="")

    def _grains(self, tgt: str = "*", tgt_type: str = "glob") -> dict[str, Any]:
        return {
            each.id: dict(each.grains) for each in self.store.minions.all() if each.id in self._those(tgt, tgt_type)
        }

    def _mine(self, tgt: str = "*", tgt_type: str = "glob") -> dict[str, Any]:
        mines = {minion: self.store.mines.of(minion) for minion in self._those(tgt, tgt_type)}
        return {
            minion: {fun: entry.value for fun, entry in entries.items() if not entry.allow}
            for minion, entries in mines.items()
            if entries
        }

    def _up(self, tgt: str = "*", tgt_type: str = "glob") -> list[str]:
        return [each for each in self._those(tgt, tgt_type) if self.sessions.session(each) is not None]

    def _down(self, tgt: str = "*", tgt_type: str = "glob") -> list[str]:
        return [each for each in self._those(tgt, tgt_type) if self.sessions.session(each) is None]

    def _status(self, tgt: str = "*", tgt_type: str = "glob") -> dict[str, list[str]]:
        return {"up": self._up(tgt, tgt_type), "down": self._down(tgt, tgt_type)}

    def _those(self, tgt: str, tgt_type: str) -> list[str]:
        """Accepted minions of a target that needs no pillar, by id."""
        kind: Any = tgt_type
        if kind not in ("glob", "list", "pcre", "grain", "grain_pcre", "ipcidr"):
            raise RunnerFailed(f"a target of type {tgt_type!r} is not taken here; use mine.get, or a glob or grain")
        accepted = frozenset(self.store.keys.accepted_ids())
        known = [Minion(id=each.id, grains=each.grains) for each in self.store.minions.all() if each.id in accepted]
        matcher = Matcher(limits=self.mines.limits)
        try:
            parse_target(tgt, kind=kind, matcher=matcher)
            return sorted(each.id for each in known if match_minion(tgt, each, kind=kind, matcher=matcher))
        except ValueError as error:
            raise RunnerFailed(str(error)) from None

    def _own(self, name: str, args: list[Any], kwargs: dict[str, Any], minion: Minion) -> FleetAnswer:
        plugins = self.plugins()
        module = name.partition(".")[0]
        if plugins is None or module not in plugins.names("runners"):
            raise NoRunner(
                f"there is no runner {name!r} (there are {', '.join(BUILT_IN)}, those of `extension_modules`, and "
                "those of the tree's `_runners`)"
            )
        value = plugins.call("runners", name, minion, {}, lambda function: function(*args, **kwargs))
        # What it stands on is not known: it is asked at each compile, and changes compile nobody.
        return FleetAnswer(answer=FactAnswer(value=value), mark="")
