"""Which wave of the live policy each minion is in. Matched in a thread, and again when grains are others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.policy.rollout import RolloutPolicy, Wave
from controller.sessions.sessions import Sessions
from controller.store import Store
from controller.store.rows import chunks
from highstate.targeting.match import match_minion
from highstate.types import Minion

ALL = "all"
"""The wave of a policy without waves."""
REST = "rest"


@dataclass(slots=True, kw_only=True)
class WaveMembers:
    """Waves by minion, as they were found last."""

    store: Store
    sessions: Sessions
    _waves: tuple[Wave, ...] = ()
    _known: dict[str, tuple[Mapping[str, Any] | None, str]] = field(default_factory=dict)
    """Minion -> the grains that it was matched by (None: those of the store), and its wave."""

    async def of(self, minions: Sequence[str], policy: RolloutPolicy | None) -> dict[str, str]:
        """Minion -> wave, in the order of waves."""
        waves = policy.waves if policy is not None else ()
        if not waves:
            return dict.fromkeys(minions, ALL)
        if waves != self._waves:
            self._waves, self._known = waves, {}
        wanted = []
        for minion in minions:
            session, known = self.sessions.session(minion), self._known.get(minion)
            grains = session.grains if session is not None else None
            if known is None or (grains is not None and grains is not known[0]):
                wanted.append((minion, grains))
        self._known.update(await asyncio.to_thread(self._matched, waves, wanted))
        self._known = {minion: self._known[minion] for minion in minions}
        places = {wave.name: place for place, wave in enumerate((*waves, Wave(name=REST)))}
        found = {minion: self._known[minion][1] for minion in minions}
        return dict(sorted(found.items(), key=lambda each: places[each[1]]))

    def _matched(
        self, waves: Sequence[Wave], wanted: Sequence[tuple[str, Mapping[str, Any] | None]]
    ) -> dict[str, tuple[Mapping[str, Any] | None, str]]:
        away = [minion for minion, grains in wanted if grains is None]
        stored: dict[str, Mapping[str, Any]] = {}
        for part in chunks(away):
            stored |= {minion: record.grains for minion, record in self.store.minions.of_ids(part).items()}
        found = {}
        for minion, grains in wanted:
            one = Minion(id=minion, grains=stored.get(minion, {}) if grains is None else grains)
            name = next((wave.name for wave in waves if match_minion(wave.target, one)), REST)
            found[minion] = grains, name
        return found
