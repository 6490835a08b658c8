"""The `gitfs.Source` of a configuration. Called by the composition root, and by verbs that read mirrors themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from controller.adapters.secrets.vault_reader import vault_reader
from controller.config.forges import withhold_secrets
from controller.config.settings import ControllerSettings
from gitfs.config.credentials import AskVault, withhold
from gitfs.config.settings import RemoteSettings
from gitfs.fetching.fork_server import ForkServer
from gitfs.source import Source
from options.limits import CountRefusal, uncounted


def open_source(
    settings: ControllerSettings, fork_server: ForkServer | None = None, on_refusal: CountRefusal = uncounted
) -> Source:
    """The source over the mirrors in `cachedir`; nothing is fetched by opening it.

    Takes the variables that its secrets stand in out of the environment. `fork_server`, `on_refusal`: see `Source`.
    """
    git = settings.trees.git()
    ask = vault_reader(settings.ports.vault)
    withhold_secrets(settings.forges, None)  # of the environment, before a process is started that would have them
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
