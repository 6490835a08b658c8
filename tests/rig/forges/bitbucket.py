"""A stateful fake of Bitbucket Cloud's API. Pull requests name commits by twelve digits; people have UUIDs."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from urllib.parse import urlencode, urlsplit

from forges.cases import COMMENTS, WHO, FakeCase, Lacking, Published, as_a, without
from forges.github import stamp
from forges.model import Comment, Happened, Pull
from forges.server import FakeForge, Refused, Reply, Request

from controller.forges.client import CheckState

_STATES = {"open": "OPEN", "merged": "MERGED", "closed": "DECLINED"}
_EVENTS = {"opened": "created", "merged": "fulfilled", "closed": "rejected", "commented": "comment_created"}


class FakeBitbucket(FakeForge):
    """A person's UUID is the name that the model has."""

    prefix = "/2.0"
    kind = "bitbucket"
    needs_admin = True
    has_reactions = False
    has_etags = False
    states = {  # noqa: RUF012
        "INPROGRESS": CheckState.RUNNING,
        "SUCCESSFUL": CheckState.SUCCESS,
        "FAILED": CheckState.FAILURE,
        "STOPPED": CheckState.CANCELLED,
    }

    def routes(self) -> None:
        repo = "/repositories/{owner}/{name}"
        pulls = f"{repo}/pullrequests"
        self.route("GET", pulls, self._pulls)
        self.route("GET", f"{pulls}/{{number}}", self._pull_route)
        self.route("GET", f"{pulls}/{{number}}/commits", self._commits)
        self.route("GET", f"{pulls}/{{number}}/comments", self._comments)
        self.route("POST", f"{pulls}/{{number}}/comments", self._create_comment)
        self.route("PUT", f"{pulls}/{{number}}/comments/{{comment}}", self._edit_comment)
        self.route("GET", f"{repo}/commit/{{sha}}", self._commit)
        self.route("POST", f"{repo}/commit/{{sha}}/statuses/build", self._status)
        self.route("GET", "/workspaces/{owner}/permissions/repositories/{name}", self._permissions)

    def authorize(self, request: Request) -> None:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise Refused(401, "Token is invalid, expired, or not supported for this endpoint.")

    def sign(self, body: bytes) -> dict[str, str]:
        return {"x-hub-signature": "sha256=" + hmac.new(self.secret, body, hashlib.sha256).hexdigest()}

    def webhook(self, happened: Happened) -> tuple[dict[str, str], Any] | None:
        event = _EVENTS.get(happened.kind, "comment_updated" if happened.comment else "updated")
        payload = {
            "repository": self._repository_of(happened.pull.project),
            "pullrequest": self._pull_of(happened.pull),
            "actor": {"uuid": happened.actor},
        }
        if happened.comment is not None:
            payload["comment"] = self._comment_of(happened.comment)
        return {"x-event-key": f"pullrequest:{event}", "x-request-uuid": "{delivery}"}, payload

    def _listed(self, request: Request, values: list[Any]) -> Reply:
        size, page = min(request.number("pagelen", 10), 100), request.number("page", 1)
        value = {"size": len(values), "page": page, "pagelen": size, "values": values[(page - 1) * size : page * size]}
        if page * size < len(values):
            query = urlencode({**request.query, "page": page + 1})
            value["next"] = urlsplit(request.url)._replace(query=query).geturl()
        return Reply(value=value)

    def _pulls(self, request: Request, owner: str, name: str) -> Reply:
        pulls = [each for each in self.find_project(f"{owner}/{name}").pulls.values() if each.state == "open"]
        if request.query.get("sort") == "-updated_on":
            pulls.sort(key=lambda each: -each.updated)
        return self._listed(request, [self._pull_of(each) for each in pulls])

    def _pull_route(self, request: Request, owner: str, name: str, number: str) -> Reply:
        return Reply(value=self._pull_of(self.find_pull(f"{owner}/{name}", number)))

    def _commits(self, request: Request, owner: str, name: str, number: str) -> Reply:
        pull = self.find_pull(f"{owner}/{name}", number)
        return self._listed(request, [{"hash": each, "type": "commit"} for each in reversed(pull.commits)])

    def _commit(self, request: Request, owner: str, name: str, sha: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        known = [*project.branches.values(), *(each.merge_commit for each in project.pulls.values())]
        found = next((each for each in known if each.startswith(sha) and each), None)
        if found is None:
            raise Refused(404, "Commit not found")
        return Reply(value={"hash": found, "type": "commit"})

    def _comments(self, request: Request, owner: str, name: str, number: str) -> Reply:
        pull = self.find_pull(f"{owner}/{name}", number)
        comments = [{**self._comment_of(each), "deleted": each.deleted} for each in pull.comments]
        if request.query.get("sort") == "-created_on":
            comments.reverse()
        return self._listed(request, comments)

    def _create_comment(self, request: Request, owner: str, name: str, number: str) -> Reply:
        self.may("comments")
        body = request.body["content"]["raw"]
        if len(body) > 32_768:
            raise Refused(400, "too long")
        made = self.model.comment(self.find_pull(f"{owner}/{name}", number), self.model.robot, body)
        return Reply(status=201, value=self._comment_of(made))

    def _edit_comment(self, request: Request, owner: str, name: str, number: str, comment: str) -> Reply:
        return Reply(
            value=self._comment_of(self.edited(f"{owner}/{name}", comment, request.body["content"]["raw"], number))
        )

    def _status(self, request: Request, owner: str, name: str, sha: str) -> Reply:
        self.may("statuses")
        project, values = self.find_project(f"{owner}/{name}"), request.body
        if not self.knows(project, sha):
            raise Refused(404, "Commit not found")
        if not values["url"] or len(values["key"]) > 40:
            raise Refused(400, "Bad request")
        self.keep_status(project, sha, values["name"], values, values["state"])
        return Reply(status=201, value={"type": "build", **values})

    def _permissions(self, request: Request, owner: str, name: str) -> Reply:
        project = self.find_project(f"{owner}/{name}")
        if project.permissions[self.model.robot] != "admin":
            raise Refused(403, "You must have admin permission")
        wanted = request.query["q"].removeprefix('user.uuid="').removesuffix('"')
        values = [
            {"type": "repository_permission", "permission": level, "user": {"uuid": user, "nickname": "same"}}
            for user, level in project.permissions.items()
            if user == wanted
        ]
        return self._listed(request, values)

    def _repository_of(self, project: str) -> dict[str, Any]:
        return {
            "type": "repository",
            "full_name": project,
            "name": project.partition("/")[2],
            "links": {"html": {"href": f"{self.web}/{project}"}},
        }

    def _pull_of(self, pull: Pull) -> dict[str, Any]:
        def end(project: str, branch: str, sha: str) -> dict[str, Any]:
            commit = {"hash": sha[:12]}
            return {"branch": {"name": branch}, "commit": commit, "repository": self._repository_of(project)}

        return {
            "type": "pullrequest",
            "id": pull.number,
            "title": pull.title,
            "state": _STATES[pull.state],
            "draft": pull.draft,
            "author": {"type": "user", "uuid": pull.author, "nickname": "same"},
            "source": end(pull.head_project, pull.head_branch, pull.head),
            "destination": end(pull.project, pull.base_branch, pull.base),
            "merge_commit": {"hash": pull.merge_commit[:12]} if pull.merge_commit else None,
            "created_on": stamp(pull.created),
            "updated_on": stamp(pull.updated),
            "links": {"html": {"href": f"{self.web}/{pull.project}/pull-requests/{pull.number}"}},
        }

    def _comment_of(self, comment: Comment) -> dict[str, Any]:
        return {
            "type": "pullrequest_comment",
            "id": comment.id,
            "content": {"raw": "" if comment.deleted else comment.body, "markup": "markdown"},
            "user": {"type": "user", "uuid": comment.author, "nickname": "same"},
            "created_on": stamp(comment.created),
            "updated_on": stamp(comment.updated),
            "deleted": comment.deleted,
        }


FAKES = {
    "bitbucket": FakeCase(
        make=FakeBitbucket,
        push={
            "repository": {
                "full_name": "infra/states",
                "links": {"html": {"href": "https://git.example.org/infra/states"}},
            }
        },
        published=Published(
            file="bitbucket.json",
            package="@coderabbitai/bitbucket@1.1.4",
            member="package/dist/cloud/openapi/openapi-typescript.d.ts",
            of_types=True,
            parameters=("page", "pagelen", "sort", "q"),
        ),
        lacking=(
            Lacking(take=as_a("write"), line=WHO, remedy="read:permission:bitbucket"),
            Lacking(take=without("comments"), line=COMMENTS, remedy="write:pullrequest:bitbucket"),
            Lacking(take=without("statuses"), line="set build statuses in", remedy="write:repository:bitbucket"),
        ),
    )
}
