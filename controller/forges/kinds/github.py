"""GitHub: https://docs.github.com/rest, https://docs.github.com/en/webhooks/webhook-events-and-payloads.

As an App it sets checks with annotations, with a token commit statuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import msgspec

from controller.forges.addresses import Addresses
from controller.forges.api.access import Proof, proved
from controller.forges.api.adapter import ClientParts
from controller.forges.api.authorization import Authorization
from controller.forges.api.github_app import AppAuthorization, AppClaim, AppOptions
from controller.forges.api.github_like import TITLE, CommentAnswer, GitHubLikeClient, shared_comment
from controller.forges.api.marks import OUTDATED
from controller.forges.api.paths import quoted
from controller.forges.client import (
    AccessResult,
    Annotation,
    CheckState,
    ForgeCheck,
    ForgeComment,
    ForgeError,
    ForgeRefused,
)
from controller.forges.forge import Forge, Webhooks
from controller.forges.pull_hints import PullHint, hint_of, value_at
from controller.forges.verifiers import SignatureHeader

_PAGE = 100
_ANNOTATIONS = 50
"""That one request may have."""
_SUMMARY = 65_535
_APP_NEEDS = {
    "metadata": ("read", "the collaborators and their rights"),
    "contents": ("read", "commits"),
    "pull_requests": ("write", "pull requests, comments and reactions"),
    "checks": ("write", "checks"),
}
_HIDE = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { clientMutationId } }"

_OF_PULLS = ("pull_request", "pull_request_review", "pull_request_review_comment")


class _CheckRun(msgspec.Struct, frozen=True):
    id: int
    status: str = ""


class _CheckRuns(msgspec.Struct, frozen=True):
    check_runs: list[_CheckRun]


class _GraphAnswer(msgspec.Struct, frozen=True):
    errors: list[Any] = []


class GitHubClient(GitHubLikeClient):
    """One GitHub. A `ForgeClient`."""

    comment_bytes = 65_536
    headers: ClassVar[Mapping[str, str]] = {
        "accept": "application/vnd.github+json",
        "x-github-api-version": "2022-11-28",
    }
    newest_change_first: ClassVar[Mapping[str, str | int]] = {"sort": "updated", "direction": "desc", "per_page": _PAGE}

    def __init__(self, parts: ClientParts) -> None:
        """Nothing is connected yet."""
        self._app: AppAuthorization | None = None
        super().__init__(parts)
        self._graph = f"{parts.settings.api.removesuffix('/v3')}/graphql"

    def authorization(self, parts: ClientParts) -> Authorization:
        """As an App where one is configured, else the token."""
        own = parts.settings.own
        if not isinstance(own, AppOptions) or not own.app_id:
            return super().authorization(parts)
        http = parts.connect(AppClaim(self.name, own, parts.clock), self.headers)
        self._app = AppAuthorization(self.name, own, http, parts.clock)
        return self._app

    async def close(self) -> None:
        """End connections."""
        await super().close()
        if self._app is not None:
            await self._app.close()

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """All comments, the oldest first."""
        most = min(self._limits.pages, max(2, self._limits.comments // _PAGE))
        path = f"{self.repository(project)}/issues/{number}/comments"
        pages = await self._http.newest_pages(path, most, project=project, per_page=_PAGE)
        return [shared_comment(each) for page in pages for each in await page.parsed(list[CommentAnswer])]

    async def hide_comment(self, project: str, number: int, comment: str) -> None:
        """Fold it as outdated; where GraphQL refuses that, its text is replaced."""
        found = await self._http.get(self.comment_path(project, comment), CommentAnswer, project=project)
        try:
            asked = {"query": _HIDE, "variables": {"id": found.node_id}}
            answer = await self._http.send("POST", self._graph, asked, project=project)
            is_hidden = not (await answer.parsed(_GraphAnswer)).errors
        except ForgeRefused:
            is_hidden = False
        if not is_hidden:
            await self.edit_comment(project, number, comment, OUTDATED)

    async def set_check(self, project: str, head: str, check: ForgeCheck) -> None:
        """As an App the check of this name, with its annotations; else the commit's status of this name."""
        if self._app is not None:
            await self._set_check_run(project, head, check)
        else:
            await super().set_check(project, head, check)

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one."""
        read = Proof(
            what=f"read pull requests of {project}",
            ask=partial(self.count_open, project),
            remedy="Install the App for the repository, and accept its permissions"
            if self._app
            else "Give the token the repository, and the permission Pull requests: read",
        )
        if self._app is None:
            return await proved(read, *self._token_rights(project))
        return [*await proved(read), *await self._app_rights(self._app, project)]

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
        async def rights() -> str:
            if not (await self.own_rights(project)).get("push"):
                raise ForgeRefused("the token's owner may not write to the repository")
            return "may write"

        return [
            Proof(
                what=f"see who may write to {project}",
                ask=rights,
                remedy="Make the token's owner a collaborator with the role Write",
            ),
            *self.write_proofs(
                project,
                comments="Give the token Pull requests: write (fine-grained) or the scope repo (classic)",
                statuses="Give the token Commit statuses: write (fine-grained) or the scope repo:status (classic)",
            ),
        ]

    async def _set_check_run(self, project: str, head: str, check: ForgeCheck) -> None:
        """Create the check, or go on with the one that runs. Annotations are appended by further requests."""
        listed = f"{self.repository(project)}/commits/{quoted(head)}/check-runs"
        runs = await self._http.get(listed, _CheckRuns, project=project, check_name=check.name, filter="latest")
        running = next((each for each in runs.check_runs if each.status != "completed"), None)
        annotations = check.annotations[: self._limits.annotations]
        chunks = [annotations[at : at + _ANNOTATIONS] for at in range(0, len(annotations), _ANNOTATIONS)] or [()]
        body = _check_run(check, chunks[0])
        path = f"{self.repository(project)}/check-runs"
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
    found: dict[str, Any] = {"title": check.title[:TITLE], "summary": check.summary[:_SUMMARY]}
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


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    event, project = headers.get("x-github-event"), value_at(payload, "repository", "full_name")
    if event in _OF_PULLS:
        return hint_of(project, value_at(payload, "pull_request", "number"))
    if event == "issue_comment" and value_at(payload, "issue", "pull_request") is not None:
        return hint_of(project, value_at(payload, "issue", "number"))
    if event == "check_run" and value_at(payload, "action") in ("rerequested", "requested_action"):
        pulls = value_at(payload, "check_run", "pull_requests")
        return hint_of(project, value_at(pulls[0], "number")) if isinstance(pulls, list) and pulls else None
    return None


FORGE = Forge(
    name="GitHub",
    client=GitHubClient,
    addresses=Addresses(
        public="https://api.github.com",
        sites=("github.com", "www.github.com"),
        path="/api/v3",
        api_host="api.",
        hosts={"ssh.github.com": "github.com", "api.github.com": "github.com"},
        compare="compare/{base}...{branch}?expand=1",
    ),
    webhooks=Webhooks(
        verifiers=(SignatureHeader("x-hub-signature-256"),),
        delivery_headers=("x-github-delivery",),
        ping=("x-github-event", "ping"),
        pull_of=_pull_of,
    ),
    options=AppOptions,
    other_access="app_id and private_key of a GitHub App",
)
