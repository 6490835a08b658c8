"""What is notified of, and the message that a receiver gets. Times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from controller.policy.notifications import KINDS, NoticeSeverity

IncidentAction: TypeAlias = Literal["trigger", "acknowledge", "resolve"]
"""What a message does to an incident: it begins or goes on, somebody is about it, it is over."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that holds, or something that happened once. Its texts are hostile."""

    kind: str
    """One of `KINDS`."""
    subject: str
    """What it is about: a minion, a remote, a rollout; with the kind it names the notice."""
    title: str
    """One line."""
    text: str = ""
    minion: str = ""
    """Empty where it is about none."""
    environments: tuple[str, ...] = ()
    """Saltenvs that the minion has its states from."""
    revision: str = ""
    """Label."""
    since: float = 0.0
    acknowledged: bool = False
    """Whether somebody has said that they know, by pausing the minion."""

    @property
    def key(self) -> str:
        """By which it is known again."""
        return f"{self.kind}/{self.subject}"

    @property
    def severity(self) -> NoticeSeverity:
        """That of its kind."""
        return KINDS[self.kind].severity

    @property
    def ends(self) -> bool:
        """Whether it is a condition."""
        return KINDS[self.kind].ends


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What one receiver is told at once. Its texts are plain: each receiver escapes them for its service."""

    id: str
    """The same however often it is sent."""
    receiver: str
    group: str
    """Key of the group: the dedup key of an incident."""
    action: IncidentAction
    severity: NoticeSeverity
    """The worst of what is told."""
    labels: Mapping[str, str]
    """What is equal of all that is told."""
    title: str
    text: str
    revision: str = ""
    """Label of the revision that it is about, where it is about one."""
    commits: Mapping[str, str] = {}
    """Remote -> commit of that revision."""
    firing: tuple[Notice, ...] = ()
    """Those that are shown of what holds."""
    resolved: tuple[Notice, ...] = ()
    """Those that are shown of what is over."""
    counts: tuple[int, int] = (0, 0)
    """Of all that hold, and of all that are over."""
    at: float
    url: str = ""
    """Where people look on; empty where there is no such address."""


_ORDER: tuple[NoticeSeverity, ...] = ("critical", "warning", "info")


def worst(severities: set[NoticeSeverity]) -> NoticeSeverity:
    """The worst of some; `info` of none."""
    return next((each for each in _ORDER if each in severities), "info")
