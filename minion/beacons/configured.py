"""The configuration of beacons: of the minion's files and of its pillar, merged as Salt does, and its faults.

Called by the host, which runs what is configured, and by the functions `beacons.*`. A beacon that is not as it has to
be is left out with the reason and its place; it costs no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minion.beacons.beacon import BeaconKind
from minion.beacons.registry import kind_of, module_of, unknown
from options.near_names import did_you_mean

SHORTEST_INTERVAL = 0.1
"""Seconds; a shorter one is a busy loop."""

COMMON = ("beacon_module", "disable_during_state_run", "enabled", "ensure", "interval", "run_once")
"""Options that all beacons have."""

_CHANGES = ("onchangeonly", "emitatstartup")
_SALTS_OWN = ("_beacon_name", "enable")
"""What Salt's functions and states put among the options, and nothing reads."""

_ENSURE_KEYS = ("sls", "state", "highstate", "tries", "backoff")


class Ensure(NamedTuple):
    """What heals the condition of a beacon."""

    keys: tuple[str, ...] = ()
    """SLS, or ids or names of states; empty: the whole highstate."""
    of: str = "highstate"
    """sls, state or highstate."""
    tries: int = 3
    """Times that it is tried before it is told that it does not help."""
    backoff: float = 30.0
    """Seconds between the first two tries; twice as long each time, up to an hour."""


class ConfiguredBeacon(NamedTuple):
    """One beacon that can run."""

    name: str
    module: str
    given: Sequence[Mapping[str, Any]]
    """As it is written, for modules of the tree."""
    options: Mapping[str, Any]
    """One mapping, without what all beacons have."""
    interval: float | None = None
    """Seconds; None: the beacon's own."""
    skipped_in_runs: bool = False
    run_once: bool = False
    ensure: Ensure | None = None


class BeaconSources(NamedTuple):
    """Where beacons are configured."""

    own: Any = None
    """`beacons` of the minion's files, or as functions have changed it since."""
    places: Mapping[str, str] = {}
    """Keys of what is in it, joined by slashes -> `file:line`."""
    pillar: Any = None
    """`beacons` of the pillar."""


def modules_of(sources: BeaconSources) -> Iterator[str]:
    """Modules of the built-in beacons that are named, whether or not they can run."""
    for given in (sources.own, sources.pillar):
        for name, items in given.items() if isinstance(given, Mapping) else ():
            listed = items if isinstance(items, list | tuple) else ()
            names = [
                str(item["beacon_module"]) for item in listed if isinstance(item, Mapping) and "beacon_module" in item
            ]
            yield from filter(None, map(module_of, (str(name), *names)))


class _Refused(Exception):
    """A beacon that cannot run: where inside its configuration, and why."""

    def __init__(self, inside: tuple[str | int, ...], why: str) -> None:
        super().__init__(why)
        self.inside = inside


def read_beacons(
    sources: BeaconSources, in_tree: Callable[[str], bool] = lambda name: False
) -> tuple[list[ConfiguredBeacon], list[str]]:
    """The beacons that can run and are enabled, and what is wrong with the others, each with its place.

    Args:
        sources: see there.
        in_tree: whether a name is that of a module of the tree, which comes before a built-in one.
    """
    found: list[ConfiguredBeacon] = []
    wrong: list[str] = []
    for name, given, place in _named(sources, wrong):
        try:
            one, complaints = _configured(str(name), given, in_tree)
        except _Refused as error:
            wrong.append(f"{place(error.inside)}: beacon {name}: {error}")
            continue
        wrong += [f"{place(inside)}: beacon {name}: {why}" for inside, why in complaints]
        if one is not None:
            found.append(one)
    return found, wrong


Place = Callable[[Sequence[str | int]], str]


def _named(sources: BeaconSources, wrong: list[str]) -> Iterator[tuple[Any, Any, Place]]:
    """Names and what is given for them, unless all are disabled; those of the minion's files count."""
    merged: dict[Any, tuple[Any, Place]] = {}
    for given, places, where in ((sources.pillar, {}, "pillar"), (sources.own, sources.places, "configuration")):
        if given is None:
            continue
        if not isinstance(given, Mapping):
            wrong.append(f"{places.get('', where)}: beacons must be a mapping of names to lists of options")
            continue
        for name, value in given.items():
            merged[name] = value, _placed(places, where, name)
    enabled, _ = merged.pop("enabled", (True, None))
    if enabled:
        yield from ((name, given, place) for name, (given, place) in merged.items())


def _placed(places: Mapping[str, str], where: str, name: Any) -> Place:
    def place(inside: Sequence[str | int]) -> str:
        words = (str(name), *map(str, inside))
        for length in range(len(words), -1, -1):
            if (found := places.get("/".join(words[:length]))) is not None:
                return found
        return f"{where}, beacons"

    return place


