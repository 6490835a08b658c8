"""States of Vault: none has a case."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    "vault.policy_absent": "needs a server; tried on OpenBao",
    "vault.policy_present": "needs a server; tried on OpenBao",
    "vault_secret.absent": "needs a server; tried on OpenBao",
    "vault_secret.present": "needs a server; tried on OpenBao",
}
"""State functions that no case can run, and why."""
