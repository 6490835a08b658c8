"""Azure DevOps, Services and Server: https://learn.microsoft.com/rest/api/azure/devops/git/.

Webhooks: https://learn.microsoft.com/en-us/azure/devops/service-hooks/events.

Checks are commit statuses. A project is `PROJECT/REPOSITORY`. Each of our comments is a closed thread: an open one
would keep the pull request from being completed where a policy wants all comments resolved. There are likes, and no
other reactions; comments cannot be folded. A pull request has no mark of its last change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import SplitResult, unquote

import msgspec

from controller.forges.addresses import Addresses
from controller.forges.api.access import Proof, proved
from controller.forges.api.adapter import ClientParts, HttpForgeClient
from controller.forges.api.authorization import TokenAuthorization, basic
from controller.forges.api.paths import quoted, split_project
from controller.forges.client import (
    AccessResult,
    CheckState,
    ForgeCheck,
    ForgeComment,
    ForgeNotFound,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)
from controller.forges.forge import Forge, Webhooks
from controller.forges.pull_hints import PullHint, hint_of, value_at
from controller.forges.verifiers import BasicPassword

_PUBLIC = "https://dev.azure.com"
_VERSION = "7.0"
_PAGE = 100
_STATES = {"active": PullState.OPEN, "completed": PullState.MERGED, "abandoned": PullState.CLOSED}
_STATUSES = {
    CheckState.RUNNING: "pending",
    CheckState.SUCCESS: "succeeded",
    CheckState.FAILURE: "failed",
    CheckState.NEUTRAL: "notApplicable",
    CheckState.CANCELLED: "error",
}


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    unique_name: str = ""


class _CommitRef(msgspec.Struct, frozen=True, rename="camel"):
    commit_id: str = ""


class _AzurePull(msgspec.Struct, frozen=True, rename="camel"):
    pull_request_id: int
    status: str
    title: str
    source_ref_name: str
    target_ref_name: str
    created_by: _Identity | None = None
    is_draft: bool = False
    last_merge_source_commit: _CommitRef | None = None
    last_merge_commit: _CommitRef | None = None
    fork_source: dict[str, Any] | None = None


class _AzurePulls(msgspec.Struct, frozen=True):
    value: list[_AzurePull] = []


class _AzureComment(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    published_date: str
    content: str = ""
    author: _Identity | None = None
    last_content_updated_date: str | None = None
    comment_type: str = "text"
    is_deleted: bool = False


class _Thread(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    comments: list[_AzureComment] | None = None
    is_deleted: bool = False


class _Threads(msgspec.Struct, frozen=True):
    value: list[_Thread] = []


class _Team(msgspec.Struct, frozen=True):
    id: str


class _Teams(msgspec.Struct, frozen=True):
    value: list[_Team] = []


class _Member(msgspec.Struct, frozen=True, rename="camel"):
    identity: _Identity
    is_team_admin: bool = False


class _Members(msgspec.Struct, frozen=True):
    value: list[_Member] = []


class AzureDevOpsClient(HttpForgeClient):
    """One organisation of Azure DevOps Services, or collection of a Server. A `ForgeClient`."""

    comment_bytes = 150_000

    def __init__(self, parts: ClientParts) -> None:
        """Nothing is connected yet."""
        super().__init__(parts)
        self._web = parts.settings.api

    def authorization(self, parts: ClientParts) -> TokenAuthorization:
        """The token as the password of nobody."""
        return TokenAuthorization(self.name, parts.settings.token, partial(basic, ""))

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""
        path = f"{self._repo(project)}/pullrequests/{number}"
        return self._pull(project, await self._http.get(path, _AzurePull, **_version()))

    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones, the newest first."""
        found: list[PullRequest] = []
        path = f"{self._repo(project)}/pullrequests"
        for number in range(self._limits.pages):
            asked: dict[str, str | int] = {
                "searchCriteria.status": "active",
                "$top": _PAGE,
                "$skip": number * _PAGE,
                **_version(),
            }
            answer = await self._http.request("GET", path, parameters=asked)
            page = (await answer.parsed(_AzurePulls)).value
            found += [self._pull(project, each) for each in page]
            if len(page) < _PAGE or len(found) >= self._limits.pull_requests:
                return found[: self._limits.pull_requests]
        self._refused("pages")
        return found

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """The newest comments, the oldest of them first. The forge sends all threads at once."""
        threads = await self._http.get(f"{self._pulls(project)}/{number}/threads", _Threads, **_version())
        found = [
            _comment(thread.id, each)
            for thread in threads.value
            if not thread.is_deleted
            for each in thread.comments or ()
            if each.comment_type == "text" and not each.is_deleted
        ]
        if len(found) > self._limits.comments:
            self._refused("comments")
        return sorted(found, key=lambda each: each.created)[-self._limits.comments :]

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""
        comment = {"parentCommentId": 0, "content": body, "commentType": "text"}
        path = f"{self._pulls(project)}/{number}/threads"
        thread = await self._write("POST", path, {"comments": [comment], "status": "closed"}, _Thread)
        made = thread.comments or []
        return _comment(thread.id, made[0])

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours."""
        path = self._comment_path(project, number, comment)
        found = await self._http.get(path, _AzureComment, **_version())
        if found.is_deleted:
            raise ForgeNotFound(f"{self.name}: the comment {comment} was deleted")
        await self._write("PATCH", path, {"content": body}, _AzureComment)

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """A like says that it is done; the forge has nothing for the rest."""
        if reaction is Reaction.DONE:
            path = f"{self._comment_path(project, number, comment)}/likes"
            await self._http.request("POST", path, parameters=_version())

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """The commit's status of this name."""
        genre, slash, name = check.name.partition("/")
        status = {
            "state": _STATUSES[check.state],
            "description": check.title,
            "context": {"genre": genre, "name": name} if slash else {"genre": "saltern", "name": check.name},
            "targetUrl": check.url or self._web,
        }
        path = f"{self._repo(project)}/commits/{quoted(head)}/statuses"
        await self._http.request("POST", path, parameters=_version(), body=status)

    async def permission(self, project: str, user: str) -> Permission:
        """By the teams of the project: the forge tells nobody's permissions but our own.

        Members count as people who may write, administrators of a team as administrators.
        """
        name = quoted(project.partition("/")[0])
        teams = await self._http.get(f"/_apis/projects/{name}/teams", _Teams, **_version())
        best = Permission.NONE
        for team in teams.value[: self._limits.pages]:
            path = f"/_apis/projects/{name}/teams/{quoted(team.id)}/members"
            for each in (await self._http.get(path, _Members, **_version())).value:
                if user and each.identity.unique_name.lower() == user.lower():
                    best = max(best, Permission.ADMIN if each.is_team_admin else Permission.WRITE)
        return best

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one. Nothing is written: what is written to is not there."""

        async def members() -> str:
            await self.permission(project, "nobody")
            return "teams and their members"

        async def comment() -> str:
            return await self._write_nothing("PATCH", self._comment_path(project, 0, "0:0"), {"content": "."})

        async def status() -> str:
            body = {"state": "pending", "context": {"genre": "saltern", "name": "x"}}
            return await self._write_nothing("POST", f"{self._repo(project)}/commits/{'0' * 40}/statuses", body)

        scope = "Give the token the scope {}".format
        return await proved(
            Proof(
                what=f"read pull requests of {project}",
                ask=partial(self.count_open, project),
                remedy=scope("Code: read"),
            ),
            Proof(what=f"see who may write to {project}", ask=members, remedy=scope("Project and team: read")),
            Proof(
                what=f"write comments in {project}", ask=comment, remedy=scope("Code: read & write"), by_absence=True
            ),
            Proof(what=f"set commit statuses in {project}", ask=status, remedy=scope("Code: status"), by_absence=True),
        )

    async def _write_nothing(self, method: str, path: str, body: dict[str, Any]) -> str:
        return await self.write_absent(method, path, body, (400, 404), parameters=_version())

    async def _write(self, method: str, path: str, body: dict[str, Any], kind: type[Any]) -> Any:
        answer = await self._http.request(method, path, parameters=_version(), body=body)
        return await answer.parsed(kind)

    def _repo(self, project: str) -> str:
        name, _, repository = split_project(self.name, project).partition("/")
        return f"/{name}/_apis/git/repositories/{repository}"

    def _pulls(self, project: str) -> str:
        return f"{self._repo(project)}/pullRequests"

    def _comment_path(self, project: str, number: int, comment: str) -> str:
        """`comment` is `THREAD:COMMENT`."""
        thread, _, inside = comment.partition(":")
        return f"{self._pulls(project)}/{number}/threads/{quoted(thread)}/comments/{quoted(inside)}"

    def _pull(self, project: str, found: _AzurePull) -> PullRequest:
        state = _STATES.get(found.status, PullState.CLOSED)
        head = found.last_merge_source_commit.commit_id if found.last_merge_source_commit else ""
        made = found.last_merge_commit.commit_id if found.last_merge_commit else ""
        name, _, repository = split_project(self.name, project).partition("/")
        return PullRequest(
            project=project,
            number=found.pull_request_id,
            title=found.title,
            author=found.created_by.unique_name if found.created_by else "",
            state=state,
            draft=found.is_draft,
            head=head,
            head_branch=found.source_ref_name.removeprefix("refs/heads/"),
            from_fork=found.fork_source is not None,
            base_branch=found.target_ref_name.removeprefix("refs/heads/"),
            merge_commit=made if state is PullState.MERGED else "",
            url=f"{self._web}/{name}/_git/{repository}/pullrequest/{found.pull_request_id}",
        )


def _version() -> dict[str, str]:
    return {"api-version": _VERSION}


def _comment(thread: int, found: _AzureComment) -> ForgeComment:
    return ForgeComment(
        id=f"{thread}:{found.id}",
        author=found.author.unique_name if found.author else "",
        body=found.content,
        created=datetime.fromisoformat(found.published_date).timestamp(),
        edited=found.last_content_updated_date not in (None, found.published_date),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureAddresses(Addresses):
    """An organisation, or a collection of a Server, has projects, and these have repositories."""

    def problem(self, given: str) -> str:
        """The organisation belongs to the address."""
        if given == _PUBLIC:
            return f"api needs the organisation, like {self.example}"
        return Addresses.problem(self, given)

    def is_host(self, host: str, web: SplitResult) -> bool:
        """`ORG.visualstudio.com` is the address that organisations had before `dev.azure.com/ORG`."""
        before = (f"{web.path.strip('/').lower()}.visualstudio.com", "vs-ssh.visualstudio.com")
        is_old = web.hostname == "dev.azure.com" and host.lower() in before
        return is_old or Addresses.is_host(self, host, web)

    def project_of(self, path: str, web: SplitResult, *, is_web: bool) -> str:
        """`PROJECT/REPOSITORY`: of `[ORG/]PROJECT/_git/REPO`, `ORG/_git/REPO` and `v3/ORG/PROJECT/REPO`."""
        organisation = web.path.strip("/")
        parts = unquote(path).split("/")
        inside = unquote(organisation).split("/") if organisation else []
        if parts[0] == "v3":
            parts = [*parts[1:-1], "_git", parts[-1]]
        if [each.lower() for each in parts[: len(inside)]] == [each.lower() for each in inside]:
            parts = parts[len(inside) :]
        parts = [each for each in parts if each != "DefaultCollection"]
        match parts:
            case ["_git", repository] if repository:
                return f"{repository}/{repository}"
            case [project, "_git", repository] if project and repository:
                return f"{project}/{repository}"
        return ""


def _delivery_of(payload: object) -> str:
    found = payload.get("id") if isinstance(payload, Mapping) and "resource" in payload else None
    return found if isinstance(found, str) else ""


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    event, resource = value_at(payload, "eventType"), value_at(payload, "resource")
    if event == "ms.vss-code.git-pullrequest-comment-event":
        resource = value_at(resource, "pullRequest")
    elif not (isinstance(event, str) and event.startswith("git.pullrequest.")):
        return None
    project, name = value_at(resource, "repository", "project", "name"), value_at(resource, "repository", "name")
    both = f"{project}/{name}" if isinstance(project, str) and isinstance(name, str) else None
    return hint_of(both, value_at(resource, "pullRequestId"))


FORGE = Forge(
    name="Azure DevOps",
    client=AzureDevOpsClient,
    addresses=AzureAddresses(hosts={"ssh.dev.azure.com": "dev.azure.com"}, example=f"{_PUBLIC}/ORGANISATION"),
    webhooks=Webhooks(
        verifiers=(BasicPassword(),),
        delivery_of=_delivery_of,
        pull_of=_pull_of,
        repository=("resource", "repository"),
        clone_urls=("sshUrl", "remoteUrl"),
    ),
)
