"""One transfer from a remote into a mirror's `fetched` refs: by its files on this machine, by git's protocol elsewhere.

Called by `gitfs.mirror.mirror` with the right to write. It does not decide what goes live. Where the remote has refs
that are not followed, libgit2 brings objects alone: one ref that it cannot write keeps it from writing all others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pygit2
from pygit2.enums import FetchPrune

from gitfs.config import refspecs
from gitfs.config.settings import RemoteSettings
from gitfs.config.urls import local_path
from gitfs.limits import GitLimits
from gitfs.mirror.local_remote import LocalRemote
from gitfs.mirror.ref_names import fault_of, names_below_others
from gitfs.mirror.ref_updates import FETCHED, RefRefused
from gitfs.mirror.refdb import TooManyRefs, move_ref, write_refs
from gitfs.printable import printable
from gitfs.transport.advertisement import advertised_refs
from gitfs.transport.bounded_transfer import TransferBounds, bounded
from gitfs.transport.callbacks import Callbacks, ConnectionRefused, failures, remote_of
from gitfs.transport.https_proxy import Endpoint, endpoint_of
from gitfs.transport.tcp_nodelay import tcp_nodelay
from options.limits import CountRefusal, uncounted

PINNED = "refs/saltern/pinned/"
"""Commits that other repositories record as their submodules."""

_MOST_WANTED = 50
"""Most refs that are requested by name; git compares each of them with all refs of the remote."""
_MOST_NAMED = 1000
"""The same where git cannot be asked for all, as it could not write one of the names; the next fetch asks for more."""
_MOST_FORGOTTEN = 1000
"""Names that are remembered of refs that are gone, beside as many as there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedRefs:
    """The refs of a remote that are followed."""

    refs: Mapping[str, str]
    """`heads/...`, `tags/...`, `pulls/...` -> id."""
    refused: tuple[RefRefused, ...] = ()
    """Refs that are not followed, by names that can be shown."""


