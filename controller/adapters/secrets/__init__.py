"""Adapters of the language's ports for secrets: GnuPG's keys, and a vault."""

from __future__ import annotations

from controller.adapters.secrets.keyring import Keyring
from controller.adapters.secrets.vault import Vault

__all__ = ["Keyring", "Vault"]
