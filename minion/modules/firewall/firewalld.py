"""The execution module `firewalld`: what firewall-cmd(1) does.

Behaviour: doc/ref/modules/all/salt.modules.firewalld. `permanent`, which is the default, is the configuration that is
loaded at the start; without it the one that is in force.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.firewall import firewalld
from minion.providers.firewall.firewalld import Forward


def version(context: Context) -> str:
    """Version of firewalld."""
    return _asked(context, None, False, "--version")


def reload_rules(context: Context) -> str:
    """Have firewalld load its permanent configuration."""
    return _told(context, None, False, "--reload")


def make_permanent(context: Context) -> str:
    """Write what is in force into the permanent configuration."""
    return _told(context, None, False, "--runtime-to-permanent")


def default_zone(context: Context) -> str:
    """Name of the default zone."""
    return _asked(context, None, False, "--get-default-zone")


def set_default_zone(context: Context, zone: str) -> str:
    """Make a zone the default, at once and for good."""
    return _told(context, None, False, f"--set-default-zone={zone}")


def list_zones(context: Context, permanent: bool = True) -> dict[str, dict[str, list[str]]]:
    """Zone → its properties, each a list of lines."""
    return firewalld.sections(_asked(context, None, permanent, "--list-all-zones"))


def list_all(context: Context, zone: str | None = None, permanent: bool = True) -> dict[str, dict[str, list[str]]]:
    """The same of one zone, or of the default one."""
    return firewalld.sections(_asked(context, zone, permanent, "--list-all"))


def get_zones(context: Context, permanent: bool = True) -> list[str]:
    """Names of the zones."""
    return _asked(context, None, permanent, "--get-zones").split()


def get_services(context: Context, permanent: bool = True) -> list[str]:
    """Names of the services that firewalld knows."""
    return _asked(context, None, permanent, "--get-services").split()


def get_icmp_types(context: Context, permanent: bool = True) -> list[str]:
    """Names of the ICMP types that firewalld knows."""
    return _asked(context, None, permanent, "--get-icmptypes").split()


def new_zone(context: Context, zone: str, restart: bool = True) -> str:
    """Make a zone; loaded unless `restart` is false."""
    return _then_loaded(context, restart, f"--new-zone={zone}")


def delete_zone(context: Context, zone: str, restart: bool = True) -> str:
    """Take a zone away; loaded unless `restart` is false."""
    return _then_loaded(context, restart, f"--delete-zone={zone}")


def new_service(context: Context, name: str, restart: bool = True) -> str:
    """Make a service; loaded unless `restart` is false."""
    return _then_loaded(context, restart, f"--new-service={name}")


def delete_service(context: Context, name: str, restart: bool = True) -> str:
    """Take a service away; loaded unless `restart` is false."""
    return _then_loaded(context, restart, f"--delete-service={name}")


def list_services(context: Context, zone: str | None = None, permanent: bool = True) -> list[str]:
    """Services that a zone lets through."""
    return _asked(context, zone, permanent, "--list-services").split()


def add_service(context: Context, service: str, zone: str | None = None, permanent: bool = True) -> str:
    """Let a service through in a zone."""
    return _told(context, zone, permanent, f"--add-service={service}")


def remove_service(context: Context, service: str, zone: str | None = None, permanent: bool = True) -> str:
    """No longer let a service through in a zone."""
    return _told(context, zone, permanent, f"--remove-service={service}")


def get_service_ports(context: Context, service: str) -> list[str]:
    """Ports of a service."""
    return _asked(context, None, True, f"--service={service}", "--get-ports").split()


def add_service_port(context: Context, service: str, port: str) -> str:
    """Give a service a port."""
    return _told(context, None, True, f"--service={_known(context, service)}", f"--add-port={port}")


def remove_service_port(context: Context, service: str, port: str) -> str:
    """Take a port from a service."""
    return _told(context, None, True, f"--service={_known(context, service)}", f"--remove-port={port}")


def get_service_protocols(context: Context, service: str) -> list[str]:
    """Protocols of a service."""
    return _asked(context, None, True, f"--service={service}", "--get-protocols").split()


def add_service_protocol(context: Context, service: str, protocol: str) -> str:
    """Give a service a protocol."""
    return _told(context, None, True, f"--service={service}", f"--add-protocol={protocol}")


def remove_service_protocol(context: Context, service: str, protocol: str) -> str:
    """Take a protocol from a service."""
    return _told(context, None, True, f"--service={service}", f"--remove-protocol={protocol}")


def get_masquerade(context: Context, zone: str | None = None, permanent: bool = True) -> bool:
    """Whether a zone masquerades."""
    return all("no" not in each.get("masquerade", ["no"]) for each in list_all(context, zone, permanent).values())


def add_masquerade(context: Context, zone: str | None = None, permanent: bool = True) -> str:
    """Have a zone masquerade."""
    return _told(context, zone, permanent, "--add-masquerade")


def remove_masquerade(context: Context, zone: str | None = None, permanent: bool = True) -> str:
    """Have a zone masquerade no more."""
    return _told(context, zone, permanent, "--remove-masquerade")


def list_ports(context: Context, zone: str, permanent: bool = True) -> list[str]:
    """Ports that are open in a zone."""
    return _asked(context, zone, permanent, "--list-ports").split()


def add_port(
    context: Context, zone: str, port: str, permanent: bool = True, force_masquerade: bool = False
) -> str:  # fmt: skip
    """Open a port in a zone, which masquerades with `force_masquerade`."""
    _masquerading(context, zone, force_masquerade)
    return _told(context, zone, permanent, f"--add-port={port}")


def remove_port(context: Context, zone: str, port: str, permanent: bool = True) -> str:
    """Close a port in a zone."""
    return _told(context, zone, permanent, f"--remove-port={port}")


def list_port_fwd(context: Context, zone: str, permanent: bool = True) -> list[dict[str, str]]:
    """Ports that a zone forwards."""
    lines = _asked(context, zone, permanent, "--list-forward-ports").splitlines()
    return [each.shown() for each in firewalld.forwards(lines)]


def add_port_fwd(
    context: Context, zone: str, src: str, dest: str, proto: str = "tcp", dstaddr: str = "", permanent: bool = True,
    force_masquerade: bool = False,
) -> str:  # fmt: skip
    """Forward a port in a zone, which masquerades with `force_masquerade`."""
    _masquerading(context, zone, force_masquerade)
    return _told(context, zone, permanent, f"--add-forward-port={Forward(src, dest, proto, dstaddr).words}")


def remove_port_fwd(
    context: Context, zone: str, src: str, dest: str, proto: str = "tcp", dstaddr: str = "", permanent: bool = True
) -> str:  # fmt: skip
    """No longer forward a port in a zone."""
    return _told(context, zone, permanent, f"--remove-forward-port={Forward(src, dest, proto, dstaddr).words}")


def list_icmp_block(context: Context, zone: str, permanent: bool = True) -> list[str]:
    """ICMP types that a zone blocks."""
    return _asked(context, zone, permanent, "--list-icmp-blocks").split()


def block_icmp(context: Context, zone: str, icmp: str, permanent: bool = True) -> str | bool:
    """Block an ICMP type in a zone; false for one that firewalld does not know."""
    if icmp not in get_icmp_types(context, permanent):
        return False
    blocked = icmp in list_icmp_block(context, zone, permanent)
    return "success" if blocked else _told(context, zone, permanent, f"--add-icmp-block={icmp}")


def allow_icmp(context: Context, zone: str, icmp: str, permanent: bool = True) -> str | bool:
    """No longer block an ICMP type in a zone; false for one that firewalld does not know."""
    if icmp not in get_icmp_types(context, permanent):
        return False
    blocked = icmp in list_icmp_block(context, zone, permanent)
    return _told(context, zone, permanent, f"--remove-icmp-block={icmp}") if blocked else "success"


def get_interfaces(context: Context, zone: str, permanent: bool = True) -> list[str]:
    """Interfaces of a zone."""
    return _asked(context, zone, permanent, "--list-interfaces").split()


def add_interface(context: Context, zone: str, interface: str, permanent: bool = True) -> str:
    """Give a zone an interface."""
    return _told(context, zone, permanent, f"--add-interface={interface}")


def remove_interface(context: Context, zone: str, interface: str, permanent: bool = True) -> str:
    """Take an interface from a zone."""
    return _told(context, zone, permanent, f"--remove-interface={interface}")


def get_sources(context: Context, zone: str, permanent: bool = True) -> list[str]:
    """Sources of a zone."""
    return _asked(context, zone, permanent, "--list-sources").split()


def add_source(context: Context, zone: str, source: str, permanent: bool = True) -> str:
    """Give a zone a source."""
    return _told(context, zone, permanent, f"--add-source={source}")


def remove_source(context: Context, zone: str, source: str, permanent: bool = True) -> str:
    """Take a source from a zone."""
    return _told(context, zone, permanent, f"--remove-source={source}")


def get_rich_rules(context: Context, zone: str, permanent: bool = True) -> list[str]:
    """Rich rules of a zone."""
    return _asked(context, zone, permanent, "--list-rich-rules").splitlines()


def add_rich_rule(context: Context, zone: str, rule: str, permanent: bool = True) -> str:
    """Give a zone a rich rule."""
    return _told(context, zone, permanent, f"--add-rich-rule={rule}")


def remove_rich_rule(context: Context, zone: str, rule: str, permanent: bool = True) -> str:
    """Take a rich rule from a zone."""
    return _told(context, zone, permanent, f"--remove-rich-rule={rule}")


def _words(zone: str | None, permanent: bool, words: tuple[str, ...]) -> list[str]:
    return [*(["--permanent"] if permanent else []), *([f"--zone={zone}"] if zone else []), *words]


def _asked(context: Context, zone: str | None, permanent: bool, *words: str) -> str:
    return firewalld.asked(context.machine, *_words(zone, permanent, words))


def _told(context: Context, zone: str | None, permanent: bool, *words: str) -> str:
    return firewalld.told(context.machine, *_words(zone, permanent, words))


def _then_loaded(context: Context, load: bool, word: str) -> str:
    said = _told(context, None, True, word)
    return reload_rules(context) if load and said == "success" else said


def _known(context: Context, service: str) -> str:
    if service not in get_services(context):
        raise CallFailed("The service does not exist.")
    return service


def _masquerading(context: Context, zone: str, wanted: bool) -> None:
    if wanted and not get_masquerade(context, zone):
        add_masquerade(context, zone)


FUNCTIONS: Mapping[str, Any] = {
    function.__name__: function
    for function in (
        add_interface, add_masquerade, add_port, add_port_fwd, add_rich_rule, add_service, add_service_port,
        add_service_protocol, add_source, allow_icmp, block_icmp, default_zone, delete_service, delete_zone,
        get_icmp_types, get_interfaces, get_masquerade, get_rich_rules, get_service_ports, get_service_protocols,
        get_services, get_sources, get_zones, list_all, list_icmp_block, list_port_fwd, list_ports, list_services,
        list_zones, make_permanent, new_service, new_zone, reload_rules, remove_interface, remove_masquerade,
        remove_port, remove_port_fwd, remove_rich_rule, remove_service, remove_service_port, remove_service_protocol,
        remove_source, set_default_zone, version,
    )
}  # fmt: skip
