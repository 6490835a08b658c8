"""Gitea and Forgejo: https://docs.gitea.com/api/. Checks are commit statuses; comments cannot be folded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from controller.config.forges import ForgeSettings
from controller.config.limits import ForgeLimits
from controller.forges.client import (
    AccessResult,
    CheckState,
    ForgeCheck,
    ForgeComment,
    ForgeNotFound,
    ForgeRefused,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)
from controller.forges.clients.access import Proof, proved
from controller.forges.clients.authorization import TokenAuthorization
from controller.forges.clients.http import http_of, quoted, split_project
from controller.forges.clients.marks import OUTDATED, comment_of, mark_of
from options.limits import CountRefusal, uncounted

_PAGE = 50
_REACTIONS = {Reaction.SEEN: "eyes", Reaction.DONE: "+1", Reaction.REFUSED: "-1"}
_STATUSES = {
    CheckState.RUNNING: "pending",
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failure",
    CheckState.NEUTRAL: "success",
    CheckState.CANCELLED: "error",
}
_PERMISSIONS = {
    "owner": Permission.ADMIN,
    "admin": Permission.ADMIN,
    "write": Permission.WRITE,
    "read": Permission.READ,
}


class _GiteaUser(msgspec.Struct, frozen=True):
    login: str = ""


class _GiteaRepository(msgspec.Struct, frozen=True):
    full_name: str = ""
    permissions: dict[str, bool] = {}


class _GiteaSide(msgspec.Struct, frozen=True):
    ref: str = ""
    sha: str = ""
    repo: _GiteaRepository | None = None


class _GiteaPull(msgspec.Struct, frozen=True):
    number: int
    state: str
    head: _GiteaSide
    base: _GiteaSide
    title: str = ""
    html_url: str = ""
    updated_at: str | None = ""
    user: _GiteaUser | None = None
    draft: bool = False
    merged: bool = False
    merge_commit_sha: str | None = None


class _GiteaComment(msgspec.Struct, frozen=True):
    id: int
    created_at: str
    updated_at: str
    body: str = ""
    user: _GiteaUser | None = None


class _GiteaPermission(msgspec.Struct, frozen=True):
    permission: str = ""


def _form(token: str) -> dict[str, str]:
    return {"authorization": f"token {token}"}


class GiteaClient:
    """One Gitea or Forgejo. A `ForgeClient`."""

    comment_bytes = 65_535

    def __init__(
        self,
        settings: ForgeSettings,
        limits: ForgeLimits,
        *,
        refused: CountRefusal = uncounted,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is connected yet; `refused` hears the name of a limit, `clock` says seconds since the epoch."""
        self.name = settings.name
        self._limits = limits
        self._refused = refused
        authorization = TokenAuthorization(settings.name, settings.token, _form)
        self._http = http_of(settings, authorization, limits, refused, clock)

    async def close(self) -> None:
        """End connections."""
        await self._http.close()

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""
        return _pull(project, await self._http.get(f"{self._repo(project)}/pulls/{number}", _GiteaPull))

    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones, the newest change first."""
        path, most = f"{self._repo(project)}/pulls", self._limits.pull_requests
        parameters: dict[str, str | int] = {"state": "open", "sort": "recentupdate", "limit": _PAGE}
        found = await self._http.entries(path, parameters, _GiteaPull, most)
        return [_pull(project, each) for each in found]

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """The newest comments, the oldest of them first. The forge sends all at once."""
        found = await self._http.get(f"{self._repo(project)}/issues/{number}/comments", list[_GiteaComment])
        if len(found) > self._limits.comments:
            self._refused("comments")
        return [_comment(each) for each in found[-self._limits.comments :]]

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""
        answer = await self._http.send("POST", f"{self._repo(project)}/issues/{number}/comments", {"body": body})
        return _comment(await answer.parsed(_GiteaComment))

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours."""
        await self._http.send("PATCH", self._comment_path(project, comment), {"body": body})

    async def hide_comment(self, project: str, number: int, comment: str) -> None:
        """Say that it is outdated."""
        await self.edit_comment(project, number, comment, OUTDATED)

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """Answer a comment."""
        path = f"{self._comment_path(project, comment)}/reactions"
        await self._http.send("POST", path, {"content": _REACTIONS[reaction]})

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """The commit's status of this name."""
        status = {"state": _STATUSES[check.state], "context": check.name, "description": check.title}
        url = {"target_url": check.url} if check.url else {}
        await self._http.send("POST", f"{self._repo(project)}/statuses/{quoted(head)}", {**status, **url})

    async def permission(self, project: str, user: str) -> Permission:
        """What a person may do. The forge says it to administrators of the repository alone."""
        path = f"{self._repo(project)}/collaborators/{quoted(user)}/permission"
        try:
            found = await self._http.get(path, _GiteaPermission)
        except ForgeNotFound:
            return Permission.NONE
        return _PERMISSIONS.get(found.permission, Permission.NONE)

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one. Nothing is written: what is written to is not there."""

        async def read() -> str:
            return f"{len(await self.open_pull_requests(project))} open"

        async def rights() -> str:
            found = await self._http.get(self._repo(project), _GiteaRepository)
            if not found.permissions.get("admin"):
                raise ForgeRefused("the token's owner is no administrator of the repository")
            return "administrator"

        async def comment() -> str:
            return await self._tried(project, "PATCH", "/issues/comments/0", {"body": "."})

        async def status() -> str:
            return await self._tried(project, "POST", f"/statuses/{'0' * 40}", {"state": "pending", "context": "x"})

        who = f"see who may write to {project}"
        return await proved(
            Proof(
                what=f"read pull requests of {project}",
                ask=read,
                remedy="Give the token's owner the repository, and read:repository",
            ),
            Proof(what=who, ask=rights, remedy="Make the token's owner an administrator of the repository"),
            Proof(
                what=f"write comments in {project}",
                ask=comment,
                remedy="Give the token the scope write:issue",
                by_absence=True,
            ),
            Proof(
                what=f"set commit statuses in {project}",
                ask=status,
                remedy="Give the token the scope write:repository",
                by_absence=True,
            ),
        )

    async def _tried(self, project: str, method: str, path: str, body: dict[str, Any]) -> str:
        """Gitea answers 500 for a status of a commit that there is not, and 403 before that without the right."""
        accepted = (400, 404, 422, 500)
        answer = await self._http.request(method, self._repo(project) + path, body=body, accept=accepted)
        return f"answered {answer.status} for what there is not"

    def _repo(self, project: str) -> str:
        return f"/repos/{split_project(self.name, project)}"

    def _comment_path(self, project: str, comment: str) -> str:
        return f"{self._repo(project)}/issues/comments/{quoted(comment)}"


def _pull(project: str, found: _GiteaPull) -> PullRequest:
    state = PullState.MERGED if found.merged else PullState(found.state)
    head = found.head.repo.full_name.lower() if found.head.repo else ""
    base = found.base.repo.full_name.lower() if found.base.repo else project.lower()
    return PullRequest(
        project=project,
        number=found.number,
        title=found.title,
        author=found.user.login if found.user else "",
        state=state,
        draft=found.draft,
        head=found.head.sha,
        head_branch=found.head.ref,
        from_fork=head != base,
        base_branch=found.base.ref,
        merge_commit=(found.merge_commit_sha or "") if state is PullState.MERGED else "",
        updated=mark_of(found.updated_at or "", found.state, found.head.sha, found.base.ref),
        url=found.html_url,
    )


def _comment(found: _GiteaComment) -> ForgeComment:
    author = found.user.login if found.user else ""
    return comment_of(found.id, author, found.body, found.created_at, found.updated_at)
