"""A commit of a mirror pushed to its remote, as a branch that is not there yet. Never moves a branch.

Called by `gitfs.fetching.worker`, because a remote decides how long it takes.
"""

from __future__ import annotations

import pygit2

from gitfs.config.settings import RemoteSettings
from gitfs.limits import GitLimits
from gitfs.transport.advertisement import advertised_refs
from gitfs.transport.bounded_transfer import TransferBounds, bounded
from gitfs.transport.callbacks import Callbacks, ConnectionRefused, failures, remote_of
from gitfs.transport.https_proxy import endpoint_of
from options.limits import CountRefusal

_PUSH = 1
"""GIT_DIRECTION_PUSH of libgit2, which the binding has no name for."""


class _PushCallbacks(Callbacks):
    """Remembers what the remote says of the one ref: nothing, that it is taken, or why not."""

    def __init__(self, settings: RemoteSettings, url: str, ref: str) -> None:
        super().__init__(settings, url)
        self._ref = ref
        self.is_taken = False
        self.refused = "it does not say that it was"

    def push_update_reference(self, refname: str, message: str | None) -> None:
        """libgit2 tells what the remote made of a ref."""
        if refname == self._ref:
            self.is_taken, self.refused = message is None, message or ""


def push_new_branch(
    path: str, settings: RemoteSettings, commit: str, branch: str, limits: GitLimits, on_refusal: CountRefusal
) -> None:
    """Push a commit as a new branch; nothing is done where the branch is there with this very commit.

    Args:
        path: of the mirror, which has the commit.
        settings: the remote, with its credentials for writing (`RemoteSettings.for_push`).
        commit: whole id.
        branch: its name, without `refs/heads/`.
        limits: of what the remote may send, and how long it may take.
        on_refusal: see `options.limits.CountRefusal`.

    Raises:
        FetchFailed: there is another branch of this name, or the remote does not take it.
    """
    ref = f"refs/heads/{branch}"
    with failures(settings), endpoint_of(settings) as endpoint:
        repository = pygit2.Repository(path)
        proxy, callbacks = endpoint.proxy or None, _PushCallbacks(settings, endpoint.url, ref)
        bounds = TransferBounds(
            most_bytes=limits.advertisement_bytes,
            bytes_limit="advertisement-bytes",
            what="what it answers takes",
            seconds=limits.push_seconds,
            seconds_limit="push-seconds",
        )
        with bounded(bounds, on_refusal):
            # One connection: a branch that somebody makes meanwhile is another than what the remote was asked for, and
            # the remote refuses. With a second list of refs it would be a step forward from that branch.
            remote = remote_of(repository, endpoint.url)
            remote.connect(Callbacks(settings, endpoint.url), _PUSH, proxy)
            there = advertised_refs(remote, (ref,)).get(ref)
            if there == commit:
                return
            if there is not None:
                raise ConnectionRefused(f"there is a branch {branch} already, with another commit: delete it there")
            remote.push([f"{commit}:{ref}"], callbacks=callbacks, proxy=proxy)
        if not callbacks.is_taken:
            raise ConnectionRefused(f"the remote does not take the branch {branch}: {callbacks.refused}")
