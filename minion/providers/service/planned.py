"""Services as a run under test=True would have left them by now.

Chosen by `detection` for a planned machine (`minion.machine.planned`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from minion.machine.failure import ContentUnknown
from minion.machine.plan import Reader
from minion.machine.planned.changes import PlannedService
from minion.providers.service.services import ServiceManager, ServiceState


class ServiceToCome:
    """A `ServiceState` of a service that only this run brings; ContentUnknown for what no state has decided."""

    switchable = True

    def __init__(self, name: str, planned: PlannedService) -> None:
        self.name = name
        self._planned = planned

    @property
    def running(self) -> bool:
        """Whether it would run."""
        return self._known(self._planned.running, "runs")

    @property
    def enabled(self) -> bool:
        """Whether it would be started at boot."""
        return self._known(self._planned.enabled, "is started at boot")

    def _known(self, value: bool | None, what: str) -> bool:
        if value is None:
            raise ContentUnknown(f"whether {self.name}, which an earlier state of this run may bring, {what}")
        return value


class PlannedServiceManager:
    """`ServiceManager` of a planned machine; what is not planned is the service manager's own."""

    def __init__(self, manager: ServiceManager, planned: Mapping[str, PlannedService]) -> None:
        """Args:
        manager: that of the machine.
        planned: name -> how earlier states of the run would leave a service.
        """
        self._manager = manager
        self._planned = planned

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def service(self, machine: Reader, name: str) -> ServiceState | None:
        """How the service would be; None when there is none, and none is to come."""
        found, planned = self._manager.service(machine, name), self._planned.get(name)
        if planned is None:
            return found
        if found is None:
            return cast(ServiceState, ServiceToCome(name, planned))
        return replace(
            found,
            running=found.running if planned.running is None else planned.running,
            enabled=found.enabled if planned.enabled is None else planned.enabled,
        )
