"""Secrets that the configuration names by their place in the vault: for remotes and forges.

The vault's client is loaded when a secret is asked for.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

from gitfs.config.credentials import AskVault
from highstate.ports import SecretFailed
from options.vault import VaultSettings

if TYPE_CHECKING:
    from controller.adapters.secrets.vault import Vault


def vault_reader(settings: VaultSettings | None) -> AskVault | None:
    """What asks the vault of a configuration; None when it has none."""
    return _VaultReader(settings) if settings else None


class _VaultReader:
    """Asks the vault anew each time: fetches are rare, and a secret that was changed counts from then on."""

    def __init__(self, settings: VaultSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()

    @cached_property
    def _vault(self) -> Vault:
        from controller.adapters.secrets.vault import Vault

        return Vault(self._settings)

    def __call__(self, path: str, key: str) -> str:
        try:
            with self._lock:
                found = self._vault.read_own(path, anew=True)
        except ModuleNotFoundError as error:
            raise LookupError(f"{path} of the vault: {error}; pip install 'saltern[vault]'") from None
        except (SecretFailed, ValueError) as error:
            raise LookupError(f"{path} of the vault: {error}") from None
        if key not in found:
            raise LookupError(f"{path} of the vault has no {key}")
        return str(found[key])
