"""The runner `git_pillar`: fetches the remotes of pillar."""

from __future__ import annotations

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed


async def update(context: RunnerContext, branch: str | None = None, repo: str | None = None) -> dict[str, bool]:
    """Have remotes of pillar fetched now: all, or those of a branch or repository.

    Args:
        context: of the call.
        branch: of the remotes.
        repo: URL or name of a remote.
    """
    remotes = [
        remote
        for remote in context.ports.settings.trees.git().pillar_remotes
        if repo in (None, remote.url, remote.name) and branch in (None, remote.base)
    ]
    if not remotes:
        chosen = branch is not None or repo is not None
        raise ControllerCallFailed(
            "Specified git branch/repo not found in ext_pillar config"
            if chosen
            else "No git_pillar remotes are configured"
        )
    return {remote.name: bool(context.ports.fetch(remote.name, context.user)) for remote in remotes}


FUNCTIONS = {"update": update}
