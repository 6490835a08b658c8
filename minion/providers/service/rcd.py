"""Services of FreeBSD, through `service`.

Called through the port `minion.providers.service.services.ServiceManager`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.service.services import ServiceState, Verb, check_name, is_script, scripts_in

_FOLDERS = ("/etc/rc.d", "/usr/local/etc/rc.d")


@dataclass(frozen=True, slots=True)
class RcD:
    """`ServiceManager` where rc(8) runs the services."""

    def service(self, machine: Reader, name: str) -> ServiceState | None:
        """What `service NAME onestatus` and `service NAME enabled` say."""
        check_name(name)
        if not any(is_script(machine, f"{folder}/{name}") for folder in _FOLDERS):
            return None
        # The `one` verbs do not mind whether it is enabled.
        running = machine.query(["service", name, "onestatus"]).returncode == 0
        return ServiceState(
            name=name, running=running, enabled=machine.query(["service", name, "enabled"]).returncode == 0
        )

    def services(self, machine: Reader) -> Sequence[str]:
        """Names of the scripts, sorted."""
        return sorted({name for folder in _FOLDERS for name in scripts_in(machine, folder)})

    def control(self, machine: Machine, name: str, verb: Verb, *, block: bool = True) -> Completed:
        """`service NAME oneVERB`."""
        check_name(name)
        return machine.run(["service", name, f"one{verb.removeprefix('force-')}"])

    def enable(self, machine: Machine, name: str, *, enabled: bool) -> Completed:
        """`service NAME enable` or `disable`, which write rc.conf."""
        check_name(name)
        return machine.run(["service", name, "enable" if enabled else "disable"])

    def masked(self, machine: Reader, name: str, *, runtime: bool) -> bool:
        """Scripts cannot be masked."""
        raise StateFailed("Service masking not available on this minion")

    def mask(self, machine: Machine, name: str, *, masked: bool, runtime: bool) -> Completed:
        """Scripts cannot be masked."""
        raise StateFailed("Service masking not available on this minion")
