"""Bitbucket Cloud: https://developer.atlassian.com/cloud/bitbucket/rest/. Checks are build statuses.

Pull requests name commits by twelve digits; the whole ones are asked for, and remembered. People are named by their
UUID, because their nicknames are not unique. Comments cannot be folded, and there are no reactions.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from cachetools import LRUCache

from controller.config.forges import ForgeSettings
from controller.config.limits import ForgeLimits
from controller.forges.client import (
    AccessResult,
    CheckState,
    ForgeCheck,
    ForgeComment,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)
from controller.forges.clients.access import Proof, proved
from controller.forges.clients.authorization import TokenAuthorization, basic, bearer
from controller.forges.clients.http import http_of, quoted, split_project
from controller.forges.clients.marks import OUTDATED, mark_of
from options.limits import CountRefusal, uncounted

Page = TypeVar("Page", bound="_Page")

_PAGE = 50
_COMMENTS = 100
_KEY = 40
_WHOLE = 40
_REMEMBERED = 2000
_STATES = {
    "OPEN": PullState.OPEN,
    "MERGED": PullState.MERGED,
    "DECLINED": PullState.CLOSED,
    "SUPERSEDED": PullState.CLOSED,
}
_STATUSES = {
    CheckState.RUNNING: "INPROGRESS",
    CheckState.SUCCESS: "SUCCESSFUL",
    CheckState.FAILURE: "FAILED",
    CheckState.NEUTRAL: "SUCCESSFUL",
    CheckState.CANCELLED: "STOPPED",
}
_PERMISSIONS = {"admin": Permission.ADMIN, "write": Permission.WRITE, "read": Permission.READ}


class _Account(msgspec.Struct, frozen=True):
    uuid: str = ""


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Commit(msgspec.Struct, frozen=True):
    hash: str = ""


class _CloudRepository(msgspec.Struct, frozen=True):
    full_name: str = ""


class _End(msgspec.Struct, frozen=True):
    branch: _Named | None = None
    commit: _Commit | None = None
    repository: _CloudRepository | None = None


class _Href(msgspec.Struct, frozen=True):
    href: str = ""


class _Links(msgspec.Struct, frozen=True):
    html: _Href | None = None


class _CloudPull(msgspec.Struct, frozen=True):
    id: int
    title: str
    state: str
    source: _End
    destination: _End
    updated_on: str
    author: _Account | None = None
    draft: bool = False
    merge_commit: _Commit | None = None
    links: _Links | None = None


class _Content(msgspec.Struct, frozen=True):
    raw: str | None = ""


class _CloudComment(msgspec.Struct, frozen=True):
    id: int
    created_on: str
    content: _Content
    updated_on: str | None = None
    user: _Account | None = None
    deleted: bool = False


class _Page(msgspec.Struct, frozen=True):
    next: str = ""


class _Pulls(_Page, frozen=True):
    values: list[_CloudPull] = []


class _Comments(_Page, frozen=True):
    values: list[_CloudComment] = []


class _Commits(_Page, frozen=True):
    values: list[_Commit] = []


class _CloudPermission(msgspec.Struct, frozen=True):
    permission: str
    user: _Account | None = None


class _Permissions(_Page, frozen=True):
    values: list[_CloudPermission] = []


class BitbucketClient:
    """Bitbucket Cloud. A `ForgeClient`."""

    comment_bytes = 32_768

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
        user = settings.user
        authorization = TokenAuthorization(
            settings.name, settings.token, (lambda token: basic(user, token)) if user else bearer
        )
        self._http = http_of(settings, authorization, limits, refused, clock)
        self._web = settings.web.geturl()
        self._refused = refused
        self._whole: LRUCache[tuple[str, str], str] = LRUCache(_REMEMBERED)

    async def close(self) -> None:
        """End connections."""
        await self._http.close()

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""
        return await self._pull(project, await self._http.get(self._path(project, number), _CloudPull))

    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones, the newest change first."""
        found: list[_CloudPull] = []
        parameters: dict[str, str | int] = {"state": "OPEN", "sort": "-updated_on", "pagelen": _PAGE}
        async for page in self._pages(f"{self._repo(project)}/pullrequests", parameters, _Pulls):
            found += page.values
            if len(found) >= self._limits.pull_requests:
                break
        return [await self._pull(project, each) for each in found[: self._limits.pull_requests]]

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """The newest comments, the oldest of them first."""
        found: list[ForgeComment] = []
        parameters: dict[str, str | int] = {"sort": "-created_on", "pagelen": _COMMENTS}
        async for page in self._pages(f"{self._path(project, number)}/comments", parameters, _Comments):
            found += [_comment(each) for each in page.values if not each.deleted]
            if len(found) >= self._limits.comments:
                break
        return found[: self._limits.comments][::-1]

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""
        path = f"{self._path(project, number)}/comments"
        answer = await self._http.send("POST", path, {"content": {"raw": body}})
        return _comment(await answer.parsed(_CloudComment))

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours."""
        path = f"{self._path(project, number)}/comments/{quoted(comment)}"
        await self._http.send("PUT", path, {"content": {"raw": body}})

    async def hide_comment(self, project: str, number: int, comment: str) -> None:
        """Say that it is outdated."""
        await self.edit_comment(project, number, comment, OUTDATED)

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """There are no reactions."""

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """The commit's build status of this name. It needs an address: without one that of the repository."""
        status = {
            "key": key_of(check.name),
            "state": _STATUSES[check.state],
            "name": check.name,
            "description": check.title,
            "url": check.url or f"{self._web}/{project}",
        }
        await self._http.send("POST", f"{self._repo(project)}/commit/{quoted(head)}/statuses/build", status)

    async def permission(self, project: str, user: str) -> Permission:
        """What a person (UUID) may do, by groups and project, too. Told to administrators of the repository alone."""
        if not user.isprintable() or '"' in user or "\\" in user or not user:
            return Permission.NONE
        workspace, _, name = split_project(self.name, project).partition("/")
        path = f"/workspaces/{workspace}/permissions/repositories/{name}"
        found = await self._http.get(path, _Permissions, q=f'user.uuid="{user}"')
        given = [each.permission for each in found.values if each.user is not None and each.user.uuid == user]
        return max((_PERMISSIONS.get(each, Permission.NONE) for each in given), default=Permission.NONE)

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one. Nothing is written: what is written to is not there."""

        async def read() -> str:
            return f"{len(await self.open_pull_requests(project))} open"

        async def rights() -> str:
            await self.permission(project, "{00000000-0000-0000-0000-000000000000}")
            return "administrator"

        async def comment() -> str:
            return await self._tried("PUT", f"{self._path(project, 0)}/comments/0", {"content": {"raw": "."}})

        async def status() -> str:
            path = f"{self._repo(project)}/commit/{'0' * _WHOLE}/statuses/build"
            return await self._tried("POST", path, {"key": "x", "state": "INPROGRESS", "url": self._web})

        owner = "Make the token's owner an administrator of the repository, and give it read:permission:bitbucket"
        return await proved(
            Proof(
                what=f"read pull requests of {project}",
                ask=read,
                remedy="Give the token the scope read:pullrequest:bitbucket",
            ),
            Proof(what=f"see who may write to {project}", ask=rights, remedy=owner),
            Proof(
                what=f"write comments in {project}",
                ask=comment,
                remedy="Give the token the scope write:pullrequest:bitbucket",
                by_absence=True,
            ),
            Proof(
                what=f"set build statuses in {project}",
                ask=status,
                remedy="Give the token the scope write:repository:bitbucket",
                by_absence=True,
            ),
        )

    async def _tried(self, method: str, path: str, body: dict[str, Any]) -> str:
        answer = await self._http.request(method, path, body=body, accept=(400, 404))
        return f"answered {answer.status} for what there is not"

    async def _pages(self, path: str, parameters: dict[str, str | int], kind: type[Page]) -> AsyncIterator[Page]:
        """The pages of a list; each names the next."""
        given = parameters
        for _ in range(self._limits.pages):
            answer = await self._http.request("GET", path, parameters=given)
            page = await answer.parsed(kind)
            yield page
            path, given = page.next, {}
            if not path:
                return
        self._refused("pages")

    async def _pull(self, project: str, found: _CloudPull) -> PullRequest:
        state = _STATES.get(found.state, PullState.CLOSED)
        head = found.source.commit.hash if found.source.commit else ""
        made = found.merge_commit.hash if found.merge_commit and state is PullState.MERGED else ""
        source = found.source.repository.full_name.lower() if found.source.repository else ""
        base = found.destination.branch.name if found.destination.branch else ""
        return PullRequest(
            project=project,
            number=found.id,
            title=found.title,
            author=found.author.uuid if found.author else "",
            state=state,
            draft=found.draft,
            head=await self._whole_head(project, found.id, head),
            head_branch=found.source.branch.name if found.source.branch else "",
            from_fork=source != project.lower(),
            base_branch=base,
            merge_commit=await self._whole_commit(project, made),
            updated=mark_of(found.updated_on, found.state, head, base),
            url=found.links.html.href if found.links and found.links.html else "",
        )

    async def _whole_head(self, project: str, number: int, short: str) -> str:
        """The head may lie in a fork: the pull request's own list of commits has it."""
        if not short or len(short) == _WHOLE or (project, short) in self._whole:
            return self._whole.get((project, short), short)
        commits = await self._http.get(f"{self._path(project, number)}/commits", _Commits, pagelen=1)
        found = next((each.hash for each in commits.values if each.hash.startswith(short)), "")
        if found:
            self._whole[project, short] = found
        return found

    async def _whole_commit(self, project: str, short: str) -> str:
        if not short or len(short) == _WHOLE or (project, short) in self._whole:
            return self._whole.get((project, short), short)
        found = await self._http.get(f"{self._repo(project)}/commit/{quoted(short)}", _Commit)
        self._whole[project, short] = found.hash
        return found.hash

    def _repo(self, project: str) -> str:
        return f"/repositories/{split_project(self.name, project)}"

    def _path(self, project: str, number: int) -> str:
        return f"{self._repo(project)}/pullrequests/{number}"


def key_of(name: str) -> str:
    """The key of a build status, which may have 40 characters."""
    return name if len(name) <= _KEY else hashlib.sha256(name.encode()).hexdigest()[:_KEY]


def _comment(found: _CloudComment) -> ForgeComment:
    return ForgeComment(
        id=str(found.id),
        author=found.user.uuid if found.user else "",
        body=found.content.raw or "",
        created=datetime.fromisoformat(found.created_on).timestamp(),
        edited=found.updated_on not in (None, found.created_on),
    )
