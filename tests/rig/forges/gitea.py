"""A stateful fake of Gitea's and Forgejo's API, below a path prefix as behind a proxy."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from forges.cases import COMMENTS, STATUSES, WHO, FakeCase, Lacking, Published, as_a, without
from forges.github import stamp
from forges.model import Comment, Happened, Project, Pull
from forges.server import FakeForge, Refused, Reply, Request

from controller.forges.client import CheckState

_ACTIONS = {"pushed": "synchronized", "retargeted": "edited", "merged": "closed"}


class FakeGitea(FakeForge):
    prefix = "/git/api/v1"
    kind = "gitea"
    needs_admin = True
    states = {  # noqa: RUF012
        "pending": CheckState.RUNNING,
        "success": CheckState.SUCCESS,
        "failure": CheckState.FAILURE,
        "error": CheckState.CANCELLED,
    }

    def routes(self) -> None:
        repo = "/repos/{owner}/{name}"
        self.route("GET", repo, self._repository)
        self.route("GET", f"{repo}/pulls", self._pulls)
        self.route("GET", f"{repo}/pulls/{{number}}", self._pull_route)
        self.route("GET", f"{repo}/issues/{{number}}/comments", self._comments)
        self.route("POST", f"{repo}/issues/{{number}}/comments", self._create_comment)
        self.route("PATCH", f"{repo}/issues/comments/{{comment}}", self._edit_comment)
        self.route("POST", f"{repo}/issues/comments/{{comment}}/reactions", self._react)
        self.route("POST", f"{repo}/statuses/{{sha}}", self._status)
        self.route("GET", f"{repo}/collaborators/{{user}}/permission", self._permission)

    def authorize(self, request: Request) -> None:
        if request.headers.get("authorization") != f"token {self.token}":
            raise Refused(401, "user does not exist [uid: 0, name: ]")

    def sign(self, body: bytes) -> dict[str, str]:
        signature = hmac.new(self.secret, body, hashlib.sha256).hexdigest()
        return {"x-gitea-signature": signature, "x-hub-signature-256": f"sha256={signature}"}

    def webhook(self, happened: Happened) -> tuple[dict[str, str], Any] | None:
        common = {"x-gitea-delivery": "{delivery}", "x-github-delivery": "{delivery}"}
        repository = self._repository_of(self.model.projects[happened.pull.project])
        if happened.comment is not None:
            payload = {
                "action": "edited" if happened.kind == "comment-edited" else "created",
                "issue": {"number": happened.pull.number, "title": happened.pull.title},
                "comment": self._comment_of(happened.comment),
                "repository": repository,
                "is_pull": True,
            }
            return {"x-gitea-event": "issue_comment", "x-github-event": "issue_comment", **common}, payload
        payload = {
            "action": _ACTIONS.get(happened.kind, happened.kind),
            "number": happened.pull.number,
            "pull_request": self._pull_of(happened.pull),
            "repository": repository,
        }
        return {"x-gitea-event": "pull_request", "x-github-event": "pull_request", **common}, payload

    def _repository(self, request: Request, owner: str, name: str) -> Reply:
        return Reply(value=self._repository_of(self.find_project(f"{owner}/{name}")))

    def _pulls(self, request: Request, owner: str, name: str) -> Reply:
        pulls = [each for each in self.find_project(f"{owner}/{name}").pulls.values() if each.state == "open"]
        if request.query.get("sort") == "recentupdate":
            pulls.sort(key=lambda each: -each.updated)
        return self.paged(request, [self._pull_of(each) for each in pulls], size="limit")

    def _pull_route(self, request: Request, owner: str, name: str, number: str) -> Reply:
        return Reply(value=self._pull_of(self.find_pull(f"{owner}/{name}", number)))

    def _comments(self, request: Request, owner: str, name: str, number: str) -> Reply:
        return Reply(value=[self._comment_of(each) for each in self.find_pull(f"{owner}/{name}", number).visible()])

    def _create_comment(self, request: Request, owner: str, name: str, number: str) -> Reply:
        self.may("comments")
        pull = self.find_pull(f"{owner}/{name}", number)
        made = self.model.comment(pull, self.model.robot, request.body["body"])
        return Reply(status=201, value=self._comment_of(made))

    def _edit_comment(self, request: Request, owner: str, name: str, comment: str) -> Reply:
        return Reply(value=self._comment_of(self.edited(f"{owner}/{name}", comment, request.body["body"])))

    def _react(self, request: Request, owner: str, name: str, comment: str) -> Reply:
        self.may("comments")
        _, found = self.find_comment(f"{owner}/{name}", comment)
        given = (self.model.robot, request.body["content"])
        status = 200 if given in found.given else 201
        if status == 201:
            found.given.append(given)
        return Reply(status=status, value={"user": _user(given[0]), "content": given[1], "created_at": stamp(0)})

    def _status(self, request: Request, owner: str, name: str, sha: str) -> Reply:
        project, values = self.find_project(f"{owner}/{name}"), request.body
        self.may("statuses")
        if not self.knows(project, sha):
            raise Refused(500, f"GetCommit[{sha}]: object does not exist")
        self.keep_status(project, sha, values["context"], values, values["state"])
        given = {key: values.get(key, "") for key in ("context", "description", "target_url")}
        return Reply(status=201, value={"id": 1, "status": values["state"], **given, "creator": _user("saltern")})

    def _permission(self, request: Request, owner: str, name: str, user: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        if project.permissions[self.model.robot] != "admin" and user != self.model.robot:
            raise Refused(403, "Only admins can query all permissions")
        if user not in project.permissions:
            raise Refused(404)
        level = project.permissions[user]
        return Reply(value={"permission": level, "role_name": level, "user": _user(user)})

    def _repository_of(self, project: Project) -> dict[str, Any]:
        level = project.permissions.get(self.model.robot, "")
        permissions = {"admin": level == "admin", "push": level in ("admin", "write"), "pull": True}
        return {
            "id": 1,
            "name": project.name.partition("/")[2],
            "full_name": project.name,
            "owner": _user(project.name.partition("/")[0]),
            "html_url": f"{self.web}/git/{project.name}",
            "clone_url": f"{self.web}/git/{project.name}.git",
            "ssh_url": f"ssh://git@127.0.0.1/{project.name}.git",
            "permissions": permissions,
        }

    def _pull_of(self, pull: Pull) -> dict[str, Any]:
        def side(project: str, ref: str, sha: str) -> dict[str, Any]:
            return {"label": ref, "ref": ref, "sha": sha, "repo": self._repository_of(Project(name=project))}

        return {
            "id": 1000 + pull.number,
            "number": pull.number,
            "url": f"{self.web}/git/{pull.project}/pulls/{pull.number}",
            "html_url": f"{self.web}/git/{pull.project}/pulls/{pull.number}",
            "title": pull.title,
            "body": "",
            "user": _user(pull.author),
            "state": "open" if pull.state == "open" else "closed",
            "draft": pull.draft,
            "merged": pull.state == "merged",
            "merge_commit_sha": pull.merge_commit or None,
            "merged_at": stamp(pull.updated) if pull.state == "merged" else None,
            "created_at": stamp(pull.created),
            "updated_at": stamp(pull.updated),
            "head": side(pull.head_project, pull.head_branch, pull.head),
            "base": side(pull.project, pull.base_branch, pull.base),
        }

    def _comment_of(self, comment: Comment) -> dict[str, Any]:
        return {
            "id": comment.id,
            "body": comment.body,
            "user": _user(comment.author),
            "html_url": self.web,
            "created_at": stamp(comment.created),
            "updated_at": stamp(comment.updated),
        }


def _user(name: str) -> dict[str, Any]:
    return {"id": 1, "login": name, "full_name": name}


FAKES = {
    "gitea": FakeCase(
        make=FakeGitea,
        push={"repository": {"ssh_url": "ssh://git@git.example.org:2222/infra/states.git"}},
        published=Published(file="forgejo.json"),
        lacking=(
            Lacking(take=as_a("write"), line=WHO, remedy="an administrator of the repository"),
            Lacking(take=without("comments"), line=COMMENTS, remedy="write:issue"),
            Lacking(take=without("statuses"), line=STATUSES, remedy="write:repository"),
        ),
    )
}
