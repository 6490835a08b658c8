"""The execution module `network`: interfaces, routes, connections. Arithmetic with addresses is the language's."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from highstate.traverse import traverse
from minion.arguments.types import Texts
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.network.tables import arp, default_route, get_route, neighbours, netstat, routes


def interfaces(context: Context) -> dict[str, dict[str, Any]]:
    """Every interface: whether it is up, its hardware address, its addresses."""
    import psutil

    up = {name: one.isup for name, one in psutil.net_if_stats().items()}
    found: dict[str, dict[str, Any]] = {}
    for name, addresses in psutil.net_if_addrs().items():
        card = found[name] = {"up": up.get(name, False)}
        for one in addresses:
            if one.family == socket.AF_PACKET:
                card["hwaddr"] = one.address
            elif one.family == socket.AF_INET:
                address = {"address": one.address, "netmask": one.netmask, "broadcast": one.broadcast, "label": name}
                card.setdefault("inet", []).append(address)
            elif one.family == socket.AF_INET6:
                card.setdefault("inet6", []).append(_six(one.address, str(one.netmask)))
    return found


def interface(context: Context, iface: str) -> Any:
    """The IPv4 addresses of an interface."""
    return _of_card(context, iface, lambda card: card.get("inet", []))


def interface_ip(context: Context, iface: str) -> Any:
    """The first IPv4 address of an interface."""
    return _of_card(context, iface, lambda card: card.get("inet", [{"address": ""}])[0]["address"])


def hw_addr(context: Context, iface: str) -> Any:
    """The hardware address of an interface."""
    return _of_card(context, iface, lambda card: card.get("hwaddr", ""))


def ip_addrs(
    context: Context, interface: str | None = None, include_loopback: bool = False, cidr: Texts = (),
    type: str | None = None,  # noqa: A002  (Salt's name)
) -> list[str]:  # fmt: skip
    """IPv4 addresses: of all interfaces or one, in a network (`cidr`), `public` or `private`."""
    return _addresses(context, "inet", interface, include_loopback, cidr, type)


def ip_addrs6(
    context: Context, interface: str | None = None, include_loopback: bool = False, cidr: Texts = (),
    type: str | None = None,  # noqa: A002  (Salt's name)
) -> list[str]:  # fmt: skip
    """IPv6 addresses: of all interfaces or one, in a network (`cidr`), `public` or `private`."""
    return _addresses(context, "inet6", interface, include_loopback, cidr, type)


def ip_networks(
    context: Context,
    interface: str | None = None,
    include_loopback: NotSupported = None,
    verbose: NotSupported = None,
) -> list[str]:
    """The IPv4 networks that this machine is in, or that this interface is in."""
    return subnets(context, (interface,) if interface else ())


def subnets(context: Context, interfaces: Texts = ()) -> list[str]:
    """The IPv4 networks that this machine is in, or that these interfaces are in."""
    return _networks(context, "inet", interfaces)


def subnets6(context: Context) -> list[str]:
    """The IPv6 networks that this machine is in."""
    return _networks(context, "inet6", ())


def ifacestartswith(context: Context, cidr: str) -> list[str]:
    """Interfaces with an address that begins with this text."""
    return [
        name for name, card in interfaces(context).items()
        if any(one["address"].startswith(cidr) for one in card.get("inet", ()))
    ]  # fmt: skip


def iphexval(context: Context, ip: str) -> str:
    """An IPv4 address in hexadecimal digits."""
    return ipaddress.IPv4Address(ip).packed.hex().upper()


def convert_cidr(context: Context, cidr: str) -> dict[str, str]:
    """Network, netmask and broadcast address of a network."""
    try:
        net = ipaddress.ip_network(cidr, strict=False)
    except ValueError as error:
        raise CallFailed(str(error)) from error
    return {"network": str(net[0]), "netmask": str(net.netmask), "broadcast": str(net.broadcast_address)}


def get_hostname(context: Context) -> str:
    """The machine's own name."""
    return socket.gethostname()


def get_fqdn(context: Context) -> str:
    """The machine's name with its domain."""
    return str(traverse(context.grains, "fqdn", socket.gethostname()))


def fqdns(context: Context) -> dict[str, list[str]]:
    """The names that the machine's addresses have."""
    return {"fqdns": list(traverse(context.grains, "fqdns", []))}


