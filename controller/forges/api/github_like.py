"""APIs like that of GitHub, which Gitea and Forgejo follow: pull requests, comments, reactions, commit statuses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar
from urllib.parse import urlsplit

import msgspec

from controller.forges.api.access import Proof
from controller.forges.api.adapter import HttpForgeClient
from controller.forges.api.marks import comment_of, mark_of
from controller.forges.api.paths import quoted, split_project
from controller.forges.client import (
    CheckState,
    ForgeCheck,
    ForgeComment,
    ForgeNotFound,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)

TITLE = 140
_REACTIONS = {Reaction.SEEN: "eyes", Reaction.DONE: "+1", Reaction.REFUSED: "-1"}
_STATUSES = {
    CheckState.RUNNING: "pending",
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failure",
    CheckState.NEUTRAL: "success",
    CheckState.CANCELLED: "error",
}
_PERMISSIONS = {
    "owner": Permission.ADMIN,  # Gitea's
    "admin": Permission.ADMIN,
    "write": Permission.WRITE,
    "read": Permission.READ,
}


class ForgeLogin(msgspec.Struct, frozen=True):
    """A person."""

    login: str = ""


class OwnRepository(msgspec.Struct, frozen=True):
    """A repository, and what we may do there."""

    full_name: str = ""
    permissions: dict[str, bool] = msgspec.field(default_factory=dict)


class PullSide(msgspec.Struct, frozen=True):
    """Head or base of a pull request."""

    ref: str = ""
    sha: str = ""
    repo: OwnRepository | None = None


class PullAnswer(msgspec.Struct, frozen=True):
    """A pull request."""

    number: int
    state: str
    head: PullSide
    base: PullSide
    title: str = ""
    html_url: str = ""
    updated_at: str | None = ""
    user: ForgeLogin | None = None
    draft: bool = False
    merged_at: str | None = None
    merge_commit_sha: str | None = None


class CommentAnswer(msgspec.Struct, frozen=True):
    """A comment."""

    id: int
    created_at: str
    updated_at: str
    body: str | None = ""
    user: ForgeLogin | None = None
    node_id: str = ""
    """Of GitHub's GraphQL."""


class _Granted(msgspec.Struct, frozen=True):
    permission: str = ""


class GitHubLikeClient(HttpForgeClient):
    """A client of such an API. Lists of comments are the kind's."""

    newest_change_first: ClassVar[Mapping[str, str | int]]
    """Parameters of a list of pull requests: its order and the length of its pages."""
    of_nothing: ClassVar[tuple[int, ...]] = (404, 422)
    """Statuses with which it answers who may write that the thing is not there."""

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""
        path = f"{self.repository(project)}/pulls/{number}"
        return pull_request_of(project, await self._http.get(path, PullAnswer, project=project))

    async def open_pull_requests(self, project: str) -> list[PullRequest]:
        """All open ones, the newest change first."""
        path, most = f"{self.repository(project)}/pulls", self._limits.pull_requests
        parameters = {"state": "open", **self.newest_change_first}
        found = await self._http.entries(path, parameters, PullAnswer, most, project=project)
        return [pull_request_of(project, each) for each in found]

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""
        path = f"{self.repository(project)}/issues/{number}/comments"
        answer = await self._http.send("POST", path, {"body": body}, project=project)
        return shared_comment(await answer.parsed(CommentAnswer))

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours."""
        await self._http.send("PATCH", self.comment_path(project, comment), {"body": body}, project=project)

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """Answer a comment."""
        path = f"{self.comment_path(project, comment)}/reactions"
        await self._http.send("POST", path, {"content": _REACTIONS[reaction]}, project=project)

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """The commit's status of this name."""
        status = {"state": _STATUSES[check.state], "context": check.name, "description": check.title[:TITLE]}
        url = {"target_url": check.url} if check.url else {}
        path = f"{self.repository(project)}/statuses/{quoted(head)}"
        await self._http.send("POST", path, {**status, **url}, project=project)

    async def permission(self, project: str, user: str) -> Permission:
        """What a person may do."""
        path = f"{self.repository(project)}/collaborators/{quoted(user)}/permission"
        try:
            found = await self._http.get(path, _Granted, project=project)
        except ForgeNotFound:
            return Permission.NONE
        return _PERMISSIONS.get(found.permission, Permission.NONE)

    async def own_rights(self, project: str) -> Mapping[str, bool]:
        """What we may do in a repository: `admin`, `push`, `pull`."""
        return (await self._http.get(self.repository(project), OwnRepository, project=project)).permissions

    async def write_nothing(self, project: str, method: str, below: str, body: Mapping[str, str]) -> str:
        """Proves that something below a repository may be written, by what there is not."""
        path = self.repository(project) + below
        return await self.write_absent(method, path, body, self.of_nothing, project=project)

    def write_proofs(self, project: str, *, comments: str, statuses: str) -> tuple[Proof, Proof]:
        """Proofs that comments and statuses may be written; the arguments say how that is given."""
        status = {"state": "pending", "context": "x"}
        return (
            Proof(
                what=f"write comments in {project}",
                ask=partial(self.write_nothing, project, "PATCH", "/issues/comments/0", {"body": "."}),
                remedy=comments,
                by_absence=True,
            ),
            Proof(
                what=f"set commit statuses in {project}",
                ask=partial(self.write_nothing, project, "POST", f"/statuses/{'0' * 40}", status),
                remedy=statuses,
                by_absence=True,
            ),
        )

    def repository(self, project: str) -> str:
        """The path of a repository."""
        return f"/repos/{split_project(self.name, project)}"

    def comment_path(self, project: str, comment: str) -> str:
        """The path of a comment."""
        return f"{self.repository(project)}/issues/comments/{quoted(comment)}"


def pull_request_of(project: str, found: PullAnswer) -> PullRequest:
    """A pull request as the port has it."""
    state = PullState.MERGED if found.merged_at else PullState(found.state)
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
        url=found.html_url if urlsplit(found.html_url).scheme in ("http", "https") else "",
    )


def shared_comment(found: CommentAnswer) -> ForgeComment:
    """A comment as the port has it."""
    author = found.user.login if found.user else ""
    return comment_of(found.id, author, found.body or "", found.created_at, found.updated_at)
