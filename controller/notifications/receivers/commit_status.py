"""The status of a commit on its forge: what became of a revision that was pushed.

By the client of the forge, as checks of pull requests are set. A status of a name is replaced, so that one that is set
twice is there once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.forges.client import CheckState, ForgeCheck, ForgeClient, ForgeError, ForgeUnavailable
from controller.notifications.notice import Message
from controller.notifications.receivers.plain_text import one_line
from controller.notifications.receivers.receiver import TryLater

_TITLE = 140
_STATES = {"critical": CheckState.FAILURE, "warning": CheckState.RUNNING, "info": CheckState.SUCCESS}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStatusReceiver:
    """One forge."""

    name: str
    context: str
    """Name of the status."""
    client: ForgeClient
    projects: Mapping[str, str]
    """Remote -> project of this forge."""

    async def send(self, message: Message) -> None:
        """See `Receiver`. What is about no revision, or about no project of this forge, sets nothing."""
        check = self.check_of(message)
        places = {
            (self.projects[remote], commit) for remote, commit in message.commits.items() if remote in self.projects
        }
        for project, commit in sorted(places):
            try:
                await self.client.set_check(project, commit, check)
            except ForgeUnavailable as error:
                raise TryLater(str(error), error.retry_after) from error
            except ForgeError as error:
                raise TryLater(str(error)) from error

    def check_of(self, message: Message) -> ForgeCheck:
        """Failed while something critical holds, running while something waits, else well."""
        state = CheckState.SUCCESS if message.action == "resolve" else _STATES[message.severity]
        return ForgeCheck(name=self.context, state=state, title=one_line(message.title, _TITLE) or "-", url=message.url)
