"""When to fetch: hooks, polls and watches of local repositories, coalesced into sets of remote names.

    async with Changes(source.remotes, roots=source.roots) as changes:
        async for names in changes:
            for outcome in source.fetch(names): changes.fetched(...) or changes.failed(...)

Called by the controller's loop. Fetches nothing itself. A notice is a hint and no more: one too many costs a fetch that
finds nothing. At most one notice is pending for a remote, and one that comes during a fetch is delivered after it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from watchfiles import awatch

from gitfs.config.settings import ROOTS, RemoteSettings
from gitfs.config.urls import canonical, local_path

BURST_PAUSE_MS = 10
"""How long a burst of file events has to pause before it becomes a notice: a push is one burst."""
MAX_BURST_MS = 50
WATCH_READY_MS = 500
"""How soon a new watch says that it is set up."""
IDENTITY_CHECK_SECONDS = 1.0
"""Seconds between two checks whether the watched folders are still the same ones."""
FIRST_RETRY = 1.0
LONGEST_RETRY = 300.0
"""Seconds until a remote that failed is tried again: doubled each time, up to the longest (or its interval)."""
JITTER = 0.1
"""Part of the interval by which polls are spread."""

_Identity = tuple[int, int] | None
_RefTimes = tuple[int, ...]


class Changes:
    """The notices of a set of remotes and local folders, as one asynchronous iterator."""

    def __init__(self, remotes: Sequence[RemoteSettings], *, roots: Sequence[Path] = ()) -> None:
        self._remotes = {settings.name: settings for settings in remotes}
        self._roots = tuple(Path(path).absolute() for path in roots)
        self._failures: dict[str, int] = {}
        self._pending: set[str] = set()
        self._notice = asyncio.Event()
        self._closed = False
        self._polls: dict[str, asyncio.TimerHandle] = {}
        """Remote -> its next poll. Counted by the loop's clock, which nobody sets."""
        self._tasks: list[asyncio.Task[None]] = []
        self._refs_at_notice: dict[str, _RefTimes] = {}
        """Local repository -> its refs when it was noticed last."""

    async def __aenter__(self) -> Changes:
        for name, settings in self._remotes.items():
            self._schedule(name, settings.update_interval)
        self._tasks = [
            asyncio.create_task(self._keep_watching(self._trees(), recursive=True), name="gitfs-watch-trees"),
            asyncio.create_task(
                self._keep_watching(self._repository_folders(), recursive=False), name="gitfs-watch-repositories"
            ),
        ]
        self._notify([*self._remotes, *([ROOTS] if self._roots else [])])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._notice.set()
        for poll in self._polls.values():
            poll.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def __aiter__(self) -> AsyncIterator[frozenset[str]]:
        return self

    async def __anext__(self) -> frozenset[str]:
        """Names of the remotes that may have changed (`roots` for the local folders); waits until there is one.

        Ends once the context is left.
        """
        while not self._pending:
            if self._closed:
                raise StopAsyncIteration
            self._notice.clear()
            await self._notice.wait()
        names = frozenset(self._pending)
        self._pending.clear()
        return names

    def pushed(self, remote: str) -> frozenset[str]:
        """Fetch a remote soon, given by name or by any form of its URL; returns the names of the remotes that match."""
        wanted = canonical(remote)
        names = frozenset(
            name for name, settings in self._remotes.items() if remote == name or canonical(settings.url) == wanted
        )
        self._notify(names)
        return names

    def fetched(self, remote: str) -> None:
        """The remote answered: polls go on at their interval."""
        if self._failures.pop(remote, 0) and remote in self._remotes:
            self._schedule(remote, self._remotes[remote].update_interval)

    def failed(self, remote: str) -> None:
        """The remote did not answer: try again soon, then less and less often."""
        if remote not in self._remotes:
            return
        count = self._failures[remote] = self._failures.get(remote, 0) + 1
        self._schedule(remote, retry_after(count, self._remotes[remote].update_interval))

    def _schedule(self, name: str, seconds: float) -> None:
        """Poll a remote after so many seconds, and then again and again."""
        if (before := self._polls.get(name)) is not None:
            before.cancel()
        spread = seconds * JITTER * (2 * random.random() - 1)  # noqa: S311 - no secret
        self._polls[name] = asyncio.get_running_loop().call_later(seconds + spread, self._poll, name, seconds)

    def _poll(self, name: str, seconds: float) -> None:
        self._schedule(name, seconds)
        self._notify([name])

    def _notify(self, names: Iterable[str]) -> None:
        named = set(names)
        for name, repository in self._repositories().items() if named else ():
            if name in named:
                self._refs_at_notice[name] = _ref_times(repository)
        self._pending |= named
        if self._pending:
            self._notice.set()

    def _unnoticed(self) -> list[str]:
        """Local repositories whose refs moved since the last notice: watchfiles drops events that come while it hands
        over those before them, and the next poll may be an hour away.
        """
        return [
            name
            for name, repository in self._repositories().items()
            if self._refs_at_notice.get(name) != _ref_times(repository)
        ]

    def _trees(self) -> dict[Path, str]:
        """Folders that are watched with all below them -> the remote (or `roots`) that a change there is news of."""
        found = {repository / "refs": name for name, repository in self._repositories().items()}
        return {**found, **dict.fromkeys(self._roots, ROOTS)}

    def _repository_folders(self) -> dict[Path, str]:
        """Repositories themselves, for `packed-refs` and `HEAD`; not below: their objects are no news."""
        return {repository: name for name, repository in self._repositories().items()}

    def _repositories(self) -> dict[str, Path]:
        paths = {name: local_path(settings.url) for name, settings in self._remotes.items()}
        return {name: _git_directory(path) for name, path in paths.items() if path is not None}

    async def _keep_watching(self, folders: Mapping[Path, str], *, recursive: bool) -> None:
        """Watch the folders that exist; begin again whenever one goes, comes or is replaced by another."""
        while folders:
            identities = _identities(folders)
            stop = asyncio.Event()
            watch = asyncio.create_task(self._watch(folders, identities, stop, recursive=recursive))
            try:
                while not watch.done() and _identities(folders) == identities:
                    await asyncio.wait([watch], timeout=IDENTITY_CHECK_SECONDS)
                    if not recursive:
                        self._notify(self._unnoticed())
            finally:
                stop.set()
                watch.cancel()
                await asyncio.gather(watch, return_exceptions=True)
            self._notify(folders.values())

    async def _watch(
        self, folders: Mapping[Path, str], identities: Mapping[Path, _Identity], stop: asyncio.Event, *, recursive: bool
    ) -> None:
        present = [path for path, identity in identities.items() if identity is not None]
        if not present:
            await stop.wait()
            return
        is_ready = False
        with suppress(OSError, RuntimeError):  # a folder that went between the look and the watch: look again
            async for events in awatch(
                *present,
                watch_filter=None,
                step=BURST_PAUSE_MS,
                debounce=MAX_BURST_MS,
                stop_event=stop,
                rust_timeout=WATCH_READY_MS,
                yield_on_timeout=True,
                recursive=recursive,
                force_polling=False,
                ignore_permission_denied=True,
            ):
                # The first batch says that the watch is set up: nobody was notified of what was pushed before that.
                named = {name for _, path in events for name in _remotes_of(path, folders)}
                self._notify(named if is_ready else folders.values())
                is_ready = True
        await asyncio.sleep(IDENTITY_CHECK_SECONDS)


def retry_after(failures: int, interval: float) -> float:
    """Seconds until the next try of a remote that has failed this many times in a row."""
    longest = max(LONGEST_RETRY, interval)
    return float(min(FIRST_RETRY * 2 ** min(failures - 1, 30), longest))


def _remotes_of(path: str, folders: Mapping[Path, str]) -> Iterable[str]:
    where = Path(path)
    return [
        name
        for folder, name in folders.items()
        if where.is_relative_to(folder) and (name == ROOTS or where.suffix != ".lock")
    ]


def _git_directory(path: Path) -> Path:
    inner = path / ".git"
    return inner if inner.is_dir() else path


def _ref_times(repository: Path) -> _RefTimes:
    """When branches, tags and packed refs were last written: a ref is renamed into its folder."""
    return tuple(_time_of(repository / place) for place in ("HEAD", "packed-refs", "refs/heads", "refs/tags"))


def _time_of(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _identities(folders: Iterable[Path]) -> dict[Path, _Identity]:
    return {folder: _identity(folder) for folder in folders}


def _identity(folder: Path) -> _Identity:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
