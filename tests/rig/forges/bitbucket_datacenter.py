"""A stateful fake of Bitbucket Data Center's API, below a path prefix."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from forges.cases import COMMENTS, FakeCase, Lacking, Published, without
from forges.model import Comment, Happened, Pull
from forges.server import FakeForge, Refused, Reply, Request

from controller.forges.client import CheckState

_STATES = {"open": "OPEN", "merged": "MERGED", "closed": "DECLINED"}
_EVENTS = {
    "opened": "opened",
    "pushed": "from_ref_updated",
    "edited": "modified",
    "retargeted": "modified",
    "merged": "merged",
    "closed": "declined",
    "reopened": "reopened",
    "commented": "comment:added",
    "comment-edited": "comment:edited",
}
_LEVELS = {"REPO_READ": 1, "REPO_WRITE": 2, "REPO_ADMIN": 3}
_ORDER = {"none": 0, "read": 1, "write": 2, "admin": 3}


class FakeBitbucketDataCenter(FakeForge):
    prefix = "/bb/rest"
    kind = "bitbucket-datacenter"
    has_etags = False
    states = {  # noqa: RUF012
        "INPROGRESS": CheckState.RUNNING,
        "SUCCESSFUL": CheckState.SUCCESS,
        "FAILED": CheckState.FAILURE,
        "CANCELLED": CheckState.CANCELLED,
    }

    def routes(self) -> None:
        repo = "/api/latest/projects/{owner}/repos/{name}"
        pulls = f"{repo}/pull-requests"
        likes = "/comment-likes/latest/projects/{owner}/repos/{name}/pull-requests/{number}"
        self.route("GET", pulls, self._pulls)
        self.route("GET", f"{pulls}/{{number}}", self._pull_route)
        self.route("GET", f"{pulls}/{{number}}/activities", self._activities)
        self.route("POST", f"{pulls}/{{number}}/comments", self._create_comment)
        self.route("GET", f"{pulls}/{{number}}/comments/{{comment}}", self._one_comment)
        self.route("PUT", f"{pulls}/{{number}}/comments/{{comment}}", self._edit_comment)
        self.route("PUT", f"{likes}/comments/{{comment}}/reactions/{{emoticon}}", self._react)
        self.route("POST", f"{repo}/commits/{{sha}}/builds", self._status)
        self.route("GET", "/api/latest/users", self._users)

    def authorize(self, request: Request) -> None:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise Refused(401, "Authentication failed.")

    def sign(self, body: bytes) -> dict[str, str]:
        return {"x-hub-signature": "sha256=" + hmac.new(self.secret, body, hashlib.sha256).hexdigest()}

    def webhook(self, happened: Happened) -> tuple[dict[str, str], Any] | None:
        payload = {"pullRequest": self._pull_of(happened.pull), "actor": {"name": happened.actor}}
        if happened.comment is not None:
            payload["comment"] = self._comment_of(happened.comment)
        return {"x-event-key": f"pr:{_EVENTS[happened.kind]}", "x-request-id": "{delivery}"}, payload

    def _listed(self, request: Request, values: list[Any]) -> Reply:
        start, limit = request.number("start", 0), min(request.number("limit", 25), 100)
        is_last = start + limit >= len(values)
        value = {
            "start": start,
            "limit": limit,
            "size": len(values[start : start + limit]),
            "isLastPage": is_last,
            "nextPageStart": None if is_last else start + limit,
            "values": values[start : start + limit],
        }
        return Reply(value=value)

    def _pulls(self, request: Request, owner: str, name: str) -> Reply:
        pulls = [each for each in self.find_project(f"{owner}/{name}").pulls.values() if each.state == "open"]
        if request.query.get("order", "NEWEST") == "NEWEST":
            pulls.reverse()
        return self._listed(request, [self._pull_of(each) for each in pulls])

    def _pull_route(self, request: Request, owner: str, name: str, number: str) -> Reply:
        return Reply(value=self._pull_of(self.find_pull(f"{owner}/{name}", number)))

    def _activities(self, request: Request, owner: str, name: str, number: str) -> Reply:
        pull = self.find_pull(f"{owner}/{name}", number)
        found: list[dict[str, Any]] = [{"id": 1, "action": "OPENED", "createdDate": int(pull.created * 1000)}]
        for each in pull.visible():
            found.append(
                {"id": each.id, "action": "COMMENTED", "commentAction": "ADDED", "comment": self._comment_of(each)}
            )
        return self._listed(request, found[::-1])

    def _create_comment(self, request: Request, owner: str, name: str, number: str) -> Reply:
        self.may("comments")
        body = request.body["text"]
        if len(body) > 32_768:
            raise Refused(400, "too long")
        made = self.model.comment(self.find_pull(f"{owner}/{name}", number), self.model.robot, body)
        return Reply(status=201, value=self._comment_of(made))

    def _one_comment(self, request: Request, owner: str, name: str, number: str, comment: str) -> Reply:
        return Reply(value=self._comment_of(self.find_comment(f"{owner}/{name}", comment, number)[1]))

    def _edit_comment(self, request: Request, owner: str, name: str, number: str, comment: str) -> Reply:
        self.may("comments")
        _, found = self.find_comment(f"{owner}/{name}", comment, number)
        if request.body["version"] != self._version(found):
            raise Refused(409, "It was edited since")
        return Reply(value=self._comment_of(self.edited(f"{owner}/{name}", comment, request.body["text"], number)))

    def _react(self, request: Request, owner: str, name: str, number: str, comment: str, emoticon: str) -> Reply:
        _, found = self.find_comment(f"{owner}/{name}", comment, number)
        given = (self.model.robot, emoticon)
        if given not in found.given:
            found.given.append(given)
        return Reply(value={"user": _user(given[0]), "emoticon": {"shortcut": emoticon}})

    def _status(self, request: Request, owner: str, name: str, sha: str) -> Reply:
        self.may("statuses")
        project, values = self.find_project(f"{owner}/{name}"), request.body
        if not values["url"]:
            raise Refused(400, "url is needed")
        if not self.knows(project, sha):
            raise Refused(404, "Commit not found")
        self.keep_status(project, sha, values["name"], values, values["state"])
        return Reply(status=204)

    def _users(self, request: Request) -> Reply:
        project = self.find_project(
            f"{request.query['permission.1.projectKey']}/{request.query['permission.1.repositorySlug']}"
        )
        least, part = _LEVELS[request.query["permission.1"]], request.query.get("filter", "").lower()
        names = [each for each, level in project.permissions.items() if _ORDER[level] >= least and part in each.lower()]
        return self._listed(request, [_user(each) for each in names])

    def _version(self, comment: Comment) -> int:
        return int(comment.updated != comment.created)

    def _pull_of(self, pull: Pull) -> dict[str, Any]:
        def ref(project: str, branch: str, sha: str) -> dict[str, Any]:
            key, _, slug = project.partition("/")
            repository = {"slug": slug, "name": slug, "project": {"key": key}}
            return {"id": f"refs/heads/{branch}", "displayId": branch, "latestCommit": sha, "repository": repository}

        properties: dict[str, Any] = {"commentCount": len(pull.visible())}
        if pull.merge_commit:
            properties["mergeCommit"] = {"id": pull.merge_commit, "displayId": pull.merge_commit[:11]}
        return {
            "id": pull.number,
            "version": pull.version,
            "title": pull.title,
            "state": _STATES[pull.state],
            "open": pull.state == "open",
            "draft": pull.draft,
            "author": {"user": _user(pull.author), "role": "AUTHOR"},
            "fromRef": ref(pull.head_project, pull.head_branch, pull.head),
            "toRef": ref(pull.project, pull.base_branch, pull.base),
            "createdDate": int(pull.created * 1000),
            "updatedDate": int(pull.updated * 1000),
            "properties": properties,
            "links": {"self": [{"href": f"{self.web}/bb/projects/x/pull-requests/{pull.number}"}]},
        }

    def _comment_of(self, comment: Comment) -> dict[str, Any]:
        return {
            "id": comment.id,
            "version": self._version(comment),
            "text": comment.body,
            "author": _user(comment.author),
            "createdDate": int(comment.created * 1000),
            "updatedDate": int(comment.updated * 1000),
        }


def _user(name: str) -> dict[str, Any]:
    return {"name": name, "slug": name, "displayName": name, "active": True, "type": "NORMAL"}


FAKES = {
    "bitbucket-datacenter": FakeCase(
        make=FakeBitbucketDataCenter,
        push={
            "repository": {
                "slug": "states",
                "links": {"clone": [{"name": "ssh", "href": "ssh://git@git.example.org:7999/infra/states.git"}]},
            }
        },
        published=Published(
            file="bitbucket-datacenter.json",
            package="@coderabbitai/bitbucket@1.1.4",
            member="package/dist/server/openapi/openapi-typescript.d.ts",
            of_types=True,
            answers=False,
            parameters=(
                *("filter", "permission.1", "permission.1.projectKey", "permission.1.repositorySlug"),
                *("limit", "start"),
            ),
        ),
        lacking=(
            Lacking(take=without("comments"), line=COMMENTS, remedy="Repository write"),
            Lacking(take=without("statuses"), line="set build statuses in", remedy="Repository write"),
        ),
    )
}
