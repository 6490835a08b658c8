"""The execution module `snap`: snaps, their options and services.

Behaviour: saltext.snap.modules.snap_mod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, NumberOrText
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers import snaps
from minion.providers.snaps import Snap, SnapChoice


def list_(context: Context, name: str | None = None) -> dict[str, Any]:
    """The snaps that are there, or one."""
    found = snaps.snaps(context.machine)
    return {each: one.shown() for each, one in found.items() if name in (None, each)}


def list_upgrades(context: Context, exclude_held: bool = False) -> dict[str, Any]:
    """The snaps that a refresh would change."""
    found, there = snaps.upgrades(context.machine), snaps.snaps(context.machine)
    chosen = {name: one for name, one in found.items() if not (exclude_held and name in there and there[name].held)}
    return {name: {**one._asdict(), "notes": list(one.notes)} for name, one in chosen.items()}


def is_installed(context: Context, name: str) -> bool:
    """Whether a snap is there."""
    return name in snaps.snaps(context.machine)


def is_enabled(context: Context, name: str) -> bool:
    """Whether a snap can be used."""
    return _there(context, name).enabled


def is_held(context: Context, name: str) -> bool:
    """Whether general refreshes leave a snap alone."""
    return _there(context, name).held


def is_uptodate(context: Context, name: str | None = None, exclude_held: bool = False) -> bool:
    """Whether a refresh would change nothing, or not this snap."""
    found = list_upgrades(context, exclude_held)
    return _there(context, name).name not in found if name else not found


def install(
    context: Context, name: str, channel: str | None = None, revision: NumberOrText | None = None,
    classic: bool = False, refresh: bool = False,
) -> bool:  # fmt: skip
    """Install a snap; one that is there is an error, unless `refresh`."""
    if not refresh and is_installed(context, name):
        raise CallFailed(f'snap "{name}" is already installed')
    snaps.install(context.machine, name, SnapChoice(channel, revision, classic), refresh=refresh)
    return True


def refresh(
    context: Context, name: str, channel: str | None = None, revision: NumberOrText | None = None,
    classic: bool = False,
) -> bool:  # fmt: skip
    """Have another revision or channel of a snap."""
    snaps.install(context.machine, name, SnapChoice(channel, revision, classic), refresh=True)
    return True


def upgrade_all(context: Context) -> bool:
    """Refresh all snaps."""
    snaps.tell(context.machine, "refresh")
    return True


def remove(context: Context, name: str, revision: NumberOrText | None = None, purge: bool = False) -> bool:
    """Remove a snap, or one revision of it; with `purge` no snapshot of its data is kept."""
    snaps.remove(context.machine, name, revision=revision, purge=purge)
    return True


def purge(context: Context, name: str, revision: NumberOrText | None = None) -> bool:
    """Remove a snap, with its data."""
    snaps.remove(context.machine, name, revision=revision, purge=True)
    return True


def hold(context: Context, name: str, duration: str | None = None) -> bool:
    """Have general refreshes leave a snap alone."""
    snaps.hold(context.machine, name, held=True, duration=duration)
    return True


def unhold(context: Context, name: str) -> bool:
    """Have general refreshes change a snap again."""
    snaps.hold(context.machine, name, held=False)
    return True


def enable(context: Context, name: str) -> bool:
    """Have a snap be used again."""
    snaps.tell(context.machine, "enable", snaps.checked(name))
    return True


def disable(context: Context, name: str) -> bool:
    """Have a snap not be used."""
    snaps.tell(context.machine, "disable", snaps.checked(name))
    return True


def options(context: Context, name: str, option: str | None = None) -> dict[str, Any]:
    """Options of a snap: all, or one and those within it."""
    found = snaps.options(context.machine, name)
    return {key: value for key, value in found.items() if option is None or f"{key}.".startswith(f"{option}.")}


def option_set(context: Context, name: str, option: str, value: AnyValue) -> bool:
    """Set an option of a snap."""
    snaps.set_option(context.machine, name, option, value)
    return True


def option_unset(context: Context, name: str, option: str) -> bool:
    """Take an option of a snap away."""
    snaps.set_option(context.machine, name, option, None)
    return True


def services(context: Context, name: str | None = None, snap: str | None = None) -> dict[str, Any]:
    """Services of snaps: whether they run, and are started at boot."""
    rows = [line.split() for line in snaps.ask(context.machine, "services").splitlines()[1:]]
    found = {row[0]: {"enabled": row[1] == "enabled", "running": row[2] == "active", "notes": row[3:]} for row in rows}
    if name and name not in found:
        raise CallFailed(f"No such service: '{name}'")
    return {each: one for each, one in found.items()
            if name in (None, each) and (snap is None or each.startswith(f"{snap}."))}  # fmt: skip


def service_start(context: Context, name: str, enable: bool = False) -> bool:
    """Start a service."""
    snaps.tell(context.machine, "start", *(["--enable"] if enable else []), *services(context, name))
    return True


def service_stop(context: Context, name: str, disable: bool = False) -> bool:
    """Stop a service."""
    snaps.tell(context.machine, "stop", *(["--disable"] if disable else []), *services(context, name))
    return True


def service_restart(context: Context, name: str, reload: bool = False) -> bool:
    """Start a service again, or have it read its configuration."""
    snaps.tell(context.machine, "restart", *(["--reload"] if reload else []), *services(context, name))
    return True


def _there(context: Context, name: str) -> Snap:
    found = snaps.snaps(context.machine).get(name)
    if found is None:
        raise CallFailed(f'snap "{name}" is not installed')
    return found


FUNCTIONS: Mapping[str, Any] = {
    "disable": disable, "enable": enable, "hold": hold, "install": install, "is_enabled": is_enabled,
    "is_held": is_held, "is_installed": is_installed, "is_uptodate": is_uptodate, "list": list_,
    "list_upgrades": list_upgrades, "option_set": option_set, "option_unset": option_unset, "options": options,
    "purge": purge, "refresh": refresh, "remove": remove, "service_restart": service_restart,
    "service_start": service_start, "service_stop": service_stop, "services": services, "unhold": unhold,
    "upgrade_all": upgrade_all,
}  # fmt: skip
