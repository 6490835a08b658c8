"""GitHub: https://docs.github.com/rest. As an App it sets checks with annotations, with a token commit statuses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from controller.config.forges import ForgeSettings
from controller.config.limits import ForgeLimits
from controller.forges.client import (
    AccessResult,
    Annotation,
    CheckState,
    ForgeCheck,
    ForgeComment,
    ForgeError,
    ForgeNotFound,
    ForgeRefused,
    Permission,
    PullRequest,
    PullState,
    Reaction,
)
from controller.forges.clients.access import Proof, proved
from controller.forges.clients.answers import Answer
from controller.forges.clients.authorization import TokenAuthorization, bearer
from controller.forges.clients.github_app import AppAuthorization, AppClaim
from controller.forges.clients.http import ForgeHttp, http_of, quoted, split_project
from controller.forges.clients.marks import OUTDATED, comment_of, mark_of
from options.limits import CountRefusal, uncounted

_HEADERS = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
_PAGE = 100
_ANNOTATIONS = 50
"""That one request may have."""
_SUMMARY = 65_535
_TITLE = 140
_REACTIONS = {Reaction.SEEN: "eyes", Reaction.DONE: "+1", Reaction.REFUSED: "-1"}
_STATUSES = {
    CheckState.RUNNING: "pending",
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failure",
    CheckState.NEUTRAL: "success",
    CheckState.CANCELLED: "error",
}
_PERMISSIONS = {"admin": Permission.ADMIN, "write": Permission.WRITE, "read": Permission.READ}
_APP_NEEDS = {
    "metadata": ("read", "the collaborators and their rights"),
    "contents": ("read", "commits"),
    "pull_requests": ("write", "pull requests, comments and reactions"),
    "checks": ("write", "checks"),
}
_HIDE = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { clientMutationId } }"


class _User(msgspec.Struct, frozen=True):
    login: str


class _Repository(msgspec.Struct, frozen=True):
    full_name: str
    permissions: dict[str, bool] = msgspec.field(default_factory=dict)


class _Side(msgspec.Struct, frozen=True):
    ref: str
    sha: str
    repo: _Repository | None = None


class _Pull(msgspec.Struct, frozen=True):
    number: int
    title: str
    state: str
    head: _Side
    base: _Side
    html_url: str
    updated_at: str
    user: _User | None = None
    draft: bool = False
    merged_at: str | None = None
    merge_commit_sha: str | None = None


class _Comment(msgspec.Struct, frozen=True):
    id: int
    created_at: str
    updated_at: str
    body: str | None = ""
    user: _User | None = None
    node_id: str = ""


class _CheckRun(msgspec.Struct, frozen=True):
    id: int
    status: str = ""


class _CheckRuns(msgspec.Struct, frozen=True):
    check_runs: list[_CheckRun]


class _PermissionAnswer(msgspec.Struct, frozen=True):
    permission: str


class _GraphAnswer(msgspec.Struct, frozen=True):
    errors: list[Any] = []


class GitHubClient:
    """One GitHub. A `ForgeClient`."""

    comment_bytes = 65_536

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
        self._app: AppAuthorization | None = None
        self._app_http: ForgeHttp | None = None

        if settings.app_id:
            claim = AppClaim(settings, clock)
            self._app_http = http_of(settings, claim, limits, refused, clock, headers=_HEADERS)
            self._app = AppAuthorization(settings, self._app_http, clock)
        authorization = self._app or TokenAuthorization(settings.name, settings.token, bearer)
        self._http = http_of(settings, authorization, limits, refused, clock, headers=_HEADERS)
        self._graph = f"{settings.api.removesuffix('/v3')}/graphql"

    async def close(self) -> None:
        """End connections."""
        await self._http.close()
        if self._app_http is not None:
            await self._app_http.close()

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """As it is now."""
        return _pull(project, await self._http.get(f"{self._repo(project)}/pulls/{number}", _Pull, project=project))

    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones, the newest change first."""
        path, most = f"{self._repo(project)}/pulls", self._limits.pull_requests
        parameters: dict[str, str | int] = {"state": "open", "sort": "updated", "direction": "desc", "per_page": _PAGE}
        found = await self._http.entries(path, parameters, _Pull, most, project=project)
        return [_pull(project, each) for each in found]

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """All comments, the oldest first."""
        most = min(self._limits.pages, max(2, self._limits.comments // _PAGE))
        path = f"{self._repo(project)}/issues/{number}/comments"
        pages = await self._http.newest_pages(path, most, project=project, per_page=_PAGE)
        return [_comment(each) for page in pages for each in await page.parsed(list[_Comment])]

    async def create_comment(self, project: str, number: int, body: str) -> ForgeComment:
        """Add one."""
        path = f"{self._repo(project)}/issues/{number}/comments"
        answer = await self._http.send("POST", path, {"body": body}, project=project)
        return _comment(await answer.parsed(_Comment))

    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours."""
        await self._http.send("PATCH", self._comment_path(project, comment), {"body": body}, project=project)

    async def hide_comment(self, project: str, number: int, comment: str) -> None:
        """Fold it as outdated; where GraphQL refuses that, its text is replaced."""
        found = await self._http.get(self._comment_path(project, comment), _Comment, project=project)
        try:
            asked = {"query": _HIDE, "variables": {"id": found.node_id}}
            answer = await self._http.send("POST", self._graph, asked, project=project)
            is_hidden = not (await answer.parsed(_GraphAnswer)).errors
        except ForgeRefused:
            is_hidden = False
        if not is_hidden:
            await self.edit_comment(project, number, comment, OUTDATED)

    async def react(self, project: str, number: int, comment: str, reaction: Reaction) -> None:
        """Answer a comment."""
        path = f"{self._comment_path(project, comment)}/reactions"
        await self._http.send("POST", path, {"content": _REACTIONS[reaction]}, project=project)

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """As an App the check of this name, with its annotations; else the commit's status of this name."""
        if self._app is not None:
            await self._set_check_run(project, head, check)
            return
        status = {
            "state": _STATUSES[check.state],
            "context": check.name,
            "description": check.title[:_TITLE],
            **_given(target_url=check.url),
        }
        await self._http.send("POST", f"{self._repo(project)}/statuses/{quoted(head)}", status, project=project)

    async def permission(self, project: str, user: str) -> Permission:
        """What a person may do."""
        path = f"{self._repo(project)}/collaborators/{quoted(user)}/permission"
        try:
            found = await self._http.get(path, _PermissionAnswer, project=project)
        except ForgeNotFound:
            return Permission.NONE
        return _PERMISSIONS.get(found.permission, Permission.NONE)

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one."""
        read = Proof(
            what=f"read pull requests of {project}",
            ask=lambda: self._read(project),
            remedy="Install the App for the repository, and accept its permissions"
            if self._app
            else "Give the token the repository, and the permission Pull requests: read",
        )
        if self._app is None:
            return await proved(read, *self._token_rights(project))
        return [*await proved(read), *await self._app_rights(self._app, project)]

    async def _read(self, project: str) -> str:
        return f"{len(await self.open_pull_requests(project))} open"

    async def _app_rights(self, app: AppAuthorization, project: str) -> list[AccessResult]:
        try:
            granted = (await app.token(project)).permissions
        except ForgeError as error:
            return [AccessResult(what=f"work as a GitHub App on {project}", ok=False, detail=str(error))]
        results = []
        for name, (level, what) in _APP_NEEDS.items():
            ok = granted.get(name) in (("read", "write") if level == "read" else ("write",))
            detail = f"{name}: {granted.get(name, 'none')}"
            remedy = f". Set it to {level} on the App's page (Permissions), and accept the change where it is installed"
            results.append(
                AccessResult(what=f"{level} {what} of {project}", ok=ok, detail=detail + ("" if ok else remedy))
            )
        return results

    def _token_rights(self, project: str) -> list[Proof]:

        async def status() -> str:
            answer = await self._write(project, "POST", f"/statuses/{'0' * 40}", {"state": "pending"})
            return f"answered {answer.status} for a commit that there is not"

        async def comment() -> str:
            answer = await self._write(project, "PATCH", "/issues/comments/0", {"body": "."})
            return f"answered {answer.status} for a comment that there is not"

        async def rights() -> str:
            found = await self._http.get(self._repo(project), _Repository, project=project)
            if not found.permissions.get("push"):
                raise ForgeRefused("the token's owner may not write to the repository")
            return "may write"

        return [
            Proof(
                what=f"see who may write to {project}",
                ask=rights,
                remedy="Make the token's owner a collaborator with the role Write",
            ),
            Proof(
                what=f"write comments in {project}",
                ask=comment,
                remedy="Give the token Pull requests: write (fine-grained) or the scope repo (classic)",
                by_absence=True,
            ),
            Proof(
                what=f"set commit statuses in {project}",
                ask=status,
                remedy="Give the token Commit statuses: write (fine-grained) or the scope repo:status (classic)",
                by_absence=True,
            ),
        ]

    async def _write(self, project: str, method: str, path: str, body: dict[str, Any]) -> Answer:
        return await self._http.request(
            method, self._repo(project) + path, project=project, body=body, accept=(404, 422)
        )

    def _repo(self, project: str) -> str:
        return f"/repos/{split_project(self.name, project)}"

    def _comment_path(self, project: str, comment: str) -> str:
        return f"{self._repo(project)}/issues/comments/{quoted(comment)}"

    async def _set_check_run(self, project: str, head: str, check: ForgeCheck) -> None:
        """Create the check, or go on with the one that runs. Annotations are appended by further requests."""
        listed = f"{self._repo(project)}/commits/{quoted(head)}/check-runs"
        runs = await self._http.get(listed, _CheckRuns, project=project, check_name=check.name, filter="latest")
        running = next((each for each in runs.check_runs if each.status != "completed"), None)
        annotations = check.annotations[: self._limits.annotations]
        chunks = [annotations[at : at + _ANNOTATIONS] for at in range(0, len(annotations), _ANNOTATIONS)] or [()]
        body = _check_run(check, chunks[0])
        path = f"{self._repo(project)}/check-runs"
        if running is None:
            answer = await self._http.send("POST", path, {"head_sha": head, **body}, project=project)
            run = await answer.parsed(_CheckRun)
        else:
            run = running
            await self._http.send("PATCH", f"{path}/{run.id}", body, project=project)
        for chunk in chunks[1:]:
            await self._http.send("PATCH", f"{path}/{run.id}", {"output": _output(check, chunk)}, project=project)


def _given(**values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _check_run(check: ForgeCheck, annotations: Sequence[Annotation]) -> dict[str, Any]:
    is_running = check.state is CheckState.RUNNING
    return {
        "name": check.name,
        "status": "in_progress" if is_running else "completed",
        **({} if is_running else {"conclusion": check.state.value}),
        **_given(details_url=check.url),
        "output": _output(check, annotations),
    }


def _output(check: ForgeCheck, annotations: Sequence[Annotation]) -> dict[str, Any]:
    found: dict[str, Any] = {"title": check.title[:_TITLE], "summary": check.summary[:_SUMMARY]}
    if annotations:
        found["annotations"] = [
            {
                "path": each.path,
                "start_line": each.line,
                "end_line": each.line,
                "annotation_level": each.level,
                "message": each.message,
            }
            for each in annotations
        ]
    return found


def _pull(project: str, found: _Pull) -> PullRequest:
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
        updated=mark_of(found.updated_at, found.state, found.head.sha, found.base.ref),
        url=found.html_url if urlsplit(found.html_url).scheme in ("http", "https") else "",
    )


def _comment(found: _Comment) -> ForgeComment:
    author = found.user.login if found.user else ""
    return comment_of(found.id, author, found.body or "", found.created_at, found.updated_at)
