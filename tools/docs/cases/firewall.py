"""Cases of the states of firewalls, each in a network namespace of its own; those of firewalld have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, SERVED, Case, serving

_PROGRAMS = ("ipset", "ip6tables", "ip6tables-save", "iptables", "iptables-save", "nft")
_PATH = {"PATH": f"{BESIDE}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
_OTHER = f"test $(readlink /proc/$(cat {BESIDE}/pids)/ns/net) != $(readlink /proc/self/ns/net)"
_WRAPPER = r'#!/bin/sh\n[ "$APART" ] && exec /usr/sbin/%s "$@"\nexec nsenter -t %s -n /usr/sbin/%s "$@"\n'
_APART = r'#!/bin/sh\nAPART=1 exec /usr/bin/unshare "$@"\n'
"""In a namespace that a state makes itself the programs work there."""
_NAMESPACE = (
    serving("unshare -n sleep 600", _OTHER),
    f"mkdir {BESIDE}/bin && printf '{_APART}' >{BESIDE}/bin/unshare",
    f"cd {BESIDE}/bin && for program in {' '.join(_PROGRAMS)}; do "
    f"printf '{_WRAPPER}' $program $(cat ../pids) $program >$program; done && chmod 755 *",
)
_FIREWALLD = "it is the firewall of the whole machine; tried on a real firewalld in a network namespace"


def _case(fun: str, name: str, *commands: str, **arguments: Any) -> Case:
    """A case in a namespace in which these commands were carried out."""
    family = fun.partition(".")[0]
    return Case(
        fun=fun,
        name=name,
        arguments=arguments,
        before=(*_NAMESPACE, *(f"{BESIDE}/bin/{command}" for command in commands)),
        after=(SERVED,),
        environment=_PATH,
        needs=(family,),
    )


_HTTP = {"chain": "INPUT", "jump": "ACCEPT", "proto": "tcp", "dport": 80}
_HTTP_RULE = "-p tcp -m tcp --dport 80 -j ACCEPT"
_NFT_TABLE = "nft add table ip filter"
_NFT_CHAIN = "nft 'add chain ip filter input { type filter hook input priority 0; policy accept; }'"
_SSH = {"table": "filter", "chain": "input", "proto": "tcp", "dport": 22, "jump": "accept"}
_SSH_RULE = "nft add rule ip filter input tcp dport 22 accept"
_SET = "ipset create hosts hash:ip"

CASES: tuple[Case, ...] = (
    _case("iptables.append", "http", **_HTTP),
    _case("iptables.append", "http", f"iptables -A INPUT {_HTTP_RULE}", **_HTTP),
    _case("iptables.append", "http", **_HTTP, match="state", connstate="NEW", comment="the web", source="192.0.2.0/24"),
    _case("iptables.insert", "http", "iptables -A INPUT -j DROP", **_HTTP, position=1),
    _case("iptables.delete", "http", f"iptables -A INPUT {_HTTP_RULE}", **_HTTP),
    _case("iptables.set_policy", "x", chain="FORWARD", policy="DROP"),
    _case("iptables.flush", "x", f"iptables -A INPUT {_HTTP_RULE}", chain="INPUT"),
    _case("iptables.chain_present", "case", table="filter"),
    _case("iptables.chain_absent", "case", "iptables -N case", table="filter"),
    _case("nftables.table_present", "case", family="inet"),
    _case("nftables.table_absent", "case", "nft add table inet case", family="inet"),
    _case("nftables.chain_present", "case", _NFT_TABLE, table="filter", table_type="filter", hook="input", priority=0),
    _case("nftables.chain_absent", "case", _NFT_TABLE, "nft add chain ip filter case", table="filter"),
    _case("nftables.append", "ssh", _NFT_TABLE, _NFT_CHAIN, **_SSH),
    _case("nftables.append", "ssh", _NFT_TABLE, _NFT_CHAIN, _SSH_RULE, **_SSH),
    _case("nftables.insert", "ssh", _NFT_TABLE, _NFT_CHAIN, **_SSH, position=0),
    _case("nftables.delete", "ssh", _NFT_TABLE, _NFT_CHAIN, _SSH_RULE, **_SSH),
    _case("nftables.flush", "x", _NFT_TABLE, _NFT_CHAIN, _SSH_RULE, table="filter", chain="input"),
    _case("nftables.set_policy", "x", _NFT_TABLE, _NFT_CHAIN, table="filter", chain="input", policy="drop"),
    _case("ipset.set_present", "hosts", set_type="hash:ip"),
    _case("ipset.set_present", "hosts", _SET, set_type="hash:ip"),
    _case("ipset.set_absent", "hosts", _SET),
    _case("ipset.present", "one", _SET, set_name="hosts", entry="192.0.2.7"),
    _case("ipset.present", "two", _SET, set_name="hosts", entry=["192.0.2.7", "192.0.2.8"]),
    _case("ipset.absent", "one", _SET, "ipset add hosts 192.0.2.7", set_name="hosts", entry="192.0.2.7"),
    _case("ipset.flush", "hosts", _SET, "ipset add hosts 192.0.2.7"),
)
WITHOUT: Mapping[str, str] = {"firewalld.present": _FIREWALLD, "firewalld.service": _FIREWALLD}
"""State functions that no case can run, and why."""