class Transfers:
    """The transfers of one remote.

    Args:
        settings: the remote.
        first: branches and tags (`heads/...`) that are followed whatever else the remote has.
        limits: see there.
        on_refusal: see `options.limits.CountRefusal`.
        submodule_of: URL of the remote that it is a submodule of; each exchange has to end after `submodule_seconds`
            then.
    """

    def __init__(
        self,
        settings: RemoteSettings,
        *,
        first: Collection[str] = (),
        limits: GitLimits | None = None,
        on_refusal: CountRefusal = uncounted,
        submodule_of: str | None = None,
    ) -> None:
        self._seconds = (limits or GitLimits()).submodule_seconds if submodule_of else None
        self._submodule_of = submodule_of
        self._settings = settings
        self._first = frozenset(first)
        self._limits = limits or GitLimits()
        self._on_refusal = on_refusal
        self._refspecs = refspecs.parse_all(settings.refspecs, pull_requests=settings.pull_requests)
        self._names: dict[str, tuple[str, ...]] = {}
        """Ref of the remote -> its name in the mirror."""
        self._faults: dict[str, str] = {}
        """Ref of the remote -> why it is not followed."""
        self._last: tuple[Mapping[str, str], FollowedRefs] = ({}, FollowedRefs(refs={}))
        """Refs of the remote, and what is followed of them."""
        path = local_path(settings.url)
        self._local_remote = None if path is None else LocalRemote(path, self._limits)

    def all(self, repository: pygit2.Repository, held: Mapping[str, str]) -> FollowedRefs:
        """Fetch all refs of the remote. FetchFailed.

        Args:
            repository: the mirror.
            held: the same, as the mirror has it.
        """
        with failures(self._settings):
            try:
                there = self._copied(repository, held)
                return self._asked_for(repository, held) if there is None else there
            except TooManyRefs as error:
                self._on_refusal("advertisement-bytes")
                raise ConnectionRefused(
                    f"the names of its branches and tags take {error.args[0]} bytes; "
                    f"{self._limits.advertisement_bytes} are taken (limit advertisement-bytes)",
                    retryable=True,
                ) from None

    def one(self, repository: pygit2.Repository, commit: str) -> None:
        """Fetch a commit, which may be on no branch any more; FetchFailed."""
        with failures(self._settings), endpoint_of(self._settings, submodule_of=self._submodule_of) as endpoint:
            remote = remote_of(repository, endpoint.url)
            self._download(remote, endpoint, Callbacks(self._settings, endpoint.url), [f"+{commit}:{PINNED}{commit}"])

    def _copied(self, repository: pygit2.Repository, held: Mapping[str, str]) -> FollowedRefs | None:
        """`all` from a remote of this machine; None where git's own protocol is needed."""
        if self._local_remote is None:
            return None
        if fault := self._local_remote.fault():
            raise ConnectionRefused(fault, retryable=True)
        refs = self._local_remote.refs()
        there = None if refs is None else self._followed(refs, held)
        if there is None or not there.refs:
            return None
        news = dict(there.refs.items() - held.items())
        if not self._local_remote.copy(repository, news.values()):
            return None
        return _taken(repository, held, there)

    def _asked_for(self, repository: pygit2.Repository, held: Mapping[str, str]) -> FollowedRefs:
        """`all` by git's own protocol."""
        with endpoint_of(self._settings, submodule_of=self._submodule_of) as endpoint:
            remote = remote_of(repository, endpoint.url)
            callbacks = Callbacks(self._settings, endpoint.url)
            with self._bounded("advertisement_bytes", "the names of its branches and tags take"), tcp_nodelay():
                remote.connect(callbacks=callbacks, proxy=endpoint.proxy or None)
            refs = advertised_refs(remote, tuple(each.source.partition("*")[0] for each in self._refspecs))
            there = self._followed(refs, held)
            if not any(name.startswith(("heads/", "tags/")) for name in there.refs):
                why = f" that can be followed: {there.refused[0]}" if there.refused else ""
                raise ConnectionRefused(f"the remote has no branch{why}", retryable=True)
            wanted = {name for name, _ in there.refs.items() - held.items()}
            if wanted:
                sources = [ref for ref in refs if not wanted.isdisjoint(self._names_of(ref))]
                self._download(remote, endpoint, callbacks, self._specs(sources, held, whole=not there.refused))
        return _taken(repository, held, there)

    def _specs(self, sources: Sequence[str], held: Mapping[str, str], *, whole: bool) -> list[str]:
        """The refspecs of a fetch of these refs of the remote.

        Args:
            sources: full names.
            held: what the mirror has.
            whole: whether git can write all that the settings name, so that many are asked for at once.
        """
        if len(sources) <= _MOST_WANTED:
            return list(sources)
        if whole:
            return [each.under(FETCHED) for each in self._refspecs]

        def rank(ref: str) -> tuple[bool, bool, str]:
            names = self._names_of(ref)
            return self._first.isdisjoint(names), held.keys().isdisjoint(names), ref

        return sorted(sources, key=rank)[:_MOST_NAMED]

    def _download(self, remote: pygit2.Remote, endpoint: Endpoint, callbacks: Callbacks, specs: list[str]) -> None:
        with self._bounded("pack_bytes", "what it sends has"):
            done = remote.fetch(specs, callbacks=callbacks, prune=FetchPrune.NO_PRUNE, proxy=endpoint.proxy or None)
        if done.received_bytes > self._limits.pack_bytes:  # it came too fast to be cut off
            self._on_refusal("pack-bytes")
            raise ConnectionRefused(
                f"what it sends has more than {self._limits.pack_bytes} bytes (limit pack-bytes)", retryable=True
            )

    def _bounded(self, limit: str, what: str) -> AbstractContextManager[None]:
        bounds = TransferBounds(
            most_bytes=getattr(self._limits, limit),
            bytes_limit=limit.replace("_", "-"),
            what=what,
            seconds=self._seconds,
            seconds_limit="submodule-seconds",
        )
        return bounded(bounds, self._on_refusal)

    def _followed(self, refs: Mapping[str, str], held: Mapping[str, str]) -> FollowedRefs:
        """The followed refs of these; the cost is proportional to the refs that moved since the last call."""
        before, last = self._last
        if refs.keys() == before.keys():
            moved = refs.items() - before.items()
            fresh = {name: oid for ref, oid in moved for name in self._names_of(ref)}
            fresh = {name: oid for name, oid in fresh.items() if name in last.refs}
            found = FollowedRefs(refs={**last.refs, **fresh}, refused=last.refused)
        else:
            found = self._chosen(refs, held)
        self._last = refs, found
        return found

    def _chosen(self, refs: Mapping[str, str], held: Mapping[str, str]) -> FollowedRefs:
        """The refs whose names can be kept, up to the limit."""
        if len(self._names) > 2 * len(refs) + _MOST_FORGOTTEN:
            self._names, self._faults = {}, {}
        named = {name: oid for ref, oid in refs.items() for name in self._names_of(ref)}
        refused = [RefRefused(branch=_shown(ref), reason=self._faults[ref]) for ref in refs if ref in self._faults]
        for name, above in names_below_others(named).items():
            del named[name]
            refused.append(RefRefused(branch=_shown(name), reason=f"there is a ref {_shown(above)!r} too"))
        if len(named) > self._limits.refs:
            self._on_refusal("refs")
            order = sorted(named, key=lambda name: (name not in self._first, name not in held, name))
            reason = f"the remote has {len(named)} refs; {self._limits.refs} are followed (limit refs)"
            refused += [RefRefused(branch=_shown(name), reason=reason) for name in order[self._limits.refs :]]
            named = {name: named[name] for name in order[: self._limits.refs]}
        return FollowedRefs(refs=named, refused=tuple(refused))

    def _names_of(self, ref: str) -> tuple[str, ...]:
        found = self._names.get(ref)
        if found is None:
            peeled = ref.endswith("^{}")
            found = () if peeled else tuple(refspecs.names_of(self._refspecs, ref))
            if found and (fault := fault_of(ref, self._limits, self._on_refusal)):
                found, self._faults[ref] = (), fault
            self._names[ref] = found
        return found


def _taken(repository: pygit2.Repository, held: Mapping[str, str], there: FollowedRefs) -> FollowedRefs:
    """Set the mirror's refs to the fetched ids; a ref whose object is missing is unchanged."""
    news = dict(there.refs.items() - held.items())
    lost = {name for name, oid in news.items() if oid not in repository}
    fresh = {FETCHED + name: oid for name, oid in news.items() if name not in lost and name not in held}
    gone = {FETCHED + name for name in held.keys() - there.refs.keys()}
    if fresh or gone:
        write_refs(repository.path, fresh, gone)
    for name in news.keys() & held.keys() - lost:
        move_ref(repository.path, FETCHED + name, news[name])
    if not lost:
        return there
    refused = [RefRefused(branch=_shown(name), reason=f"{news[name][:8]} has not been sent yet") for name in lost]
    kept = {name: held.get(name, oid) for name, oid in there.refs.items() if name in held or name not in lost}
    return FollowedRefs(refs=kept, refused=(*there.refused, *refused))


def _shown(name: str) -> str:
    """The short name of a ref: `main` for `refs/heads/main` and `heads/main`."""
    return printable(name.removeprefix("refs/").partition("/")[2])
