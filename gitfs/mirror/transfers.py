"""One transfer from a remote into a mirror's `fetched` refs: by its files on this machine, by git's protocol elsewhere.

Called by `gitfs.mirror.mirror` with the right to write. Decides nothing about what goes live.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pygit2
from pygit2.enums import FetchPrune

from gitfs.config import refspecs
from gitfs.config.settings import RemoteSettings
from gitfs.config.urls import local_path
from gitfs.mirror.local_remote import LocalRemote
from gitfs.mirror.ref_updates import FETCHED
from gitfs.mirror.refdb import move_ref
from gitfs.transport.callbacks import Callbacks, ConnectionRefused, failures
from gitfs.transport.https_proxy import Endpoint, endpoint_of
from gitfs.transport.tcp_nodelay import tcp_nodelay

PINNED = "refs/saltern/pinned/"
"""Commits that other repositories record as their submodules."""

_MOST_WANTED = 50
"""Refs that are asked for by name; git compares each of them with all that the remote has."""


class Transfers:
    """The transfers of one remote."""

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self._refspecs = refspecs.parse_all(settings.refspecs, pull_requests=settings.pull_requests)
        self._names: dict[str, tuple[str, ...]] = {}
        """Ref of the remote -> what it is called here."""
        self._last_named: tuple[Mapping[str, str], dict[str, str]] = ({}, {})
        """Refs of the remote, and names here -> ids."""
        path = local_path(settings.url)
        self._local_remote = None if path is None else LocalRemote(path)

    def all(self, repository: pygit2.Repository, held: Mapping[str, str]) -> dict[str, str]:
        """Bring what the remote has now: `heads/...`, `tags/...`, `pulls/...` -> id. FetchFailed.

        Args:
            repository: the mirror.
            held: the same, as the mirror has it.
        """
        with failures(self._settings):
            there = self._copied(repository, held)
            return self._asked_for(repository, held) if there is None else there

    def one(self, repository: pygit2.Repository, commit: str) -> None:
        """Bring a commit that may be on no branch any more; FetchFailed."""
        with failures(self._settings), endpoint_of(self._settings) as endpoint:
            remote = repository.remotes.create_anonymous(endpoint.url)
            self._download(remote, endpoint, Callbacks(self._settings, endpoint.url), [f"+{commit}:{PINNED}{commit}"])

    def _copied(self, repository: pygit2.Repository, held: Mapping[str, str]) -> dict[str, str] | None:
        """`all` from a remote of this machine; None where git's own protocol has to do it."""
        refs = self._local_remote.refs() if self._local_remote else None
        there = None if refs is None else self._named(refs)
        if self._local_remote is None or not there:
            return None
        news = dict(there.items() - held.items())
        if not self._local_remote.copy(repository, news.values()) or len(news) > _MOST_WANTED:
            return None  # with all objects there, git's own protocol brings the refs alone
        _drop(repository, held.keys() - there.keys())
        for name, oid in news.items():
            if name in held:
                move_ref(repository.path, FETCHED + name, oid)
            else:
                repository.references.create(FETCHED + name, oid, force=True)
        return there

    def _asked_for(self, repository: pygit2.Repository, held: Mapping[str, str]) -> dict[str, str]:
        """`all` by git's own protocol."""
        with endpoint_of(self._settings) as endpoint:
            remote = repository.remotes.create_anonymous(endpoint.url)
            callbacks = Callbacks(self._settings, endpoint.url)
            with tcp_nodelay():
                remote.connect(callbacks=callbacks, proxy=endpoint.proxy or None)
            refs = {head.name: str(head.oid) for head in remote.list_heads(connect=False) if head.name}
            there = self._named(refs)
            if not any(name.startswith(("heads/", "tags/")) for name in there):
                raise ConnectionRefused("the remote has no branch", retryable=True)
            _drop(repository, held.keys() - there.keys())
            news = there.items() - held.items()
            if news:
                wanted = {name for name, _ in news}
                specs = [f"+{ref}:{FETCHED}{name}" for ref in refs for name in self._names_of(ref) if name in wanted]
                self._download(remote, endpoint, callbacks, specs)
        # Without a look back: what did not come after all is found out when it is to go live.
        return there

    def _download(self, remote: pygit2.Remote, endpoint: Endpoint, callbacks: Callbacks, wanted: Sequence[str]) -> None:
        """Fetch by these refspecs, or by those of the settings when these are many."""
        specs = list(wanted) if len(wanted) <= _MOST_WANTED else [each.under(FETCHED) for each in self._refspecs]
        remote.fetch(specs, callbacks=callbacks, prune=FetchPrune.NO_PRUNE, proxy=endpoint.proxy or None)

    def _named(self, refs: Mapping[str, str]) -> dict[str, str]:
        """Name here -> id, for these refs of the remote; costs what moved since the last time."""
        before, found = self._last_named
        if refs.keys() == before.keys():
            moved = refs.items() - before.items()
            found = {**found, **{name: oid for ref, oid in moved for name in self._names_of(ref)}}
        else:
            found = {name: oid for ref, oid in refs.items() for name in self._names_of(ref)}
        self._last_named = refs, found
        return found

    def _names_of(self, ref: str) -> tuple[str, ...]:
        found = self._names.get(ref)
        if found is None:
            peeled = ref.endswith("^{}")
            found = self._names[ref] = () if peeled else tuple(refspecs.names_of(self._refspecs, ref))
        return found


def _drop(repository: pygit2.Repository, gone: Collection[str]) -> None:
    """What is gone goes first: a branch `a` would be in the way of a new `a/b`."""
    for name in gone:
        repository.references.delete(FETCHED + name)