def mod_hostname(context: Context, hostname: str) -> bool:
    """Give the machine another name, now and at boot."""
    if not hostname:
        return False
    labels = hostname.rstrip(".").split(".")
    if not all(one and len(one) < 64 and all(c.isalnum() or c == "-" for c in one) for one in labels):
        raise CallFailed(f"{hostname!r} is no host name: letters, digits and hyphens, with dots between")
    machine, old = context.machine, socket.gethostname()
    done = machine.run(["hostname", hostname])
    if done.returncode != 0:
        raise CallFailed(f"The name could not be set: {done.stderr.strip() or 'there is no hostname program'}")
    machine.write("/etc/hostname", f"{hostname}\n".encode())
    if machine.stat("/etc/hosts") is not None:
        lines = machine.read("/etc/hosts").decode("utf-8", "surrogateescape").splitlines()
        new = [_renamed(line, old, hostname) for line in lines]
        if new != lines:
            machine.write("/etc/hosts", "".join(f"{line}\n" for line in new).encode("utf-8", "surrogateescape"))
    return True


def connect(
    context: Context,
    host: str,
    port: int | str | None = None,
    proto: str = "tcp",
    timeout: float = 5,
    family: str | None = None,
) -> dict[str, Any]:
    """Whether a TCP connection to a port can be made, or a UDP packet be sent."""
    if not host or not port:
        missing = "host" if not host else "port"
        return {"result": False, "comment": f"Required argument, {missing}, is missing."}
    kind = socket.SOCK_DGRAM if proto == "udp" else socket.SOCK_STREAM
    kinds = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
    try:
        found = socket.getaddrinfo(host, port, kinds.get(family or "", 0), kind)
    except OSError as error:
        return {"result": False, "comment": f"Unable to connect to {host} ({error.strerror}) on {proto} port {port}"}
    where, address = found[0][0], found[0][4]
    with socket.socket(where, kind) as line:
        line.settimeout(timeout)
        try:
            line.connect(address)
            if proto == "udp":
                line.send(b"\0")
        except OSError:
            good = False
        else:
            good = True
    word = "Successfully connected" if good else "Unable to connect"
    return {"result": good, "comment": f"{word} to {host} ({address[0]}) on {proto} port {port}"}


def ping(context: Context, host: str, timeout: int | Literal[False] = False, return_boolean: bool = False) -> Any:
    """What ping(8) says of a host, or whether it answers."""
    wait = ["-W", str(timeout)] if timeout else []
    done = context.machine.run(["ping", "-c", "4", *wait, "--", _host(host)])
    if done.returncode == 127:
        raise CallFailed("There is no ping program: install the package iputils-ping")
    return done.returncode == 0 if return_boolean else "\n".join((done.stdout + done.stderr).splitlines())


def dig(context: Context, host: str) -> str:
    """What dig(1) says of a name."""
    return _said(context, ["dig", _host(host)], "bind9-dnsutils")


def traceroute(context: Context, host: str) -> list[str]:
    """The way to a host, hop by hop, as traceroute(8) shows it."""
    return _said(context, ["traceroute", "--", _host(host)], "traceroute").splitlines()


def get_bufsize(context: Context, iface: str) -> dict[str, str]:
    """Sizes of the ring buffers of an interface, as ethtool(8) has them."""
    done = context.machine.run(["ethtool", "-g", _host(iface)])
    if done.returncode != 0:
        return {}
    current = done.stdout.partition("Current hardware settings")[2]
    rows = (line.partition(":") for line in current.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in rows if value.strip().isdigit()}


def active_tcp(context: Context) -> dict[int, dict[str, Any]]:
    """TCP connections that are made and open."""
    found = [one for one in netstat(context) if one["proto"] == "tcp" and one["state"] == "ESTABLISHED"]
    pairs = [(one["local-address"].rpartition(":"), one["remote-address"].rpartition(":")) for one in found]
    return {
        number: {"local_addr": own[0], "local_port": own[2], "remote_addr": other[0], "remote_port": other[2]}
        for number, (own, other) in enumerate(pairs)
    }


