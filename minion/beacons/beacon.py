"""What a beacon is made of: the check of its options, and how it looks at the machine.

Each module of `kinds` has `BEACONS`, some of these by name. A beacon is either a look that is done again and again
(`look`), or a watch that the kernel or a child wakes (`watch`). `minion.beacons.host` calls them; none knows the
configuration, the agent or another beacon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

Options: TypeAlias = Mapping[str, Any]
"""The options of a beacon, its list of mappings made one mapping, without those that all beacons have."""

Memory: TypeAlias = MutableMapping[str, Any]
"""What a beacon keeps between looks: plain values."""

Found: TypeAlias = list[dict[str, Any]]
"""Data of events, each with the end of its tag as `tag`, if it has one."""

Where: TypeAlias = tuple[str, ...]

Complaint: TypeAlias = tuple[Where, str]
"""Keys that lead to what is wrong in the options, and what is wrong with it."""


class BeaconFailed(Exception):
    """A look that came to nothing; the text says why."""


def described(error: BaseException) -> str:
    """What to say of an error of a look."""
    text = str(error)[:1000]
    return text if isinstance(error, BeaconFailed) else f"{type(error).__name__}: {text}"


class World(NamedTuple):
    """What beacons see of the process that they run in."""

    functions: Mapping[str, Callable[..., Any]]
    """Execution functions by full name."""
    now: Callable[[], float]
    """Seconds since the epoch."""


class Watch(Protocol):
    """A beacon that is woken."""

    def readers(self) -> Sequence[int]:
        """Descriptors that are readable when there may be something."""

    def look(self) -> Found:
        """What happened since the last time. Also called about once a second while `waits` is true."""

    @property
    def waits(self) -> bool:
        """Whether something has to be looked for that wakes nobody, as a file that is not there yet."""

    def close(self) -> None:
        """Let go of descriptors and children."""


def _nothing_wrong(options: Options) -> Iterator[Complaint]:
    yield from ()


class BeaconKind(NamedTuple):
    """A beacon as the registry has it."""

    check: Callable[[Options], Iterator[Complaint]] = _nothing_wrong
    look: Callable[[Options, Memory, World], Found] | None = None
    watch: Callable[[Options, World], Watch] | None = None
    interval: float = 1.0
    """Seconds between two looks where the configuration gives none."""
    slow: bool = False
    """Whether a look may wait for something: it is done in a process of its own, within `seconds`."""
    quick: Callable[[Options, Memory, World], Found | None] | None = None
    """Of a slow one: what a look would find, where that is known without waiting; None: it is not."""
    seconds: float = 30.0
    """That a slow look may take."""
    known: frozenset[str] | None = None
    """Options that it has; None: any, as names of mount points."""
    bad: Callable[[Options, Memory], bool] | None = None
    """Whether the condition was bad at the last look, by what it remembers; None: if it found anything."""
    own_changes: bool = False
    """Whether it knows `onchangeonly` and `emitatstartup` itself; for the others the host does."""


def percent(value: Any) -> float:
    """A threshold, as `63`, `63.5` or `63%`. ValueError."""
    if isinstance(value, str):
        return float(value.replace("%", ""))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(value)
    return float(value)


def check_percent(options: Options, key: str) -> Iterator[Complaint]:
    """Complaints about a threshold in percent that has to be there."""
    if key not in options:
        yield (), f"{key} is missing: a threshold, as `- {key}: 63%`"
        return
    yield from check_is_percent(options[key], (key,))


def check_is_percent(value: Any, inside: Where) -> Iterator[Complaint]:
    """Complaints about a value that has to be a threshold in percent."""
    try:
        percent(value)
    except ValueError:
        yield inside, f"{inside[-1]} must be a percentage, as 63%, not {value!r}"


def check_mapping(options: Options, key: str, example: str) -> Iterator[Complaint]:
    """Complaints about an option that has to be a mapping of mappings, of which empty ones may be left out."""
    if key not in options:
        yield (), f"{key} is missing: {example}"
    elif not isinstance(options[key], Mapping):
        yield (key,), f"{key} must be a mapping: {example}"
    else:
        for name, value in options[key].items():
            if value is not None and not isinstance(value, Mapping):
                yield (key, str(name)), f"{name} must be a mapping, not {value!r}: {example}"
