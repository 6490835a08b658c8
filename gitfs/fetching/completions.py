"""What commits need elsewhere (submodules, contents of Git LFS) is brought after the fetch that found them, beside it.

Called by `gitfs.fetching.fetcher`, from several threads. Commits of the base begin at once; of the others, a few at a
time, those that failed least first. One that failed is tried again later each time. Knows nothing of what is brought.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from gitfs.mirror.back_off import QUICK_SECONDS, pause_after

Begin = Callable[[str, str], Future[str]]
"""Begins to bring what a commit of a mirror (its key) needs: why that was not possible, empty when it was."""


@dataclass(slots=True)
class _Failure:
    reason: str
    count: int
    """Of failures in a row that took long."""
    not_before: float
    """By `time.monotonic`."""


@dataclass(slots=True)
class _Remote:
    urgent: dict[str, None] = field(default_factory=dict)
    """Commits of the base that have not begun."""
    others: dict[str, None] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)
    """Commit -> when it began."""
    running_others: int = 0
    ended: int = 0
    """Commits that were brought, or could not be."""
    failures: dict[str, _Failure] = field(default_factory=dict)


class Completions:
    """The commits that wait, of all remotes.

    Args:
        begin: see `Begin`.
        most: commits of a remote at a time, beside those of its base.
        brought: hears the key of a mirror when a commit of it has all that it needs; in another thread.
    """

    def __init__(self, begin: Begin, most: int, brought: Callable[[str], None]) -> None:
        self._begin = begin
        self._most = most
        self._brought = brought
        self._remotes: dict[str, _Remote] = {}
        self._changed = threading.Condition()

    def want(self, key: str, waiting: Mapping[str, str], first: Collection[str]) -> None:
        """Bring what these commits need; nothing of what waited before and is not among them.

        Args:
            key: of the mirror.
            waiting: ref -> commit, the more important first.
            first: refs of the base.
        """
        now = time.monotonic()
        with self._changed:
            remote = self._remotes.setdefault(key, _Remote())
            commits = dict.fromkeys(waiting.values())
            remote.failures = {commit: each for commit, each in remote.failures.items() if commit in commits}
            due = [
                commit
                for commit in commits
                if commit not in remote.running
                and (commit not in remote.failures or remote.failures[commit].not_before <= now)
            ]
            urgent = {commit for ref, commit in waiting.items() if ref in first}
            remote.urgent = dict.fromkeys(commit for commit in due if commit in urgent)
            ranked = sorted(due, key=lambda commit: remote.failures[commit].count if commit in remote.failures else 0)
            remote.others = dict.fromkeys(commit for commit in ranked if commit not in urgent)
        self._begin_next(key)

    def reason(self, key: str, commit: str) -> str | None:
        """Why a commit has not got what it needs; None while that is not known."""
        with self._changed:
            failure = self._remotes[key].failures.get(commit) if key in self._remotes else None
            return failure.reason if failure else None

    def ended(self, key: str) -> int:
        """How many commits of a mirror have been brought, or could not be."""
        with self._changed:
            return self._remotes[key].ended if key in self._remotes else 0

    def settle(self, key: str, seconds: float, ended: int) -> bool:
        """Wait until nothing is under way for a mirror; whether that is so, and something has ended.

        Args:
            key: of the mirror.
            seconds: to wait.
            ended: what `ended` said before: what has ended since then counts, also before this is called.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: not self._is_busy(key), max(0.0, seconds)):
                return False
            return key in self._remotes and self._remotes[key].ended > ended

    def _is_busy(self, key: str) -> bool:
        remote = self._remotes.get(key)
        return remote is not None and bool(remote.running or remote.urgent or remote.others)

    def _begin_next(self, key: str) -> None:
        """Begin what may begin now."""
        begun: list[tuple[str, bool]] = []
        with self._changed:
            remote = self._remotes[key]
            begun += [(commit, False) for commit in remote.urgent]
            remote.urgent = {}
            while remote.others and remote.running_others < self._most:
                commit = next(iter(remote.others))
                del remote.others[commit]
                remote.running_others += 1
                begun.append((commit, True))
            remote.running |= dict.fromkeys((commit for commit, _ in begun), time.monotonic())
        for commit, is_other in begun:
            self._begin(key, commit).add_done_callback(partial(self._end, key, commit, is_other))

    def _end(self, key: str, commit: str, is_other: bool, ended: Future[str]) -> None:
        error = ended.exception()
        reason = str(error) if error else ended.result()
        now = time.monotonic()
        with self._changed:
            remote = self._remotes[key]
            took = now - remote.running.pop(commit)
            remote.running_others -= is_other
            remote.ended += 1
            if reason:
                before = remote.failures.get(commit)
                count = (before.count if before else 0) + (took > QUICK_SECONDS)
                pause = pause_after(count) if took > QUICK_SECONDS else 0.0
                remote.failures[commit] = _Failure(reason, count, now + pause)
            else:
                remote.failures.pop(commit, None)
            self._changed.notify_all()
        if not reason:
            self._brought(key)
        self._begin_next(key)
