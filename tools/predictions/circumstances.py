"""What edits are drawn, and in what circumstances: minions away or paused, changes by hand, branches behind."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass

from tools.predictions.edits import edit
from tools.predictions.journey import Journey, Journeys
from tools.predictions.site import MINIONS, SLS, Site

_BY_HAND, _PAUSED, _AWAY, _BACK, _BEHIND, _RESTARTED, _MORE = 0.15, 0.08, 0.06, 0.5, 0.1, 0.03, 0.3
"""How often each of them is so."""


@dataclass(slots=True)
class Circumstances:
    """A row of edits."""

    journeys: Journeys
    site: Site
    draw: random.Random
    only: str = ""
    """Edits of one kind."""
    calm: bool = False
    """Whether nothing but the edits happens."""
    _good: Site | None = None
    """The newest site that was no error."""

    def next(self) -> Journey:
        """Draw an edit, and make it."""
        before = self.site
        what, site = self._edited()
        said = [] if self.calm else self._drawn()
        behind = (
            not self.calm and self.draw.random() < _BEHIND and not before.broken and "aply" not in str(before.policy)
        )
        beside = self._beside(before, site) if behind else None
        if beside is not None:
            said.append("behind")
        journey = self.journeys.make("; ".join([what, *said]), site, beside)
        if journey.outcome.broken or journey.outcome.refused:
            self._good = self._good or before
        else:
            self._good = None
        self.site = site
        if (self.journeys.away or self.journeys.paused or self.site.policy) and self.draw.random() < _BACK:
            self.journeys.all_back()
        return journey

    def _edited(self) -> tuple[str, Site]:
        if self._good is not None:
            return self._with_more("revert", copy.deepcopy(self._good))
        if self.journeys.failed:  # else everything that follows would be about the failure
            return self._with_more(*self.journeys.mended(self.site))
        return edit(self.site, self.draw, self.only)

    def _with_more(self, what: str, site: Site) -> tuple[str, Site]:
        """What mends something, sometimes with another edit."""
        if self.draw.random() >= _MORE:
            return what, site
        more, site = edit(site, self.draw, self.only)
        return f"{what} and {more}", site

    def _drawn(self) -> list[str]:
        """What happens before the edit, in words."""
        here = [minion for minion in MINIONS if minion not in self.journeys.away]
        said = []
        if here and self.draw.random() < _BY_HAND:
            said.append(self.journeys.by_hand(self.draw.choice(here), self.draw))
        if self.draw.random() < _PAUSED:
            said.append(self.journeys.pause(self.draw.choice(list(MINIONS))))
        if len(here) > 1 and self.draw.random() < _AWAY:
            said.append(self.journeys.stop(self.draw.choice(here)))
        if self.draw.random() < _RESTARTED:
            some = ["controller", *(minion for minion in MINIONS if minion not in self.journeys.away)]
            said.append(self.journeys.restart(self.draw.choice(some)))
        return [each for each in said if each]

    def _beside(self, before: Site, site: Site) -> Site | None:
        """What others merge meanwhile: in a file that the edit leaves alone; `site` gets it, too."""
        beside = copy.deepcopy(before)
        free = [name for name in ("macro", "map") if getattr(site, name) == getattr(before, name)]
        free += [name for name in SLS if site._sls(name) == before._sls(name) and before.blocks[name]]
        what = self.draw.choice(free) if free else ""
        if not what:
            return None
        if what in SLS:
            at = self.draw.randrange(len(before.blocks[what]))
            for each in (beside, site):
                each.blocks[what][at].number += 1
        else:
            for each in (beside, site):
                setattr(each, what, getattr(before, what) + 1)
        return beside
