"""network.*, as far as grains and arithmetic answer it; what needs the machine's routes and sockets asks the facts."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping

from highstate.functions.call import FunctionCall
from highstate.memo.tracked import plain
from highstate.types import Value


def _grain(call: FunctionCall, fun: str, name: str, *arguments: Value, **named: Value) -> Value:
    """The grain that holds the answer; without one the machine is asked."""
    grains = call.recorder.untouched("grains")
    if name in grains:
        return plain(grains[name])
    return call.ask(fun, *arguments, **named)


def _addresses(version: int, fun: str) -> Callable[..., Value]:
    """`ip_addrs` and `ip_addrs6`: addresses of one interface or all, in numeric order."""
    grain, loopback = f"ip{version}_interfaces", "127.0.0.0/8" if version == 4 else "::1/128"

    def addresses(
        call: FunctionCall,
        interface: str | None = None,
        include_loopback: bool = False,
        cidr: str | None = None,
        type: str | None = None,  # noqa: A002  (Salt's name)
    ) -> Value:
        interfaces = _grain(call, fun, grain, interface, include_loopback=include_loopback, cidr=cidr, type=type)
        if not isinstance(interfaces, Mapping):
            return interfaces  # the machine's own answer
        chosen = [interfaces.get(interface, [])] if interface else interfaces.values()
        found = sorted(
            {ipaddress.ip_address(one.partition("%")[0]) for names in chosen for one in names or ()}, key=int
        )
        if not include_loopback:
            found = [one for one in found if one not in ipaddress.ip_network(loopback)]
        texts = [str(one) for one in found]
        if cidr:
            return [one for one in texts if _inside(one, [cidr])]
        if type in ("public", "private"):
            return [one for one in texts if ipaddress.ip_address(one).is_private == (type == "private")]
        return texts

    return addresses


def _inside(address: str, networks: Iterable[str]) -> bool:
    own = ipaddress.ip_address(address)
    return any(own in ipaddress.ip_network(one, strict=False) for one in networks)


def _in_subnet(call: FunctionCall, cidr: str | list[str], addr: str | list[str] | None = None) -> bool:
    networks = [cidr] if isinstance(cidr, str) else list(cidr)
    asked = _addresses(4, "network.ip_addrs")(call) if addr is None else addr
    return any(_inside(one, networks) for one in ([asked] if isinstance(asked, str) else asked))


def _interface_ip(call: FunctionCall, iface: str) -> Value:
    interfaces = _grain(call, "network.interface_ip", "ip4_interfaces", iface)
    if not isinstance(interfaces, Mapping):
        return interfaces
    return next(iter(interfaces.get(iface) or []), "")


def _hw_addr(call: FunctionCall, iface: str) -> Value:
    known = _grain(call, "network.hw_addr", "hwaddr_interfaces", iface)
    return known.get(iface, "") if isinstance(known, Mapping) else known


def _calc_net(call: FunctionCall, ip_addr: str, netmask: str | None = None) -> str:
    return str(ipaddress.ip_network(f"{ip_addr}/{netmask}" if netmask else ip_addr, strict=False))


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "network.get_hostname": lambda call: _grain(call, "network.get_hostname", "nodename"),
    "network.get_fqdn": lambda call: _grain(call, "network.get_fqdn", "fqdn"),
    "network.ip_addrs": _addresses(4, "network.ip_addrs"),
    "network.ipaddrs": _addresses(4, "network.ip_addrs"),
    "network.ip_addrs6": _addresses(6, "network.ip_addrs6"),
    "network.ipaddrs6": _addresses(6, "network.ip_addrs6"),
    "network.interface_ip": _interface_ip,
    "network.hw_addr": _hw_addr,
    "network.hwaddr": _hw_addr,
    "network.in_subnet": _in_subnet,
    "network.ip_in_subnet": lambda call, ip_addr, cidr: _inside(ip_addr, [cidr] if isinstance(cidr, str) else cidr),
    "network.is_private": lambda call, ip_addr: ipaddress.ip_address(ip_addr).is_private,
    "network.is_loopback": lambda call, ip_addr: ipaddress.ip_address(ip_addr).is_loopback,
    "network.calc_net": _calc_net,
    "network.reverse_ip": lambda call, ip_addr: ipaddress.ip_address(ip_addr).reverse_pointer,
}
