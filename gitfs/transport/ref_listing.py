"""Asks a remote for its refs, to see whether it answers. Called by `gitfs.fetching.worker`."""

from __future__ import annotations

import tempfile

import pygit2

from gitfs.config.settings import RemoteSettings
from gitfs.limits import GitLimits
from gitfs.transport.advertisement import advertised_refs
from gitfs.transport.bounded_transfer import TransferBounds, bounded
from gitfs.transport.callbacks import Callbacks, failures, remote_of
from gitfs.transport.https_proxy import endpoint_of
from options.limits import uncounted


def list_refs(settings: RemoteSettings) -> tuple[str, ...]:
    """The refs that a remote has now; FetchFailed when it does not answer. Fetches nothing."""
    with (
        tempfile.TemporaryDirectory(prefix="saltern-ask-") as folder,
        failures(settings),
        endpoint_of(settings) as endpoint,
    ):
        remote = remote_of(pygit2.init_repository(folder, bare=True), endpoint.url)
        bounds = TransferBounds(
            most_bytes=GitLimits().advertisement_bytes,
            bytes_limit="advertisement-bytes",
            what="the names of its branches and tags take",
        )
        with bounded(bounds, uncounted):
            remote.connect(callbacks=Callbacks(settings, endpoint.url), proxy=endpoint.proxy or None)
        return tuple(advertised_refs(remote, ("",)))
