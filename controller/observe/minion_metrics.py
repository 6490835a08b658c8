"""What Prometheus sees of minions: how many are in each state, and, where that is wanted, a series of each minion.

Read from callbacks at each scrape, so that a minion that is forgotten leaves no series behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from controller.observe.drift_classes import DriftClass
from controller.schema.minions import HealthName, SyncName


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionSample:
    """One minion at the time of a scrape."""

    id: str
    sync: SyncName
    health: HealthName
    connected: bool = False
    drifted: int = 0
    """States that the last drift check found changed."""
    ignored: int = 0
    """States of which the last drift check found something changed that policy ignores."""
    unnamed: int = 0
    """Resources that a state made, that none names any more, and that are there still."""
    classes: Mapping[str, int] = field(default_factory=dict)
    """Class of what differs -> states."""
    missing_sources: int = 0
    """States of its document whose source is not in the tree."""
    unconfirmed: bool = False
    """Whether what it has applied waits for `saltern confirm`."""
    applied_at: float | None = None
    """When it last applied a revision, in seconds since the epoch."""
    revision_at: float | None = None
    """When the revision that it runs was committed, in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionTotals:
    """All minions together."""

    states: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Sync and health -> minions."""
    connected: int = 0
    drift: Mapping[str, int] = field(default_factory=dict)
    """Class of what differs -> states of all minions."""
    missing_sources: int = 0
    unconfirmed: int = 0


class TotalsCount:
    """Adds minions up, one after the other."""

    def __init__(self) -> None:
        self._states = Counter[tuple[str, str]]()
        self._drift = Counter[str]()
        self._connected = self._missing_sources = self._unconfirmed = 0

    def add(
        self,
        state: tuple[str, str],
        drift: Mapping[str, int],
        *,
        connected: bool,
        missing_sources: int,
        unconfirmed: bool,
    ) -> None:
        """One more. `state`: its sync and health; `drift`: class of what differs -> states."""
        self._states[state] += 1
        for each, count in drift.items():
            self._drift[each] += count
        self._connected += connected
        self._missing_sources += missing_sources
        self._unconfirmed += unconfirmed

    def totals(self) -> MinionTotals:
        """Of all that were added."""
        return MinionTotals(
            states=dict(self._states),
            connected=self._connected,
            drift=dict(self._drift),
            missing_sources=self._missing_sources,
            unconfirmed=self._unconfirmed,
        )


_NO_DRIFT: Mapping[str, int] = dict.fromkeys(DriftClass, 0)


def _always() -> bool:
    return True


class MinionMetrics(Collector):
    """The series.

    Args:
        clock: seconds since the epoch, for ages.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.samples: Callable[[], Iterable[MinionSample]] = tuple
        """All minions; asked where each has series of its own."""
        self.totals: Callable[[], MinionTotals] = MinionTotals
        """All of them together, at little cost; asked where they have none."""
        self.is_per_minion: Callable[[], bool] = _always
        self._clock = clock

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The series of now."""
        single = self.is_per_minion()
        if single:
            series = _SingleSeries(self._clock())
            for sample in self.samples():
                series.add(sample)
            yield from series.families
            totals = series.count.totals()
        else:
            totals = self.totals()
        yield from _of_totals(totals)
        yield GaugeMetricFamily(
            "saltern_per_minion_series", "1 while single minions have series of their own", value=single
        )


def _of_totals(totals: MinionTotals) -> Iterator[Metric]:
    counts = _gauge("minions", "Minions by sync and health", "sync", "health")
    for labels, count in sorted(totals.states.items()):
        counts.add_metric(labels, count)
    drift = _gauge("drift_states", "States that differ on all minions, by what is behind it", "class")
    for each, count in sorted({**_NO_DRIFT, **totals.drift}.items()):
        drift.add_metric((each,), count)
    yield from (counts, drift)
    for name, text, value in (
        ("connected_minions", "Minions that are connected", totals.connected),
        (
            "missing_sources",
            "States of all minions whose source is not in the tree, which fail",
            totals.missing_sources,
        ),
        ("unconfirmed_minions", "Minions that go back unless somebody confirms what they applied", totals.unconfirmed),
    ):
        yield GaugeMetricFamily(f"saltern_{name}", text, value=value)


class _SingleSeries:
    """The series of single minions at one scrape."""

    def __init__(self, now: float) -> None:
        self._now = now
        self.count = TotalsCount()
        self._sync = _gauge("minion_sync", "1 for the sync status that a minion has", "minion", "sync")
        self._health = _gauge("minion_health", "1 for the health that a minion has", "minion", "health")
        self._connected = _gauge("minion_connected", "1 when the minion is connected", "minion")
        self._drifted = _gauge("minion_drifted_states", "States that the last drift check found changed", "minion")
        self._classes = _gauge("minion_drift", "States that differ, by what is behind it", "minion", "class")
        self._ignored = _gauge("minion_ignored_states", "States that differ in what policy ignores", "minion")
        self._unnamed = _gauge("minion_unnamed_resources", "What states made there and none names any more", "minion")
        self._missing = _gauge("minion_missing_sources", "States whose source is not in the tree, which fail", "minion")
        self._applied = _gauge("minion_applied_timestamp_seconds", "When it last applied a revision", "minion")
        self._age = _gauge("applied_revision_age_seconds", "Age of the commit that a minion has applied", "minion")

    @property
    def families(self) -> tuple[GaugeMetricFamily, ...]:
        """All of them."""
        return (
            self._sync,
            self._health,
            self._connected,
            self._drifted,
            self._classes,
            self._ignored,
            self._unnamed,
            self._missing,
            self._applied,
            self._age,
        )

    def add(self, sample: MinionSample) -> None:
        """One more minion."""
        self.count.add(
            (sample.sync, sample.health),
            sample.classes,
            connected=sample.connected,
            missing_sources=sample.missing_sources,
            unconfirmed=sample.unconfirmed,
        )
        minion = (sample.id,)
        self._sync.add_metric((sample.id, sample.sync), 1)
        self._health.add_metric((sample.id, sample.health), 1)
        self._connected.add_metric(minion, sample.connected)
        self._drifted.add_metric(minion, sample.drifted)
        for each, count in sample.classes.items():
            self._classes.add_metric((sample.id, each), count)
        self._ignored.add_metric(minion, sample.ignored)
        self._unnamed.add_metric(minion, sample.unnamed)
        self._missing.add_metric(minion, sample.missing_sources)
        if sample.applied_at is not None:
            self._applied.add_metric(minion, sample.applied_at)
        if sample.revision_at is not None:
            self._age.add_metric(minion, max(0.0, self._now - sample.revision_at))


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"saltern_{name}", text, labels=labels)
