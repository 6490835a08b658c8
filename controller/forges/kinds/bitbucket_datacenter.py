"""Bitbucket Data Center, 7.4 and later: https://developer.atlassian.com/server/bitbucket/rest/.

Checks are build statuses. Comments cannot be folded; a comment is edited in the version that it has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from controller.forges.addresses import Addresses
from controller.forges.api.access import Proof, proved
from controller.forges.api.adapter import ClientParts, HttpForgeClient
from controller.forges.api.build_statuses import build_status
from controller.forges.api.marks import mark_of
from controller.forges.api.paths import quoted, split_project
from controller.forges.client import (
    AccessResult,
    ForgeCheck,
    ForgeComment,
    ForgeRefused,
    ForgeUnavailable,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)
from controller.forges.forge import Forge, Webhooks
from controller.forges.pull_hints import PullHint, hint_of, value_at
from controller.forges.verifiers import SignatureHeader

Listed = TypeVar("Listed", bound="_Listed")

_PAGE = 100
_MILLISECONDS = 1000
_OF_NOTHING = (400, 404, 409)
"""Statuses with which it answers who may write that the thing is not there."""
_STATES = {"OPEN": PullState.OPEN, "MERGED": PullState.MERGED, "DECLINED": PullState.CLOSED}
_REACTIONS = {Reaction.SEEN: "eyes", Reaction.DONE: "thumbsup", Reaction.REFUSED: "thumbsdown"}
_PERMISSIONS = (
    ("REPO_ADMIN", Permission.ADMIN),
    ("REPO_WRITE", Permission.WRITE),
    ("REPO_READ", Permission.READ),
)


ADDRESSES = Addresses(
    path="/rest",
    other_paths=("/rest/api/1.0", "/rest/api/latest"),
    before="scm/",
)


class _ServerUser(msgspec.Struct, frozen=True):
    name: str


class _Participant(msgspec.Struct, frozen=True):
    user: _ServerUser | None = None


class _ProjectKey(msgspec.Struct, frozen=True):
    key: str


class _ServerRepository(msgspec.Struct, frozen=True):
    slug: str
    project: _ProjectKey


class _Ref(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    latest_commit: str
    repository: _ServerRepository


class _MergeCommit(msgspec.Struct, frozen=True):
    id: str = ""


class _Properties(msgspec.Struct, frozen=True, rename="camel"):
    merge_commit: _MergeCommit | None = None
    comment_count: int = 0


class _Self(msgspec.Struct, frozen=True):
    href: str = ""


class _ServerLinks(msgspec.Struct, frozen=True):
    self: list[_Self] = []


class _ServerPull(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    version: int
    title: str
    state: str
    from_ref: _Ref
    to_ref: _Ref
    updated_date: int
    author: _Participant | None = None
    draft: bool = False
    properties: _Properties | None = None
    links: _ServerLinks | None = None


class _ServerComment(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    version: int
    text: str
    created_date: int
    updated_date: int
    author: _ServerUser | None = None


class _Activity(msgspec.Struct, frozen=True, rename="camel"):
    action: str
    comment: _ServerComment | None = None
    comment_action: str = ""


class _Listed(msgspec.Struct, frozen=True, rename="camel"):
    is_last_page: bool = True
    next_page_start: int | None = None


class _ServerPulls(_Listed, frozen=True, rename="camel"):
    values: list[_ServerPull] = []


class _Activities(_Listed, frozen=True, rename="camel"):
    values: list[_Activity] = []


class _ServerUsers(_Listed, frozen=True, rename="camel"):
    values: list[_ServerUser] = []


class BitbucketDataCenterClient(HttpForgeClient):
    """One Bitbucket Data Center. A `ForgeClient`."""

    comment_bytes = 32_768

    def __init__(self, parts: ClientParts) -> None:
        """Nothing is connected yet."""
        super().__init__(parts)
        self._web = ADDRESSES.web_of(parts.settings.api).geturl()

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""
        return _pull(project, await self._http.get(self._path(project, number), _ServerPull))

    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones, the newest first."""
        found: list[PullRequest] = []
        parameters: dict[str, str | int] = {"state": "OPEN", "order": "NEWEST"}
        async for page in self._pages(f"{self._repo(project)}/pull-requests", parameters, _ServerPulls):
            found += [_pull(project, each) for each in page.values]
            if len(found) >= self._limits.pull_requests:
                break
        return found[: self._limits.pull_requests]

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """The newest comments, the oldest of them first, by what happened to the pull request."""
        found: dict[int, _ServerComment] = {}
        async for page in self._pages(f"{self._path(project, number)}/activities", {}, _Activities):
            for each in page.values:
                if each.action == "COMMENTED" and each.comment_action == "ADDED" and each.comment is not None:
                    found.setdefault(each.comment.id, each.comment)
            if len(found) >= self._limits.comments:
                break
        newest = sorted(found.values(), key=lambda each: (each.created_date, each.id))
        return [_comment(each) for each in newest[-self._limits.comments :]]

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""
        answer = await self._http.send("POST", f"{self._path(project, number)}/comments", {"text": body})
        return _comment(await answer.parsed(_ServerComment))

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours. ForgeUnavailable when somebody edits it at the same time."""
        path = f"{self._path(project, number)}/comments/{quoted(comment)}"
        found = await self._http.get(path, _ServerComment)
        await self._http.send("PUT", path, {"text": body, "version": found.version})

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """Answer a comment; nothing where this version has no reactions."""
        liked = self._path(project, number, api="/comment-likes/latest")
        path = f"{liked}/comments/{quoted(comment)}/reactions/{_REACTIONS[reaction]}"
        await self._http.request("PUT", path, accept=(404, 405))

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """The commit's build status of this name. It needs an address: without one that of the forge."""
        status = build_status(check, cancelled="CANCELLED", url=self._web)
        await self._http.send("POST", f"{self._repo(project)}/commits/{quoted(head)}/builds", status)

    async def permission(self, project: str, user: str) -> Permission:
        """What a person may do, by groups and project, too."""
        key, _, slug = project.partition("/")
        for name, permission in _PERMISSIONS:
            asked: dict[str, str | int] = {
                "filter": user,
                "permission.1": name,
                "permission.1.projectKey": key,
                "permission.1.repositorySlug": slug,
            }
            async for page in self._pages("/api/latest/users", asked, _ServerUsers):
                if user.lower() in (each.name.lower() for each in page.values):
                    return permission
        return Permission.NONE

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one. Nothing is written: what is written to is not there."""

        async def members() -> str:
            key, _, slug = project.partition("/")
            asked: dict[str, str | int] = {
                "limit": 1,
                "permission.1": "REPO_WRITE",
                "permission.1.projectKey": key,
                "permission.1.repositorySlug": slug,
            }
            answer = await self._http.request("GET", "/api/latest/users", parameters=asked)
            if not (await answer.parsed(_ServerUsers)).values:
                raise ForgeRefused("the forge names nobody who may write")
            return "users with the right"

        async def comment() -> str:
            path = f"{self._path(project, 0)}/comments/0"
            return await self.write_absent("PUT", path, {"text": ".", "version": 0}, _OF_NOTHING)

        async def status() -> str:
            path = f"{self._repo(project)}/commits/{'0' * 40}/builds"
            body = {"key": "x", "state": "INPROGRESS", "url": ""}
            return await self.write_absent("POST", path, body, _OF_NOTHING)

        remedy = "Make an HTTP access token of the repository with the permission Repository write"
        return await proved(
            Proof(what=f"read pull requests of {project}", ask=partial(self.count_open, project), remedy=remedy),
            Proof(what=f"see who may write to {project}", ask=members, remedy=remedy),
            Proof(what=f"write comments in {project}", ask=comment, remedy=remedy, by_absence=True),
            Proof(what=f"set build statuses in {project}", ask=status, remedy=remedy, by_absence=True),
        )

    async def _pages(self, path: str, parameters: dict[str, str | int], kind: type[Listed]) -> AsyncIterator[Listed]:
        """The pages of a list; each says where the next begins."""
        start = 0
        for _ in range(self._limits.pages):
            answer = await self._http.request("GET", path, parameters={**parameters, "limit": _PAGE, "start": start})
            page = await answer.parsed(kind)
            yield page
            if page.is_last_page:
                return
            if page.next_page_start is None or page.next_page_start <= start:
                raise ForgeUnavailable(f"{self.name}: a list does not say where its next page begins")
            start = page.next_page_start
        self._refused("pages")

    def _repo(self, project: str, api: str = "/api/latest") -> str:
        key, _, slug = split_project(self.name, project).partition("/")
        return f"{api}/projects/{key}/repos/{slug}"

    def _path(self, project: str, number: int, api: str = "/api/latest") -> str:
        return f"{self._repo(project, api)}/pull-requests/{number}"


def _pull(project: str, found: _ServerPull) -> PullRequest:
    state, head, base = _STATES.get(found.state, PullState.CLOSED), found.from_ref.latest_commit, found.to_ref.id
    properties = found.properties or _Properties()
    made = properties.merge_commit.id if properties.merge_commit else ""
    changed = f"{found.updated_date} {found.version} {properties.comment_count}"
    return PullRequest(
        project=project,
        number=found.id,
        title=found.title,
        author=found.author.user.name if found.author and found.author.user else "",
        state=state,
        draft=found.draft,
        head=head,
        head_branch=found.from_ref.id.removeprefix("refs/heads/"),
        from_fork=found.from_ref.repository != found.to_ref.repository,
        base_branch=base.removeprefix("refs/heads/"),
        merge_commit=(made or head) if state is PullState.MERGED else "",
        updated=mark_of(changed, found.state, head, base),
        url=next((each.href for each in (found.links.self if found.links else [])), ""),
    )


def _comment(found: _ServerComment) -> ForgeComment:
    return ForgeComment(
        id=str(found.id),
        author=found.author.name if found.author else "",
        body=found.text,
        created=found.created_date / _MILLISECONDS,
        edited=found.version > 0,
    )


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    if not headers.get("x-event-key", "").startswith("pr:"):
        return None
    repository = value_at(payload, "pullRequest", "toRef", "repository")
    key, slug = value_at(repository, "project", "key"), value_at(repository, "slug")
    project = f"{key}/{slug}" if isinstance(key, str) and isinstance(slug, str) else None
    return hint_of(project, value_at(payload, "pullRequest", "id"))


FORGE = Forge(
    name="Bitbucket Data Center",
    client=BitbucketDataCenterClient,
    addresses=ADDRESSES,
    webhooks=Webhooks(
        verifiers=(SignatureHeader("x-hub-signature"),),
        delivery_headers=("x-request-id",),
        ping=("x-event-key", "diagnostics:ping"),
        pull_of=_pull_of,
    ),
    shows_html=False,
)
