"""States of firewalls: none has a case, each is tried in a network namespace."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_FIREWALLD = "it is the firewall of the whole machine; tried on a real firewalld in a network namespace"

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {"firewalld.present": _FIREWALLD, "firewalld.service": _FIREWALLD}
"""State functions that no case can run, and why."""
