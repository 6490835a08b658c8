"""Services under systemd, through systemctl.

Called through the port `minion.providers.service.services.ServiceManager`. State is read with `systemctl show`, whose
output is made for programs, in one call for each service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.service import sysv
from minion.providers.service.services import ServiceState, Verb, check_name

_PROPERTIES = "Id,LoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload,SourcePath"
_ENABLED = {"enabled", "enabled-runtime"}
_SWITCHABLE = {"enabled", "enabled-runtime", "disabled", "linked", "linked-runtime"}
_SUFFIXES = (
    ".service",
    ".socket",
    ".device",
    ".mount",
    ".automount",
    ".swap",
    ".target",
    ".path",
    ".timer",
    ".slice",
    ".scope",
)


@dataclass(frozen=True, slots=True)
class Systemd:
    """`ServiceManager` where systemd is process 1."""

    def service(self, machine: Reader, name: str) -> ServiceState | None:
        """What `systemctl show` says."""
        check_name(name)
        shown = self._show(machine, name)
        found = service_of(name, shown)
        script = shown.get("SourcePath", "")
        if found is None or not script.startswith("/etc/init.d/"):
            return found
        # An init script that systemd has wrapped: its links are what enables it.
        return ServiceState(
            name=name,
            running=found.running,
            enabled=sysv.is_enabled(machine, script.removeprefix("/etc/init.d/")),
        )

    def services(self, machine: Reader) -> Sequence[str]:
        """Names without `.service`, sorted."""
        asked = machine.query(
            ["systemctl", "list-unit-files", "--type=service", "--no-legend", "--no-pager", "--full", "--plain"]
        )
        return parse_unit_files(asked.stdout)

    def control(self, machine: Machine, name: str, verb: Verb, *, block: bool = True) -> Completed:
        """`systemctl VERB`, after a daemon-reload where a unit file has changed on disk."""
        check_name(name)
        if verb != "stop" and self._show(machine, name).get("NeedDaemonReload") == "yes":
            done = machine.run(["systemctl", "daemon-reload"])
            if done.returncode != 0:
                return done
        return machine.run(["systemctl", *([] if block else ["--no-block"]), verb, "--", unit(name)])

    def enable(self, machine: Machine, name: str, *, enabled: bool) -> Completed:
        """`systemctl enable` or `disable`."""
        check_name(name)
        return machine.run(["systemctl", "enable" if enabled else "disable", "--", unit(name)])

    def masked(self, machine: Reader, name: str, *, runtime: bool) -> bool:
        """Whether a link to /dev/null stands where the unit would."""
        check_name(name)
        folder = "/run/systemd/system" if runtime else "/etc/systemd/system"
        found = machine.stat(f"{folder}/{unit(name)}")
        return found is not None and found.kind == "symlink" and found.target == "/dev/null"

    def mask(self, machine: Machine, name: str, *, masked: bool, runtime: bool) -> Completed:
        """`systemctl mask` or `unmask`."""
        check_name(name)
        option = ["--runtime"] if runtime else []
        return machine.run(["systemctl", "mask" if masked else "unmask", *option, "--", unit(name)])

    def _show(self, machine: Reader, name: str) -> Mapping[str, str]:
        asked = machine.query(["systemctl", "show", f"--property={_PROPERTIES}", "--", unit(name)])
        if asked.returncode != 0:
            raise StateFailed(f"systemctl cannot tell how {name} is: {asked.stderr.strip() or asked.stdout.strip()}")
        return parse_show(asked.stdout)


def unit(name: str) -> str:
    """The unit that a service name stands for."""
    return name if name.endswith(_SUFFIXES) else f"{name}.service"


def parse_show(text: str) -> dict[str, str]:
    """The properties in `systemctl show` output."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key: value for key, _, value in pairs}


def service_of(name: str, shown: Mapping[str, str]) -> ServiceState | None:
    """The service that these properties describe; None when systemd knows of no such unit."""
    if shown.get("LoadState", "not-found") == "not-found":
        return None
    state = shown.get("UnitFileState", "")
    switchable = state in _SWITCHABLE
    return ServiceState(
        name=name,
        running=_is_running(shown),
        enabled=state in _ENABLED,
        switchable=switchable or state in ("masked", "masked-runtime", "bad"),
    )


def _is_running(shown: Mapping[str, str]) -> bool:
    """A service that is just starting or reloading counts; one that dies and is started over and over does not."""
    if shown.get("SubState") == "auto-restart":
        return False
    return shown.get("ActiveState") in ("active", "reloading", "activating", "refreshing")


def parse_unit_files(text: str) -> list[str]:
    """Service names in `systemctl list-unit-files` output; templates without an instance are left out."""
    names = (line.split()[0] for line in text.splitlines() if line.strip())
    return sorted({name.removesuffix(".service") for name in names if not name.removesuffix(".service").endswith("@")})
