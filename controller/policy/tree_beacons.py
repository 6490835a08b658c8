"""The option `beacons` of saltern.yaml: beacons for minions by their ids, which go to them with their document.

    beacons:
    - target: 'web*'
      beacons:
        load: [{averages: {1m: [0.0, 4.0]}}, {interval: 30}]

What is badly formed refuses the revision, with file and line. Targets are of ids alone: a beacon by grain or pillar is
written in pillar.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highstate.targeting.targeted_beacons import TargetedBeacons
from highstate.types import Files
from minion.beacons.configured import BeaconSources, read_beacons
from options.document import Fault, Option

MOST_ENTRIES = 1000
_FORM = "write `- {target: 'web*', beacons: {load: [...]}}`"


def read_tree_beacons(option: Option | None, files: Files, faults: list[Fault]) -> tuple[TargetedBeacons, ...]:
    """What an option holds; what is wrong with it is appended to the faults."""
    if option is None or option.value in (None, []):
        return ()
    if not isinstance(option.value, list | tuple) or len(option.value) > MOST_ENTRIES:
        faults.append(Fault(option.place, f"beacons must be a list of at most {MOST_ENTRIES} targets", _FORM))
        return ()
    found = []
    for number, entry in enumerate(option.value):
        given = entry if isinstance(entry, Mapping) else {}
        target, beacons = given.get("target"), given.get("beacons")
        globs = [target] if isinstance(target, str) else target
        well_formed = isinstance(globs, list) and globs and all(isinstance(one, str) and one for one in globs)
        if set(given) != {"target", "beacons"} or not well_formed or not isinstance(beacons, Mapping):
            text = "beacons: an entry has `target`, a glob of ids or a list of them, and `beacons`, a mapping"
            faults.append(Fault(option.at((number,)), text, _FORM))
            continue
        faults += _wrong(option, number, beacons, files)
        found.append(TargetedBeacons(tuple(globs or ()), beacons))
    return tuple(found)


def _wrong(option: Option, number: int, beacons: Mapping[str, Any], files: Files) -> list[Fault]:
    """What the minion would say of them."""
    head = (number, "beacons")
    places = {"/".join(map(str, inside[2:])): place for inside, place in option.inner.items() if inside[:2] == head}
    sources = BeaconSources(own=beacons, places=places)
    _, wrong = read_beacons(sources, lambda name: files.oid(f"_beacons/{name}.py", "base") is not None)
    faults = []
    for text in wrong:
        place, _, why = text.partition(": ")
        known = place in places.values()
        faults.append(Fault(place if known else option.at(head), why if known else text))
    return faults
