"""`hold` of `pkg.installed`: what changes, and Salt's lines about it.

Called by `minion.states.pkg.state`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minion.machine.plan import Change
from minion.providers.pkg.packages import Package, PackageManager
from minion.states.pkg.wanted import WantedPackages


def hold_changes(
    manager: PackageManager,
    wanted: Sequence[WantedPackages],
    missing: Sequence[WantedPackages],
    have: Mapping[str, Package],
    hold: bool | None,
) -> list[Change]:
    """A change for each package that is not held, or let go, as `hold` says; of new packages without a key."""
    if hold is None:
        return []
    new = {one.name for one in missing}
    held = bool(hold)
    words = ("install", "hold") if held else ("hold", "install")

    def change(name: str) -> Change:
        return Change(
            key="" if name in new else name,
            old=words[0],
            new=words[1],
            act=lambda machine: manager.hold(machine, [name], held=held),
        )

    return [change(one.name) for one in wanted if _held(have, one.name) != held]


def _held(have: Mapping[str, Package], name: str) -> bool:
    return name in have and have[name].held


def hold_notes(
    wanted: Sequence[WantedPackages], have: Mapping[str, Package], hold: bool | None, tense: str
) -> list[str]:
    """Salt's lines about holds; `tense` is `already`, `would be` or `were`."""
    if hold is None:
        return []
    notes = []
    for one in wanted:
        if _held(have, one.name) == bool(hold):
            word = "is already set to be held" if hold else "is already not held"
        elif tense == "would be":
            word = "is set to be held" if hold else "is set not to be held"
        else:
            word = "is now being held" if hold else "is no longer being held"
        notes.append(f"Package {one.name} {word}.")
    return notes
