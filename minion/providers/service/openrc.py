"""Services under OpenRC (Alpine, Gentoo), through `rc-service` and `rc-update`.

Called through the port `minion.providers.service.services.ServiceManager`. A service is enabled when a run level has a
link to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.service.services import ServiceState, Verb, check_name, is_script, scripts_in

_SCRIPTS = "/etc/init.d"
_LEVELS = "/etc/runlevels"
_ENABLED_IN = "default"


@dataclass(frozen=True, slots=True)
class OpenRC:
    """`ServiceManager` where OpenRC runs the machine."""

    def service(self, machine: Reader, name: str) -> ServiceState | None:
        """What `rc-service NAME status` and the run levels say."""
        check_name(name)
        if not is_script(machine, f"{_SCRIPTS}/{name}"):
            return None
        asked = machine.query(["rc-service", "--nocolor", name, "status"])
        return ServiceState(name=name, running=asked.returncode == 0, enabled=bool(_levels(machine, name)))

    def services(self, machine: Reader) -> Sequence[str]:
        """Names of the init scripts, sorted."""
        return scripts_in(machine, _SCRIPTS)

    def control(self, machine: Machine, name: str, verb: Verb, *, block: bool = True) -> Completed:
        """`rc-service NAME VERB`; OpenRC has no reload by force."""
        check_name(name)
        return machine.run(["rc-service", "--nocolor", name, "reload" if verb == "force-reload" else verb])

    def enable(self, machine: Machine, name: str, *, enabled: bool) -> Completed:
        """`rc-update add` to the default run level, or `delete` from all."""
        check_name(name)
        if enabled:
            return machine.run(["rc-update", "--quiet", "add", name, _ENABLED_IN])
        return machine.run(["rc-update", "--quiet", "--all", "delete", name])

    def masked(self, machine: Reader, name: str, *, runtime: bool) -> bool:
        """OpenRC cannot mask."""
        raise StateFailed("Service masking not available on this minion")

    def mask(self, machine: Machine, name: str, *, masked: bool, runtime: bool) -> Completed:
        """OpenRC cannot mask."""
        raise StateFailed("Service masking not available on this minion")


def _levels(machine: Reader, name: str) -> list[str]:
    levels = machine.listdir(_LEVELS) if machine.stat(_LEVELS) else ()
    return [level for level in levels if machine.stat(f"{_LEVELS}/{level}/{name}")]
