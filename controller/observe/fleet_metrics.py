"""What Prometheus sees of environments, waves and conditions, as at the last look: a scrape costs nothing.

Made by the composition root. The number of groups is bounded (`controller.fleet_status.rollup.MOST_GROUPS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from controller.schema.fleet.status import GroupStatus


class FleetMetrics(Collector):
    """The series.

    Args:
        registry: of the controller.
        groups: gives the groups of the last look.
    """

    def __init__(self, registry: CollectorRegistry, groups: Callable[[], Sequence[GroupStatus]]) -> None:
        self._groups = groups
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The series of the last look."""
        labels = ["by", "group"]
        minions = GaugeMetricFamily(
            "saltern_group_minions", "Minions of an environment or a wave", labels=[*labels, "sync", "health"]
        )
        holds = GaugeMetricFamily(
            "saltern_condition", "1 for the status that a condition has", labels=[*labels, "type", "status"]
        )
        since = GaugeMetricFamily(
            "saltern_condition_transition_timestamp_seconds",
            "When the status of a condition became what it is",
            labels=[*labels, "type"],
        )
        for one in self._groups():
            for state in one.states if one.scope != "fleet" else ():
                minions.add_metric((one.scope, one.name, state.sync, state.health), state.minions)
            for each in one.conditions:
                holds.add_metric((one.scope, one.name, each.type, each.status), 1)
                since.add_metric((one.scope, one.name, each.type), each.last_transition)
        yield from (minions, holds, since)
