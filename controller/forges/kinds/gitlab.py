"""GitLab: https://docs.gitlab.com/api/, https://docs.gitlab.com/user/project/integrations/webhooks/.

Checks are commit statuses; notes cannot be folded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from controller.forges.addresses import Addresses
from controller.forges.api.access import Proof, proved
from controller.forges.api.adapter import HttpForgeClient
from controller.forges.api.marks import comment_of, mark_of
from controller.forges.api.paths import quoted
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
from controller.forges.forge import Forge, Webhooks
from controller.forges.pull_hints import PullHint, hint_of, value_at
from controller.forges.verifiers import TokenHeader

_PAGE = 100
_TITLE = 255
_REPORTER, _DEVELOPER, _MAINTAINER = 20, 30, 40
_STATES = {
    "opened": PullState.OPEN,
    "locked": PullState.OPEN,
    "closed": PullState.CLOSED,
    "merged": PullState.MERGED,
}
_REACTIONS = {Reaction.SEEN: "eyes", Reaction.DONE: "thumbsup", Reaction.REFUSED: "thumbsdown"}
_STATUSES = {
    CheckState.RUNNING: "running",
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failed",
    CheckState.NEUTRAL: "success",
    CheckState.CANCELLED: "canceled",
}


class _GitLabUser(msgspec.Struct, frozen=True):
    username: str
    id: int


class _MergeRequest(msgspec.Struct, frozen=True):
    iid: int
    state: str
    title: str
    source_branch: str
    target_branch: str
    target_project_id: int
    updated_at: str
    web_url: str
    source_project_id: int | None = None
    author: _GitLabUser | None = None
    draft: bool = False
    sha: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None


class _Note(msgspec.Struct, frozen=True):
    id: int
    body: str
    created_at: str
    updated_at: str
    author: _GitLabUser | None = None
    system: bool = False


class _Access(msgspec.Struct, frozen=True):
    access_level: int = 0


class _ProjectPermissions(msgspec.Struct, frozen=True):
    project_access: _Access | None = None
    group_access: _Access | None = None


class _GitLabProject(msgspec.Struct, frozen=True):
    id: int
    permissions: _ProjectPermissions | None = None


class _TokenSelf(msgspec.Struct, frozen=True):
    scopes: list[str] = []
    expires_at: str | None = None


class GitLabClient(HttpForgeClient):
    """One GitLab. A `ForgeClient`."""

    comment_bytes = 1_000_000

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""
        return _pull(project, await self._http.get(_merge_request(project, number), _MergeRequest))

    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones, the newest change first."""
        path, most = f"{_project(project)}/merge_requests", self._limits.pull_requests
        order: dict[str, str | int] = {"order_by": "updated_at", "sort": "desc", "per_page": _PAGE}
        found = await self._http.entries(path, {"state": "opened", **order}, _MergeRequest, most)
        return [_pull(project, each) for each in found]

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """The newest comments, the oldest of them first; without those that GitLab writes itself."""
        found: list[ForgeComment] = []
        parameters: dict[str, str | int] = {"order_by": "created_at", "sort": "desc", "per_page": _PAGE}
        async for page in self._http.pages(f"{_merge_request(project, number)}/notes", parameters):
            found += [_comment(each) for each in await page.parsed(list[_Note]) if not each.system]
            if len(found) >= self._limits.comments:
                break
        return found[self._limits.comments - 1 :: -1] if len(found) >= self._limits.comments else found[::-1]

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""
        answer = await self._http.send("POST", f"{_merge_request(project, number)}/notes", {"body": body})
        return _comment(await answer.parsed(_Note))

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours."""
        await self._http.send("PUT", _note(project, number, comment), {"body": body})

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """Answer a comment. One that was given already is refused with 404."""
        path = f"{_note(project, number, comment)}/award_emoji"
        await self._http.request("POST", path, body={"name": _REACTIONS[reaction]}, accept=(404,))

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """The commit's status of this name. That it is so already is refused with 400."""
        status = {"state": _STATUSES[check.state], "name": check.name, "description": check.title[:_TITLE]}
        url = {"target_url": check.url} if check.url else {}
        path = f"{_project(project)}/statuses/{quoted(head)}"
        answer = await self._http.request("POST", path, body={**status, **url}, accept=(400,))
        if answer.status == 400 and b"Cannot transition status" not in answer.body:
            raise ForgeRefused(f"{self.name}: the status of {head} is refused (400)")

    async def permission(self, project: str, user: str) -> Permission:
        """What a person may do, by the groups of the project, too."""
        if not user:
            return Permission.NONE
        found = await self._http.get("/users", list[_GitLabUser], username=user)
        number = next((each.id for each in found if each.username.lower() == user.lower()), None)
        if number is None:
            return Permission.NONE
        try:
            level = (await self._http.get(f"{_project(project)}/members/all/{number}", _Access)).access_level
        except ForgeNotFound:
            return Permission.NONE
        if level >= _MAINTAINER:
            return Permission.ADMIN
        return Permission.WRITE if level >= _DEVELOPER else Permission.READ if level > 0 else Permission.NONE

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one, by the role and the scopes of the token."""

        async def role() -> str:
            found = await self._http.get(_project(project), _GitLabProject)
            level = _level(found.permissions)
            if level < _DEVELOPER:
                raise ForgeRefused(f"the role of the token is {level}, and Developer ({_DEVELOPER}) is needed")
            return f"role {level}"

        async def scope() -> str:
            found = await self._http.get("/personal_access_tokens/self", _TokenSelf)
            if "api" not in found.scopes:
                raise ForgeRefused(f"the token has the scopes {', '.join(found.scopes) or 'none'}, and needs api")
            return f"scope api, until {found.expires_at or 'it is taken back'}"

        async def members() -> str:
            me = await self._http.get("/user", _GitLabUser)
            found = await self.permission(project, me.username)
            if found is Permission.NONE:
                raise ForgeRefused(f"the forge does not name {me.username} among the members")
            return f"{me.username} may {found.name.lower()}"

        return await proved(
            Proof(
                what=f"read merge requests of {project}",
                ask=partial(self.count_open, project),
                remedy="Make a project access token with the role Developer",
            ),
            Proof(what=f"write comments in {project}", ask=scope, remedy="Make a token with the scope api"),
            Proof(what=f"set commit statuses in {project}", ask=role, remedy="Make a token with the role Developer"),
            Proof(what=f"see who may write to {project}", ask=members, remedy="Make a token with the scope api"),
        )


def _project(project: str) -> str:
    return f"/projects/{quoted(project)}"


def _merge_request(project: str, number: int) -> str:
    return f"{_project(project)}/merge_requests/{number}"


def _note(project: str, number: int, comment: str) -> str:
    return f"{_merge_request(project, number)}/notes/{quoted(comment)}"


def _level(permissions: _ProjectPermissions | None) -> int:
    if permissions is None:
        return 0
    given = (permissions.project_access, permissions.group_access)
    return max((each.access_level for each in given if each is not None), default=0)


def _pull(project: str, found: _MergeRequest) -> PullRequest:
    state, head = _STATES.get(found.state, PullState.CLOSED), found.sha or ""
    made = found.merge_commit_sha or found.squash_commit_sha or head
    return PullRequest(
        project=project,
        number=found.iid,
        title=found.title,
        author=found.author.username if found.author else "",
        state=state,
        draft=found.draft,
        head=head,
        head_branch=found.source_branch,
        from_fork=found.source_project_id != found.target_project_id,
        base_branch=found.target_branch,
        merge_commit=made if state is PullState.MERGED else "",
        updated=mark_of(found.updated_at, found.state, head, found.target_branch),
        url=found.web_url,
    )


def _comment(found: _Note) -> ForgeComment:
    author = found.author.username if found.author else ""
    return comment_of(found.id, author, found.body, found.created_at, found.updated_at)


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    project = value_at(payload, "project", "path_with_namespace")
    match value_at(payload, "object_kind"):
        case "merge_request":
            return hint_of(project, value_at(payload, "object_attributes", "iid"))
        case "note":
            return hint_of(project, value_at(payload, "merge_request", "iid"))
    return None


FORGE = Forge(
    name="GitLab",
    client=GitLabClient,
    addresses=Addresses(
        public="https://gitlab.com/api/v4",
        path="/api/v4",
        hosts={"altssh.gitlab.com": "gitlab.com"},
        groups=True,
        compare="-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}&merge_request%5Btarget_branch%5D={base}",
    ),
    webhooks=Webhooks(
        verifiers=(TokenHeader("x-gitlab-token"),),
        delivery_headers=("idempotency-key", "x-gitlab-event-uuid"),
        pull_of=_pull_of,
        repository=("project",),
        clone_urls=("git_http_url", "git_ssh_url", "http_url"),
    ),
)
