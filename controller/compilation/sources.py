"""The `gitfs.Source` of a configuration. Called by the composition root, and by verbs that read mirrors themselves."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from controller.config.settings import ControllerSettings
from controller.config.vault import VaultSettings
from gitfs.config.credentials import AskVault, withhold
from gitfs.config.settings import RemoteSettings
from gitfs.fetching.fork_server import ForkServer
from gitfs.source import Source
from highstate.ports import SecretFailed
from options.limits import CountRefusal, uncounted

if TYPE_CHECKING:
    from controller.adapters.secrets.vault import Vault


def open_source(
    settings: ControllerSettings, fork_server: ForkServer | None = None, on_refusal: CountRefusal = uncounted
) -> Source:
    """The source over the mirrors in `cachedir`; nothing is fetched by opening it.

    Takes the variables that its secrets stand in out of the environment. `fork_server`, `on_refusal`: see `Source`.
    """
    git = settings.trees.git()
    ask = _VaultReader(settings.ports.vault) if settings.ports.vault else None
    return Source(
        _ready(git.file_remotes, ask),
        _ready(git.pillar_remotes, ask),
        settings.cachedir / "gitfs",
        settings.trees.file_roots,
        settings.trees.pillar_roots,
        backends=git.backends,
        ignored=git.ignored,
        asked=_named(settings.language.saltenv),
        asked_of_pillar=_named(settings.language.pillarenv),
        pillar_includes=git.pillar_includes,
        fork_server=fork_server,
        limits=settings.limits.git,
        on_refusal=on_refusal,
    )


def _named(saltenv: str | None) -> list[str]:
    return [saltenv] if saltenv else []


def _ready(remotes: Sequence[RemoteSettings], ask: AskVault | None) -> list[RemoteSettings]:
    """The remotes, with secrets that can be revealed."""
    return [each.with_secrets(partial(withhold, ask=ask)) for each in remotes]


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
                found = self._vault.read_now(path)
        except (SecretFailed, ValueError) as error:
            raise LookupError(f"{path} of the vault: {error}") from None
        if key not in found:
            raise LookupError(f"{path} of the vault has no {key}")
        return str(found[key])