def wol(context: Context, mac: str, bcast: str = "255.255.255.255", destport: int = 9) -> bool:
    """Wake a machine: send its magic packet to the network."""
    digits = mac.replace(":", "").replace("-", "").replace(".", "")
    try:
        address = bytes.fromhex(digits)
    except ValueError:
        address = b""
    if len(address) != 6:
        raise CallFailed("Invalid MAC address")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        line.sendto(b"\xff" * 6 + address * 16, (bcast, destport))
    return True


def _of_card(context: Context, iface: str, take: Callable[[Mapping[str, Any]], Any]) -> Any:
    found = interfaces(context)
    if iface not in found:
        known = ", ".join(f'"{name}"' for name in found)
        return f'Interface "{iface}" not in available interfaces: {known}'
    return take(found[iface])


def _addresses(
    context: Context, family: str, iface: str | None, loopback: bool, cidr: Sequence[str], kind: str | None
) -> list[str]:
    cards = interfaces(context)
    chosen = [cards.get(iface, {})] if iface else cards.values()
    found = {ipaddress.ip_address(one["address"]) for card in chosen for one in card.get(family, ())}
    nets = [ipaddress.ip_network(one, strict=False) for one in cidr]
    good: Iterable[Any] = (one for one in found if loopback or not one.is_loopback)
    if nets:
        good = (one for one in good if any(one in net for net in nets))
    elif kind in ("public", "private"):
        good = (one for one in good if one.is_private == (kind == "private"))
    return [str(one) for one in sorted(good, key=int)]


def _networks(context: Context, family: str, names: Sequence[str]) -> list[str]:
    cards = interfaces(context)
    wanted = names or list(cards)
    found = [
        ipaddress.ip_interface(f"{one['address']}/{one.get('netmask') or one.get('prefixlen')}").network
        for name in wanted for one in cards.get(name, {}).get(family, ())
        if not ipaddress.ip_address(one["address"]).is_loopback
    ]  # fmt: skip
    return list(dict.fromkeys(map(str, found)))


def _six(address: str, netmask: str) -> dict[str, str]:
    bare = ipaddress.IPv6Address(address.partition("%")[0])
    prefix = bin(int(ipaddress.IPv6Address(netmask))).count("1")
    scope = "link" if bare.is_link_local else "host" if bare.is_loopback else "global"
    return {"address": str(bare), "prefixlen": str(prefix), "scope": scope}


def _renamed(line: str, old: str, new: str) -> str:
    body, sign, note = line.partition("#")
    words = body.split()
    if old not in words[1:]:
        return line
    return "\t".join([words[0], " ".join(new if one == old else one for one in words[1:])]) + (sign + note)


def _host(name: str) -> str:
    if not name or name.startswith("-"):
        raise CallFailed(f"{name!r} is no name or address")
    return name


def _said(context: Context, argv: list[str], package: str) -> str:
    done = context.machine.run(argv)
    if done.returncode == 127:
        raise CallFailed(f"There is no {argv[0]} program: install the package {package}")
    return done.stdout.rstrip("\n")


FUNCTIONS: Mapping[str, Any] = {
    "active_tcp": active_tcp,
    "arp": arp,
    "connect": connect,
    "convert_cidr": convert_cidr,
    "default_route": default_route,
    "dig": dig,
    "fqdns": fqdns,
    "get_bufsize": get_bufsize,
    "get_fqdn": get_fqdn,
    "get_hostname": get_hostname,
    "get_route": get_route,
    "hw_addr": hw_addr,
    "hwaddr": hw_addr,
    "ifacestartswith": ifacestartswith,
    "interface": interface,
    "interface_ip": interface_ip,
    "interfaces": interfaces,
    "ip_addrs": ip_addrs,
    "ip_addrs6": ip_addrs6,
    "ip_neighs": neighbours("-4"),
    "ip_neighs6": neighbours("-6"),
    "ip_networks": ip_networks,
    "ip_networks6": subnets6,
    "ipaddrs": ip_addrs,
    "ipaddrs6": ip_addrs6,
    "ipneighs": neighbours("-4"),
    "ipneighs6": neighbours("-6"),
    "iphexval": iphexval,
    "mod_hostname": mod_hostname,
    "netstat": netstat,
    "ping": ping,
    "routes": routes,
    "subnets": subnets,
    "subnets6": subnets6,
    "traceroute": traceroute,
    "wol": wol,
}
