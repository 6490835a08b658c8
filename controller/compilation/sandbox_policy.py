"""What the processes that render templates may do, from the configuration: read the trees, and nothing else.

Called by the composition root. Keys, passwords, programs and the network of `gpg`, `vault`, `ext_pillar` and
`master_tops` are the controller's own (`compile_rpc`): a tree needs none of them. What `#!py`, or the administrator's
own plugins, need beside that is granted by `compile_grants`.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.compilation.sandbox import SandboxPolicy
from controller.config.settings import ControllerSettings


def sandbox_policy_of(settings: ControllerSettings) -> SandboxPolicy | None:
    """The policy; None where `compile_confinement` is off."""
    if not settings.compile_confinement:
        return None
    roots = (settings.trees.file_roots, settings.trees.pillar_roots)
    trees = [str(settings.cachedir / "gitfs"), *(folder for root in roots for folder in _folders(root.values()))]
    return SandboxPolicy(
        readable=(*trees, *(grant for grant in settings.compile_grants if grant.startswith("/"))),
        programs="programs" in settings.compile_grants,
        network="network" in settings.compile_grants,
    )


def distant_sandbox_policy_of(settings: ControllerSettings) -> SandboxPolicy | None:
    """The same on machines that have no trees: contents come to the processes there (`cluster`)."""
    if not settings.compile_confinement:
        return None
    return SandboxPolicy(
        readable=tuple(grant for grant in settings.compile_grants if grant.startswith("/")),
        programs="programs" in settings.compile_grants,
        network="network" in settings.compile_grants,
    )


def _folders(roots: Iterable[tuple[str, ...]]) -> Iterable[str]:
    """A root of `__env__` has a folder for each saltenv: all of them are below what stands before it."""
    for folders in roots:
        for folder in folders:
            yield folder.partition("__env__")[0]
