"""A rule of nftables as text, from the options that a state or `nftables.build_rule` is given. Pure.

Behaviour: doc/ref/modules/all/salt.modules.nftables, `build_rule`.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Value

_MATCHES = (
    ("if", "meta iifname {}"),
    ("of", "meta oifname {}"),
    ("connstate", "ct state {{ {} }}"),
    ("icmp-type", "icmp type {{ {} }}"),
    ("icmpv6-type", "icmpv6 type {{ {} }}"),
    ("pkttype", "meta pkttype {{ {} }}"),
    ("counter", "counter"),
)
_PORTS = (("dport", "dport"), ("sport", "sport"), ("dports", "dport"), ("sports", "sport"))
_ADDRESSES = (("saddr", "saddr"), ("source", "saddr"), ("daddr", "daddr"), ("destination", "daddr"))
_JUMPS = (
    ("target", "{}"),
    ("jump", "{}"),
    ("j", "{}"),
    ("redirect-to", "redirect to {}"),
    ("to-port", "redirect to {}"),
    ("to-source", "{}"),
    ("to-destination", "{}"),
    ("reject-with", "reject with {}"),
)
_ELSEWHERE = frozenset(("proto", "state", "save", "table", "chain", "position", "full", "command", "name"))
"""Options that are not in the text of a rule by themselves."""
KNOWN = frozenset(
    (*_ELSEWHERE, *(key for each in (_MATCHES, _ADDRESSES, _PORTS, _JUMPS) for key, _ in each))
)  # fmt: skip


def rule_text(family: str, options: Mapping[str, Value]) -> str:
    """The rule. StateFailed for an option that is none, or a line break in a value.

    Args:
        family: as nft names it.
    """
    if unknown := sorted(options.keys() - KNOWN):
        raise StateFailed(f"{', '.join(unknown)}: no option of a rule of nftables")
    if broken := [key for key, value in options.items() if {"\n", ";"} & set(str(value))]:
        raise StateFailed(f"{broken[0]} must not have a line break or a semicolon")
    parts = [how.format(options[key]) for key, how in _MATCHES if key in options]
    parts += [f"{_layer(family, options[key])} {how} {options[key]}" for key, how in _ADDRESSES if key in options]
    proto = str(options.get("proto", ""))
    parts += [f"{proto} {how} {{ {_ports(key, options[key])} }}".lstrip() for key, how in _PORTS if key in options]
    parts += [how.format(options[key]) for key, how in _JUMPS if key in options]
    return " ".join(parts)


def _ports(key: str, value: Value) -> str:
    if not key.endswith("s"):
        return str(value).replace(":", "-")
    try:
        numbers = sorted((int(one) for one in str(value).split(",")), reverse=True)
    except ValueError:
        raise StateFailed(f"{key} must be numbers with commas between them, not {value!r}") from None
    return ", ".join(map(str, numbers))


def _layer(family: str, address: Value) -> str:
    """Where an address is looked for: tables of `inet` have both kinds."""
    if family in ("ip", "ip6", "arp"):
        return family
    return "ip6" if ":" in str(address) else "ip"
