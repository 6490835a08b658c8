"""States of firewalls: none has a case, each is tried in a network namespace."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_FIREWALLD = "it is the firewall of the whole machine; tried on a real firewalld in a network namespace"

_KERNEL = "it is the firewall of the whole machine; tried in a network namespace"
_SETS = "rules of the whole machine use them; tried in a network namespace"
_NFTABLES = (
    "append",
    "chain_absent",
    "chain_present",
    "delete",
    "flush",
    "insert",
    "set_policy",
    "table_absent",
    "table_present",
)

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    "firewalld.present": _FIREWALLD,
    "firewalld.service": _FIREWALLD,
    **{f"ipset.{fun}": _SETS for fun in ("absent", "flush", "present", "set_absent", "set_present")},
    **{f"nftables.{fun}": _KERNEL for fun in _NFTABLES},
}
"""State functions that no case can run, and why."""
