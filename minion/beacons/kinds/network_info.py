"""The beacon `network_info`: counters of network interfaces that reach a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from minion.beacons.beacon import BeaconKind, Complaint, Found, Memory, Options, World, check_mapping

_COLUMNS = {
    "bytes_sent": 8,
    "bytes_recv": 0,
    "packets_sent": 9,
    "packets_recv": 1,
    "errin": 2,
    "errout": 10,
    "dropin": 3,
    "dropout": 11,
}
"""Salt's names -> columns of /proc/net/dev."""
_TYPES = ("equal", "greater")
_EXAMPLE = "`- interfaces:` with a mapping for each, as `eth0: {type: greater, errin: 100}`"


def _check(options: Options) -> Iterator[Complaint]:
    wrong = list(check_mapping(options, "interfaces", _EXAMPLE))
    yield from wrong
    for name, given in {} if wrong else options["interfaces"].items():
        inside = ("interfaces", str(name))
        if not given or not set(given) & set(_COLUMNS):
            yield inside, f"{name} must name one of {', '.join(_COLUMNS)}"
            continue
        for key, value in given.items():
            if key == "type":
                if value not in _TYPES:
                    yield (*inside, key), f"type must be equal or greater, not {value!r}"
            elif key not in _COLUMNS:
                yield (*inside, str(key)), f"{key} is no counter: {', '.join(_COLUMNS)} are"
            elif isinstance(value, bool) or not str(value).isdigit():
                yield (*inside, key), f"{key} must be a whole number, not {value!r}"


def _look(options: Options, memory: Memory, world: World) -> Found:
    counters = _counters()
    found: Found = []
    for name, given in options["interfaces"].items():
        now = counters.get(name)
        if now is None:
            continue
        greater = given.get("type") == "greater"
        wanted = {key: int(value) for key, value in given.items() if key != "type"}
        if any(now[key] > value if greater else now[key] == value for key, value in wanted.items()):
            found.append({"interface": name, "network_info": now})
    return found


def _counters() -> dict[str, dict[str, int]]:
    found = {}
    for line in Path("/proc/net/dev").read_text(encoding="ascii", errors="replace").splitlines()[2:]:
        name, _, numbers = line.rpartition(":")
        columns = numbers.split()
        found[name.strip()] = {key: int(columns[at]) for key, at in _COLUMNS.items()}
    return found


_KIND = BeaconKind(check=_check, look=_look, known=frozenset(("interfaces", "emitatstartup", "onchangeonly")))

BEACONS: Mapping[str, BeaconKind] = {"network_info": _KIND}
