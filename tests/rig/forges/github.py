"""A stateful fake of GitHub's REST API (as Enterprise Server has it, below /api/v3), for an App or with a token."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from datetime import UTC, datetime
from functools import partial
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from forges.cases import COMMENTS, STATUSES, WHO, FakeCase, Lacking, Published, as_a, without
from forges.model import Check, Comment, ForgeModel, Happened, Project, Pull
from forges.server import FakeForge, Refused, Reply, Request

from controller.forges.client import CheckState

APP_PERMISSIONS = {"metadata": "read", "contents": "read", "pull_requests": "write", "checks": "write"}
_ACTIONS = {
    "opened": "opened",
    "pushed": "synchronize",
    "edited": "edited",
    "retargeted": "edited",
    "merged": "closed",
    "closed": "closed",
    "reopened": "reopened",
}


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FakeGitHub(FakeForge):
    """`app=True`: an App with the id 7, whose installation 99 has all projects."""

    prefix = "/api/v3"
    kind = "github"

    def __init__(self, model: ForgeModel | None = None, *, app: bool = False) -> None:
        super().__init__(model)
        self.is_app = app
        self.app_permissions = dict(APP_PERMISSIONS)
        self.installed = True
        self.token_seconds = 3600.0
        self.tokens: dict[str, float] = {}
        """Token of an installation -> until when it holds."""
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048) if app else None

    @property
    def access(self) -> dict[str, str]:
        return {"app_id": "7", "private_key": self.private_key} if self.is_app else super().access

    @property
    def private_key(self) -> str:
        assert self._key is not None
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        return self._key.private_bytes(encoding, form, serialization.NoEncryption()).decode()

    def expire_tokens(self) -> None:
        """All tokens of installations end now."""
        self.tokens = dict.fromkeys(self.tokens, 0.0)

    def secondary_limit(self, times: int = 1, matching: str = "") -> None:
        """The refusal that has no header, only a text."""
        text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        self.fault("status", times=times, matching=matching, reply=Reply(status=403, value={"message": text}))

    def exhausted(self, times: int = 1, matching: str = "", seconds: int = 30) -> None:
        """The refusal of the primary limit."""
        headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + seconds)}
        reply = Reply(status=403, value={"message": "API rate limit exceeded"}, headers=headers)
        self.fault("status", times=times, matching=matching, reply=reply)

    def routes(self) -> None:
        repo = "/repos/{owner}/{name}"
        self.route("GET", repo, self._repository)
        self.route("GET", f"{repo}/installation", self._installation)
        self.route("POST", "/app/installations/{installation}/access_tokens", self._access_token)
        self.route("GET", f"{repo}/pulls", self._pulls)
        self.route("GET", f"{repo}/pulls/{{number}}", self._pull_route)
        self.route("GET", f"{repo}/issues/{{number}}/comments", self._comments)
        self.route("POST", f"{repo}/issues/{{number}}/comments", self._create_comment)
        self.route("GET", f"{repo}/issues/comments/{{comment}}", self._one_comment)
        self.route("PATCH", f"{repo}/issues/comments/{{comment}}", self._edit_comment)
        self.route("POST", f"{repo}/issues/comments/{{comment}}/reactions", self._react)
        self.route("POST", f"{repo}/statuses/{{sha}}", self._status)
        self.route("GET", f"{repo}/commits/{{sha}}/check-runs", self._check_runs)
        self.route("POST", f"{repo}/check-runs", self._create_check)
        self.route("PATCH", f"{repo}/check-runs/{{check}}", self._update_check)
        self.route("GET", f"{repo}/collaborators/{{user}}/permission", self._permission)
        self.route("POST", "/api/graphql", self._graphql)

    def authorize(self, request: Request) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        is_of_the_app = request.path.startswith("/app/") or request.path.endswith("/installation")
        if scheme != "Bearer":
            raise Refused(401, "Requires authentication")
        if self.is_app and is_of_the_app:
            self._check_claim(given)
        elif self.is_app:
            if self.tokens.get(given, 0.0) <= time.time():
                raise Refused(401, "Bad credentials")
        elif given != self.token:
            raise Refused(401, "Bad credentials")

    def _check_claim(self, claim: str) -> None:
        assert self._key is not None
        head, payload, signature = claim.split(".")
        try:
            data = f"{head}.{payload}".encode()
            self._key.public_key().verify(_decoded(signature), data, padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            raise Refused(401, "A JSON web token could not be decoded") from None
        claims = json.loads(_decoded(payload))
        now = time.time()
        if json.loads(_decoded(head))["alg"] != "RS256" or claims["iss"] != "7":
            raise Refused(401, "Integration not found")
        if not claims["iat"] <= now < claims["exp"] <= now + 600:
            raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")

    def sign(self, body: bytes) -> dict[str, str]:
        return {"x-hub-signature-256": "sha256=" + hmac.new(self.secret, body, hashlib.sha256).hexdigest()}

    def webhook(self, happened: Happened) -> tuple[dict[str, str], Any] | None:
        headers = {"x-github-delivery": "{delivery}", "user-agent": "GitHub-Hookshot/fake"}
        project = self.model.projects[happened.pull.project]
        common = {"repository": self._repository_of(project), "sender": _user(happened.actor)}
        if happened.comment is not None:
            action = "edited" if happened.kind == "comment-edited" else "created"
            issue = {"number": happened.pull.number, "title": happened.pull.title, "pull_request": {"url": self.api}}
            payload = {"action": action, "issue": issue, "comment": self._comment_of(happened.comment), **common}
            return {"x-github-event": "issue_comment", **headers}, payload
        payload = {
            "action": _ACTIONS[happened.kind],
            "number": happened.pull.number,
            "pull_request": self._pull_of(happened.pull),
            **common,
        }
        return {"x-github-event": "pull_request", **headers}, payload

    def outcome(self, check: Check) -> CheckState:
        state = check.history[-1]
        words = {"error": CheckState.CANCELLED, "pending": CheckState.RUNNING, "in_progress": CheckState.RUNNING}
        return words.get(state) or CheckState(state)

    # Routes.

    def _may(self, right: str, permission: str) -> None:
        allowed = self.app_permissions.get(permission) == "write" if self.is_app else right in self.rights
        if not allowed:
            raise Refused(403, "Resource not accessible by integration" if self.is_app else "Resource not accessible")

    def _repository(self, request: Request, owner: str, name: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        level = project.permissions[self.model.robot]
        permissions = {
            "admin": level == "admin",
            "maintain": level == "admin",
            "push": level in ("write", "admin"),
            "triage": level in ("write", "admin"),
            "pull": True,
        }
        return Reply(value={**self._repository_of(project), "permissions": permissions})

    def _installation(self, request: Request, owner: str, name: str) -> Reply:
        if not self.is_app or not self.installed:
            raise Refused(404)
        self.find_project(f"{owner}/{name}")
        return Reply(value={"id": 99, "app_id": 7, "permissions": self.app_permissions, "events": []})

    def _access_token(self, request: Request, installation: str) -> Reply:
        if installation != "99":
            raise Refused(404)
        until = time.time() + self.token_seconds
        made = f"ghs_{self.model.new_id()}"
        self.tokens[made] = until
        return Reply(status=201, value={"token": made, "expires_at": stamp(until), "permissions": self.app_permissions})

    def _pulls(self, request: Request, owner: str, name: str) -> Reply:
        pulls = list(self.find_project(f"{owner}/{name}").pulls.values())
        if request.query.get("state", "open") == "open":
            pulls = [each for each in pulls if each.state == "open"]
        if request.query.get("sort") == "updated":
            pulls.sort(key=lambda each: each.updated)
        if request.query.get("direction", "desc") == "desc":
            pulls.reverse()
        return self.paged(request, [self._pull_of(each) for each in pulls])

    def _pull_route(self, request: Request, owner: str, name: str, number: str) -> Reply:
        pull = self.find_pull(f"{owner}/{name}", number)
        return Reply(value={**self._pull_of(pull), "merged": pull.state == "merged", "comments": len(pull.visible())})

    def _comments(self, request: Request, owner: str, name: str, number: str) -> Reply:
        pull = self.find_pull(f"{owner}/{name}", number)
        return self.paged(request, [self._comment_of(each) for each in pull.visible()])

    def _create_comment(self, request: Request, owner: str, name: str, number: str) -> Reply:
        self._may("comments", "pull_requests")
        pull = self.find_pull(f"{owner}/{name}", number)
        made = self.model.comment(pull, self.model.robot, _body(request))
        return Reply(status=201, value=self._comment_of(made))

    def _one_comment(self, request: Request, owner: str, name: str, comment: str) -> Reply:
        return Reply(value=self._comment_of(self.find_comment(f"{owner}/{name}", comment)[1]))

    def _edit_comment(self, request: Request, owner: str, name: str, comment: str) -> Reply:
        self._may("comments", "pull_requests")
        pull, found = self.find_comment(f"{owner}/{name}", comment)
        if found.author != self.model.robot:
            raise Refused(403, "Must have admin rights to Repository.")
        self.model.edit_comment(pull, found, _body(request))
        return Reply(value=self._comment_of(found))

    def _react(self, request: Request, owner: str, name: str, comment: str) -> Reply:
        self._may("comments", "pull_requests")
        _, found = self.find_comment(f"{owner}/{name}", comment)
        given = (self.model.robot, request.body["content"])
        status = 200 if given in found.given else 201
        if status == 201:
            found.given.append(given)
        value = {"id": 1, "node_id": "R1", "user": _user(given[0]), "content": given[1], "created_at": stamp(0)}
        return Reply(status=status, value=value)

    def _status(self, request: Request, owner: str, name: str, sha: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        self._may("statuses", "statuses")
        if not self.knows(project, sha):
            raise Refused(422, f"No commit found for SHA: {sha}")
        values = request.body
        self.keep_status(project, sha, values["context"], values, values["state"])
        value = {"id": 1, "url": self.api, "avatar_url": None, "node_id": "S1", "creator": _user(self.model.robot)}
        given = {key: values.get(key) for key in ("state", "description", "target_url", "context")}
        return Reply(status=201, value={**value, **given, "created_at": stamp(0), "updated_at": stamp(0)})

    def _check_runs(self, request: Request, owner: str, name: str, sha: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        if not self.knows(project, sha):
            raise Refused(422, f"No commit found for SHA: {sha}")
        wanted = request.query.get("check_name")
        found = [each for each in project.checks if each.head == sha and wanted in (None, each.name)]
        if request.query.get("filter", "latest") == "latest":
            found = list({each.name: each for each in found}.values())
        return Reply(value={"total_count": len(found), "check_runs": [self._check_of(each) for each in found]})

    def _create_check(self, request: Request, owner: str, name: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        self._may_check()
        values = dict(request.body)
        head = values.pop("head_sha")
        if not self.knows(project, head):
            raise Refused(422, f"No commit found for SHA: {head}")
        made = Check(id=self.model.new_id(), head=head, name=values["name"], values={})
        project.checks.append(made)
        self._update(made, values)
        return Reply(status=201, value=self._check_of(made))

    def _update_check(self, request: Request, owner: str, name: str, check: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        self._may_check()
        found = next((each for each in project.checks if str(each.id) == check), None)
        if found is None:
            raise Refused(404)
        self._update(found, request.body)
        return Reply(value=self._check_of(found))

    def _permission(self, request: Request, owner: str, name: str, user: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        if project.permissions.get(self.model.robot) not in ("write", "admin") and not self.is_app:
            raise Refused(403, "Must have push access to view collaborator permission.")
        if user not in project.permissions:
            raise Refused(404)
        level = project.permissions[user]
        return Reply(value={"permission": level, "role_name": level, "user": _user(user)})

    def _graphql(self, request: Request) -> Reply:
        self._may("comments", "pull_requests")
        wanted = request.body["variables"]["id"]
        for project in self.model.projects.values():
            for pull in project.pulls.values():
                for each in pull.visible():
                    if f"IC_{each.id}" == wanted and "OUTDATED" in request.body["query"]:
                        each.hidden = True
                        return Reply(value={"data": {"minimizeComment": {"clientMutationId": None}}})
        return Reply(value={"data": None, "errors": [{"message": "Could not resolve to a node"}]})

    def _may_check(self) -> None:
        if not self.is_app:
            raise Refused(403, "You must authenticate via a GitHub App.")
        self._may("checks", "checks")

    def _update(self, check: Check, values: dict[str, Any]) -> None:
        output = values.get("output") or {}
        annotations = output.get("annotations", [])
        if len(annotations) > 50:
            raise Refused(422, "No more than 50 annotations")
        check.annotations += annotations
        check.values.update(values)
        if "status" in values or "conclusion" in values:
            check.history.append(values.get("conclusion") or values["status"])

    # Values, as GitHub has them.

    def _repository_of(self, project: Project) -> dict[str, Any]:
        owner, _, name = project.name.partition("/")
        return {
            "id": 1,
            "node_id": "R_1",
            "name": name,
            "full_name": project.name,
            "owner": _user(owner),
            "private": True,
            "fork": False,
            "html_url": f"{self.web}/{project.name}",
            "clone_url": f"{self.web}/{project.name}.git",
            "ssh_url": f"git@127.0.0.1:{project.name}.git",
            "default_branch": "main",
        }

    def _pull_of(self, pull: Pull) -> dict[str, Any]:
        head = Project(name=pull.head_project)
        is_open = pull.state == "open"
        return {
            "id": 1000 + pull.number,
            "node_id": f"PR_{pull.number}",
            "url": f"{self.api}/repos/{pull.project}/pulls/{pull.number}",
            "html_url": f"{self.web}/{pull.project}/pull/{pull.number}",
            "number": pull.number,
            "state": "open" if is_open else "closed",
            "locked": False,
            "draft": pull.draft,
            "title": pull.title,
            "body": None,
            "user": _user(pull.author),
            "created_at": stamp(pull.created),
            "updated_at": stamp(pull.updated),
            "closed_at": None if is_open else stamp(pull.updated),
            "merged_at": stamp(pull.updated) if pull.state == "merged" else None,
            "merge_commit_sha": pull.merge_commit or "f" * 40,  # the test merge, while it is open
            "head": {
                "label": f"{head.name.partition('/')[0]}:{pull.head_branch}",
                "ref": pull.head_branch,
                "sha": pull.head,
                "user": _user(head.name.partition("/")[0]),
                "repo": self._repository_of(head),
            },
            "base": {
                "label": f"{pull.project.partition('/')[0]}:{pull.base_branch}",
                "ref": pull.base_branch,
                "sha": pull.base,
                "user": _user(pull.project.partition("/")[0]),
                "repo": self._repository_of(self.model.projects[pull.project]),
            },
        }

    def _comment_of(self, comment: Comment) -> dict[str, Any]:
        return {
            "id": comment.id,
            "node_id": f"IC_{comment.id}",
            "url": f"{self.api}/comments/{comment.id}",
            "html_url": f"{self.web}/comments/{comment.id}",
            "body": comment.body,
            "user": _user(comment.author),
            "created_at": stamp(comment.created),
            "updated_at": stamp(comment.updated),
            "issue_url": f"{self.api}/issues/1",
            "author_association": "MEMBER",
        }

    def _check_of(self, check: Check) -> dict[str, Any]:
        output = check.values.get("output") or {}
        return {
            "id": check.id,
            "node_id": f"CR_{check.id}",
            "head_sha": check.head,
            "name": check.name,
            "status": check.values.get("status", "queued"),
            "conclusion": check.values.get("conclusion"),
            "details_url": check.values.get("details_url"),
            "url": f"{self.api}/check-runs/{check.id}",
            "output": {
                "title": output.get("title"),
                "summary": output.get("summary"),
                "text": None,
                "annotations_count": len(check.annotations),
                "annotations_url": f"{self.api}/check-runs/{check.id}/annotations",
            },
        }


def _user(name: str) -> dict[str, Any]:
    return {"login": name, "id": 1, "node_id": "U_1", "type": "Bot" if name.endswith("[bot]") else "User"}


def _body(request: Request) -> str:
    body = request.body["body"]
    if not body or len(body) > 65_536:
        raise Refused(422, "Validation Failed")
    assert isinstance(body, str)
    return body


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _without_permission(name: str, line: str, level: str) -> Lacking:
    return Lacking(
        take=lambda fake: fake.app_permissions.pop(name), line=line, remedy=f"{name}: none. Set it to {level}"
    )


PUBLISHED = Published(
    file="github.json",
    package="@octokit/openapi@23.0.2",
    member="package/generated/api.github.com.json",
    undescribed="^POST /api/graphql",  # it has a schema of its own
)
PUSH = {"repository": {"full_name": "infra/states", "clone_url": "https://git.example.org/infra/states.git"}}
FAKES = {
    "github": FakeCase(
        make=FakeGitHub,
        push=PUSH,
        published=PUBLISHED,
        lacking=(
            Lacking(take=as_a("read"), line=WHO, remedy="a collaborator with the role Write"),
            Lacking(take=without("comments"), line=COMMENTS, remedy="Pull requests: write"),
            Lacking(take=without("statuses"), line=STATUSES, remedy="Commit statuses: write"),
        ),
    ),
    "github-app": FakeCase(
        make=partial(FakeGitHub, app=True),
        push=PUSH,
        published=PUBLISHED,
        lacking=(
            _without_permission("metadata", "read the collaborators", "read"),
            _without_permission("contents", "read commits", "read"),
            _without_permission("pull_requests", "write pull requests", "write"),
            _without_permission("checks", "write checks", "write"),
        ),
    ),
}
