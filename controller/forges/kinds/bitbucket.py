"""Bitbucket Cloud: https://developer.atlassian.com/cloud/bitbucket/rest/.

Webhooks: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/. Checks are build statuses.

Pull requests name commits by twelve digits; the whole ones are asked for, and remembered. People are named by their
UUID, because their nicknames are not unique. Comments cannot be folded, and there are no reactions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

import msgspec
from cachetools import LRUCache

from controller.forges.addresses import Addresses
from controller.forges.api.access import Proof, proved
from controller.forges.api.adapter import ClientParts, HttpForgeClient
from controller.forges.api.authorization import TokenAuthorization, basic, bearer
from controller.forges.api.build_statuses import build_status
from controller.forges.api.marks import mark_of
from controller.forges.api.paths import quoted, split_project
from controller.forges.client import (
    AccessResult,
    ForgeCheck,
    ForgeComment,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)
from controller.forges.forge import Forge, Webhooks
from controller.forges.pull_hints import PullHint, hint_of, value_at
from controller.forges.settings import ForgeOptions
from controller.forges.verifiers import SignatureHeader
from options.kinds import OptionText

Page = TypeVar("Page", bound="_Page")

_PAGE = 50
_COMMENTS = 100
_WHOLE = 40
_REMEMBERED = 2000
_OF_NOTHING = (400, 404)
"""Statuses with which it answers who may write that the thing is not there."""
_STATES = {
    "OPEN": PullState.OPEN,
    "MERGED": PullState.MERGED,
    "DECLINED": PullState.CLOSED,
    "SUPERSEDED": PullState.CLOSED,
}
_PERMISSIONS = {"admin": Permission.ADMIN, "write": Permission.WRITE, "read": Permission.READ}


ADDRESSES = Addresses(
    public="https://api.bitbucket.org/2.0",
    sites=("bitbucket.org",),
    path="/2.0",
    hosts={"api.bitbucket.org": "bitbucket.org", "altssh.bitbucket.org": "bitbucket.org"},
    compare="pull-requests/new?source={branch}&dest={base}",
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BitbucketOptions(ForgeOptions):
    """The options of Bitbucket Cloud."""

    user: OptionText = ""
    """Whose API token it is (the e-mail address); empty with an access token of a repository or workspace."""


class BitbucketClient(HttpForgeClient):
    """Bitbucket Cloud. A `ForgeClient`."""

    comment_bytes = 32_768

    def __init__(self, parts: ClientParts) -> None:
        """Nothing is connected yet."""
        super().__init__(parts)
        self._web = ADDRESSES.web_of(parts.settings.api).geturl()
        self._whole: LRUCache[tuple[str, str], str] = LRUCache(_REMEMBERED)

    def authorization(self, parts: ClientParts) -> TokenAuthorization:
        """An API token goes with its user's name, an access token alone."""
        own = parts.settings.own
        user = own.user if isinstance(own, BitbucketOptions) else ""
        return TokenAuthorization(self.name, parts.settings.token, partial(basic, user) if user else bearer)

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

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """There are no reactions."""

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """The commit's build status of this name. It needs an address: without one that of the repository."""
        status = build_status(check, cancelled="STOPPED", url=f"{self._web}/{project}")
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

        async def rights() -> str:
            await self.permission(project, "{00000000-0000-0000-0000-000000000000}")
            return "administrator"

        async def comment() -> str:
            path = f"{self._path(project, 0)}/comments/0"
            return await self.write_absent("PUT", path, {"content": {"raw": "."}}, _OF_NOTHING)

        async def status() -> str:
            path = f"{self._repo(project)}/commit/{'0' * _WHOLE}/statuses/build"
            body = {"key": "x", "state": "INPROGRESS", "url": self._web}
            return await self.write_absent("POST", path, body, _OF_NOTHING)

        owner = "Make the token's owner an administrator of the repository, and give it read:permission:bitbucket"
        return await proved(
            Proof(
                what=f"read pull requests of {project}",
                ask=partial(self.count_open, project),
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


def _comment(found: _CloudComment) -> ForgeComment:
    return ForgeComment(
        id=str(found.id),
        author=found.user.uuid if found.user else "",
        body=found.content.raw or "",
        created=datetime.fromisoformat(found.created_on).timestamp(),
        edited=found.updated_on not in (None, found.created_on),
    )


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    if not headers.get("x-event-key", "").startswith("pullrequest:"):
        return None
    return hint_of(value_at(payload, "repository", "full_name"), value_at(payload, "pullrequest", "id"))


FORGE = Forge(
    name="Bitbucket Cloud",
    client=BitbucketClient,
    addresses=ADDRESSES,
    webhooks=Webhooks(
        verifiers=(SignatureHeader("x-hub-signature"),),
        delivery_headers=("x-request-uuid",),
        pull_of=_pull_of,
    ),
    options=BitbucketOptions,
    shows_html=False,
)
