"""The execution module `ip`: interfaces, routes and global settings in the files of the system's network manager.

Behaviour: doc/ref/modules/all/salt.modules.debian_ip and salt.modules.rh_ip. With `test`, what would be
written is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.network import global_settings
from minion.providers.network.detection import network_files
from minion.providers.network.files import InterfaceWish, WantedFiles, require, write_all
from minion.providers.network.ifupdown import Ifupdown
from minion.providers.network.known_settings import check_names
from minion.providers.network.values import checked_name
from minion.states.network.effect import applied, named


def get_interface(context: Context, iface: str) -> list[str]:
    """The lines of an interface; none where it is not there."""
    return network_files(context.machine).interface(context.machine, iface)


def build_interface(
    context: Context, iface: str, iface_type: str, enabled: bool, test: bool = False, **settings: Any
) -> list[str]:
    """Write an interface; its lines."""
    given = {key: value for key, value in settings.items() if not key.startswith("__")}
    check_names(given.keys())
    wish = InterfaceWish(name=checked_name(iface), kind=iface_type.lower(), enabled=enabled, settings=given)
    return _built(context, network_files(context.machine).wanted_interface(context.machine, wish), test)


def get_bond(context: Context, iface: str) -> list[str]:
    """The lines of the file that modprobe reads for a bond, on Debian."""
    return _ifupdown(context).bond(context.machine, checked_name(iface))


def build_bond(context: Context, iface: str, test: bool = False, **settings: Any) -> list[str]:
    """Write the file that modprobe reads for a bond, on Debian; its lines."""
    return _built(context, _ifupdown(context).wanted_bond(checked_name(iface), settings), test)


def get_routes(context: Context, iface: str) -> list[str]:
    """The lines of the routes of an interface."""
    return network_files(context.machine).routes(context.machine, checked_name(iface))


def build_routes(context: Context, iface: str, routes: list[Any], test: bool = False) -> list[str]:
    """Write the routes of an interface; their lines."""
    files = network_files(context.machine)
    return _built(context, files.wanted_routes(context.machine, checked_name(iface), routes), test)


def get_network_settings(context: Context) -> list[str]:
    """The global settings, a line each."""
    return global_settings.shown(context.machine)


def build_network_settings(context: Context, test: bool = False, **settings: Any) -> list[str]:
    """Write the global settings; their lines."""
    unknown = sorted(settings.keys() - global_settings.KNOWN)
    if unknown:
        raise CallFailed(f"there is no global setting {' or '.join(unknown)}")
    found = global_settings.global_settings(context.machine, settings)
    if not test:
        write_all(context.machine, found.files)
    return list(found.wanted)


def apply_network_settings(
    context: Context, require_reboot: bool = False, apply_hostname: bool = False, hostname: str | None = None
) -> bool:
    """Have the settings come into effect: services are started again unless `require_reboot`, and with
    `apply_hostname` the host gets its name."""
    changes = named(context.machine, global_settings.checked_host(hostname)) if apply_hostname and hostname else []
    for change in changes if require_reboot else (*changes, applied(context.machine)):
        change.act(context.machine)
    return not apply_hostname or bool(hostname)


def up(context: Context, iface: str, iface_type: str) -> str | None:
    """Bring an interface up."""
    return _switched(context, "up", iface, iface_type)


def down(context: Context, iface: str, iface_type: str) -> str | None:
    """Take an interface down."""
    return _switched(context, "down", iface, iface_type)


def _switched(context: Context, verb: str, iface: str, kind: str) -> str | None:
    files = network_files(context.machine)
    tell = files.up if verb == "up" else files.down
    done = tell(context.machine, checked_name(iface), kind.lower())
    require(done, f"Interface {iface} cannot be brought {verb}", f"that brings it {verb}")
    return None if done is None else (done.stdout + done.stderr).strip()


def _built(context: Context, wanted: WantedFiles, test: bool) -> list[str]:
    if not test:
        write_all(context.machine, wanted.files)
    return list(wanted.shown)


def _ifupdown(context: Context) -> Ifupdown:
    files = network_files(context.machine)
    if not isinstance(files, Ifupdown):
        raise CallFailed("bonds have a file of modprobe with ifupdown alone")
    return files


FUNCTIONS: Mapping[str, Any] = {
    "apply_network_settings": apply_network_settings,
    "build_bond": build_bond,
    "build_interface": build_interface,
    "build_network_settings": build_network_settings,
    "build_routes": build_routes,
    "down": down,
    "get_bond": get_bond,
    "get_interface": get_interface,
    "get_network_settings": get_network_settings,
    "get_routes": get_routes,
    "up": up,
}
