"""The `gitfs.Source` of a configuration. Called by the composition root, and by verbs that read mirrors themselves."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from controller.config.settings import ControllerSettings
from gitfs.config.remotes import backends, file_remotes, ignored_files, pillar_includes, pillar_remotes
from gitfs.config.settings import RemoteSettings
from gitfs.fetching.fork_server import ForkServer
from gitfs.source import Source
from gitfs.transport.credentials import AskVault, withhold
from highstate.ports import SecretFailed

if TYPE_CHECKING:
    from controller.adapters.secrets.vault import Vault


def open_source(settings: ControllerSettings, fork_server: ForkServer | None = None) -> Source:
    """The source over the mirrors in `cachedir`; nothing is fetched by opening it.

    Takes the variables that its secrets stand in out of the environment. `fork_server`: see `Source`.
    """
    vault = settings.ports.get("vault")
    ask = _VaultReader(vault) if vault else None
    return Source(
        _ready(file_remotes(settings.git), ask),
        _ready(pillar_remotes(settings.git), ask),
        settings.cachedir / "gitfs",
        settings.git.get("file_roots"),
        settings.git.get("pillar_roots"),
        backends=backends(settings.git),
        ignored=ignored_files(settings.git),
        asked=_named(settings, "saltenv"),
        asked_of_pillar=_named(settings, "pillarenv"),
        pillar_includes=pillar_includes(settings.git),
        fork_server=fork_server,
    )


def _named(settings: ControllerSettings, option: str) -> list[str]:
    return [str(name)] if (name := settings.language.get(option)) else []


def _ready(remotes: Sequence[RemoteSettings], ask: AskVault | None) -> list[RemoteSettings]:
    """The remotes, with secrets that can be revealed."""
    return [each.with_secrets(partial(withhold, ask=ask)) for each in remotes]


class _VaultReader:
    """Asks the vault anew each time: fetches are rare, and a secret that was changed counts from then on."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._lock = threading.Lock()

    @cached_property
    def _vault(self) -> Vault:
        from controller.adapters.secrets.vault import Vault, VaultSettings

        return Vault(VaultSettings.parse(self._options))

    def __call__(self, path: str, key: str) -> str:
        try:
            with self._lock:
                found = self._vault.read_now(path)
        except (SecretFailed, ValueError) as error:
            raise LookupError(f"{path} of the vault: {error}") from None
        if key not in found:
            raise LookupError(f"{path} of the vault has no {key}")
        return str(found[key])