def _configured(
    name: str, given: Any, in_tree: Callable[[str], bool]
) -> tuple[ConfiguredBeacon | None, list[tuple[tuple[str | int, ...], str]]]:
    """The beacon, if it is enabled, and what of it nothing reads. _Refused."""
    items = _items(given)
    options = {key: value for item in items for key, value in item.items()}
    index = {key: number for number, item in enumerate(items) for key in item}
    if not options.get("enabled", True):
        return None, []
    module = str(options.get("beacon_module") or name)
    kind = None if in_tree(module) else kind_of(module)
    if kind is None and not in_tree(module):
        raise _Refused(_inside(index, "beacon_module"), unknown(module))
    own = {key: value for key, value in options.items() if key not in (*COMMON, *_SALTS_OWN)}
    for complaint, why in () if kind is None else kind.check(own):
        raise _Refused(_inside(index, *complaint), why)
    one = ConfiguredBeacon(
        name=name,
        module=module,
        given=items,
        options=own,
        interval=_interval(options.get("interval"), index),
        skipped_in_runs=_flag(options, "disable_during_state_run", index),
        run_once=_flag(options, "run_once", index),
        ensure=_ensure(options.get("ensure"), index),
    )
    unread = [(_inside(index, key), _unread(key, kind)) for key in own if not _is_read(key, kind)]
    return one, unread


def _items(given: Any) -> list[Mapping[str, Any]]:
    """The list of mappings. Salt refuses a mapping in its place, too."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        raise _Refused((), "must be a list: write a dash before each option, as `- interval: 60`")
    if not isinstance(given, list | tuple):
        raise _Refused((), f"must be a list of options, not {given!r}")
    items: list[Mapping[str, Any]] = []
    for number, item in enumerate(given):
        if not isinstance(item, Mapping):
            raise _Refused((number,), f"{item!r} must be an option with its value, as `- interval: 60`")
        items.append({str(key): value for key, value in item.items()})
    return items


def _inside(index: Mapping[str, int], *keys: str) -> tuple[str | int, ...]:
    return (index[keys[0]], *keys) if keys and keys[0] in index else ()


def _interval(value: Any, index: Mapping[str, int]) -> float | None:
    if value is None or value is False:
        return None
    try:
        seconds = float(value) if not isinstance(value, bool) else 0.0
    except (TypeError, ValueError):
        seconds = 0.0
    if not SHORTEST_INTERVAL <= seconds < float("inf"):
        raise _Refused(_inside(index, "interval"), f"interval must be a number of seconds, not {value!r}")
    return seconds


def _flag(options: Mapping[str, Any], key: str, index: Mapping[str, int]) -> bool:
    value = options.get(key, False)
    if not isinstance(value, bool):
        raise _Refused(_inside(index, key), f"{key} must be true or false, not {value!r}")
    return value


def _is_read(key: str, kind: BeaconKind | None) -> bool:
    """Whether an option counts; `onchangeonly` and its like are for beacons that look again and again."""
    return kind is None or kind.known is None or key in kind.known


def _unread(key: str, kind: BeaconKind | None) -> str:
    known = kind.known if kind is not None and kind.known is not None else frozenset[str]()
    if key in _CHANGES:
        return f"{key} counts for nothing here: this beacon tells changes alone"
    hint = did_you_mean(key, (*known, *COMMON)) or f"{', '.join(sorted((*known, *COMMON)))} are"
    return f"{key} is no option of it, and counts for nothing; {hint}"


def _ensure(given: Any, index: Mapping[str, int]) -> Ensure | None:
    if given is None or given is False:
        return None
    if given == "highstate":
        return Ensure()
    if not isinstance(given, Mapping) or not set(given) <= set(_ENSURE_KEYS):
        example = (
            "ensure must be `highstate`, or a mapping with sls or state: `ensure: {sls: web, tries: 3, backoff: 30}`"
        )
        raise _Refused(_inside(index, "ensure"), f"{example}, not {given!r}")
    of = next((key for key in ("sls", "state") if key in given), "highstate")
    names = given.get(of, ())
    names = (names,) if isinstance(names, str) else tuple(map(str, names if isinstance(names, list | tuple) else ()))
    tries, backoff = given.get("tries", Ensure().tries), given.get("backoff", Ensure().backoff)
    if not isinstance(tries, int) or isinstance(tries, bool) or tries < 1:
        raise _Refused(_inside(index, "ensure", "tries"), f"tries must be a whole number from 1 on, not {tries!r}")
    if isinstance(backoff, bool) or not isinstance(backoff, int | float) or backoff < 1:
        raise _Refused(_inside(index, "ensure", "backoff"), f"backoff must be a number of seconds, not {backoff!r}")
    return Ensure(() if of == "highstate" else names, of, tries, float(backoff))
