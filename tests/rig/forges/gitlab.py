"""A stateful fake of GitLab's API."""

from __future__ import annotations

from typing import Any

from forges.cases import COMMENTS, STATUSES, FakeCase, Lacking, Published, as_a
from forges.github import stamp
from forges.model import Comment, Happened, Pull
from forges.server import FakeForge, Refused, Reply, Request

from controller.forges.client import CheckState

_LEVELS = {"none": 0, "read": 20, "write": 30, "admin": 40}
_STATES = {"open": "opened"}
_ACTIONS = {
    "opened": "open",
    "pushed": "update",
    "edited": "update",
    "retargeted": "update",
    "merged": "merge",
    "closed": "close",
    "reopened": "reopen",
}


class FakeGitLab(FakeForge):
    prefix = "/api/v4"
    kind = "gitlab"
    tells_scopes = True
    states = {  # noqa: RUF012
        "running": CheckState.RUNNING,
        "success": CheckState.SUCCESS,
        "failed": CheckState.FAILURE,
        "canceled": CheckState.CANCELLED,
    }

    def routes(self) -> None:
        self.scopes = ["api"]
        project, request = "/projects/{project}", "/projects/{project}/merge_requests"
        self.route("GET", "/user", lambda _: Reply(value=self._user(self.model.robot)))
        self.route("GET", "/users", self._users)
        self.route("GET", "/personal_access_tokens/self", self._token)
        self.route("GET", project, self._project_route)
        self.route("GET", f"{project}/members/all/{{user}}", self._member)
        self.route("GET", request, self._requests)
        self.route("GET", f"{request}/{{number}}", self._request)
        self.route("GET", f"{request}/{{number}}/notes", self._notes)
        self.route("POST", f"{request}/{{number}}/notes", self._create_note)
        self.route("PUT", f"{request}/{{number}}/notes/{{note}}", self._edit_note)
        self.route("POST", f"{request}/{{number}}/notes/{{note}}/award_emoji", self._award)
        self.route("POST", f"{project}/statuses/{{sha}}", self._status)

    def authorize(self, request: Request) -> None:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise Refused(401, "401 Unauthorized")

    def sign(self, body: bytes) -> dict[str, str]:
        return {"x-gitlab-token": self.secret.decode()}

    def webhook(self, happened: Happened) -> tuple[dict[str, str], Any] | None:
        pull = happened.pull
        headers = {"x-gitlab-event-uuid": "{delivery}", "idempotency-key": "{delivery}"}
        project = {"path_with_namespace": pull.project, "git_http_url": f"{self.web}/{pull.project}.git"}
        if happened.comment is not None:
            payload = {
                "object_kind": "note",
                "project": project,
                "object_attributes": {"id": happened.comment.id, "note": happened.comment.body},
                "merge_request": {"iid": pull.number, "id": 1000 + pull.number},
            }
            return {"x-gitlab-event": "Note Hook", **headers}, payload
        attributes = {"iid": pull.number, "id": 1000 + pull.number, "action": _ACTIONS[happened.kind]}
        payload = {"object_kind": "merge_request", "project": project, "object_attributes": attributes}
        return {"x-gitlab-event": "Merge Request Hook", **headers}, payload

    def _users(self, request: Request) -> Reply:
        people = {name for project in self.model.projects.values() for name in project.permissions}
        wanted = request.query["username"].lower()
        return Reply(value=[self._user(each) for each in people if each.lower() == wanted])

    def _token(self, request: Request) -> Reply:
        return Reply(
            value={"id": 4, "name": "saltern", "scopes": self.scopes, "active": True, "expires_at": "2030-01-01"}
        )

    def _project_route(self, request: Request, project: str) -> Reply:
        found = self.find_project(project)
        level = _LEVELS[found.permissions[self.model.robot]]
        access = {"access_level": level, "notification_level": 3}
        return Reply(
            value={
                "id": self._id(found.name),
                "path_with_namespace": found.name,
                "permissions": {"project_access": access, "group_access": None},
            }
        )

    def _member(self, request: Request, project: str, user: str) -> Reply:
        found = self.find_project(project)
        name = next((each for each in found.permissions if str(self._id(each)) == user), None)
        if name is None:
            raise Refused(404, "404 Not found")
        return Reply(value={**self._user(name), "access_level": _LEVELS[found.permissions[name]]})

    def _requests(self, request: Request, project: str) -> Reply:
        pulls = [each for each in self.find_project(project).pulls.values() if each.state == "open"]
        pulls.sort(key=lambda each: each.updated, reverse=request.query["sort"] == "desc")
        return self.paged(request, [self._pull_of(each) for each in pulls], default=20)

    def _request(self, request: Request, project: str, number: str) -> Reply:
        return Reply(value=self._pull_of(self.find_pull(project, number)))

    def _notes(self, request: Request, project: str, number: str) -> Reply:
        notes = [self._note_of(each) for each in self.find_pull(project, number).visible()]
        notes.insert(
            0, {**self._note_of(Comment(id=1, author="alice", body="assigned", created=0, updated=0)), "system": True}
        )
        if request.query.get("sort", "desc") == "desc":
            notes.reverse()
        return self.paged(request, notes, default=20)

    def _create_note(self, request: Request, project: str, number: str) -> Reply:
        self.may("comments")
        made = self.model.comment(self.find_pull(project, number), self.model.robot, request.body["body"])
        return Reply(status=201, value=self._note_of(made))

    def _edit_note(self, request: Request, project: str, number: str, note: str) -> Reply:
        return Reply(value=self._note_of(self.edited(project, note, request.body["body"], number)))

    def _award(self, request: Request, project: str, number: str, note: str) -> Reply:
        self.may("comments")
        _, found = self.find_comment(project, note, number)
        given = (self.model.robot, request.body["name"])
        if given in found.given:
            raise Refused(404, "404 Award Emoji Name has already been taken Not Found")
        found.given.append(given)
        return Reply(status=201, value={"id": 1, "name": given[1], "user": self._user(given[0])})

    def _status(self, request: Request, project: str, sha: str) -> Reply:
        found, values = self.find_project(project), request.body
        self.may("statuses")
        if not self.knows(found, sha):
            raise Refused(404, "404 Commit Not Found")
        old = {each.name: each for each in found.checks if each.head == sha}.get(values["name"])
        if old is not None and old.history[-1] == values["state"]:
            raise Refused(
                400, f"Cannot transition status via :run from :{values['state']} (Reason(s): Status cannot transition)"
            )
        self.keep_status(found, sha, values["name"], values, values["state"])
        shown = {key: values.get(key) for key in ("name", "description", "target_url")}
        return Reply(status=201, value={"id": 1, "sha": sha, "status": values["state"], **shown})

    def _id(self, name: str) -> int:
        return int.from_bytes(name.lower().encode()[:6].ljust(6, b"x"))

    def _user(self, name: str) -> dict[str, Any]:
        return {
            "id": self._id(name),
            "username": name,
            "name": name,
            "state": "active",
            "web_url": f"{self.web}/{name}",
        }

    def _pull_of(self, pull: Pull) -> dict[str, Any]:
        is_fast_forward = pull.merge_commit == pull.head
        return {
            "id": 1000 + pull.number,
            "iid": pull.number,
            "project_id": self._id(pull.project),
            "title": pull.title,
            "state": _STATES.get(pull.state, pull.state),
            "draft": pull.draft,
            "author": self._user(pull.author),
            "sha": pull.head,
            "merge_commit_sha": None if is_fast_forward else pull.merge_commit or None,
            "squash_commit_sha": None,
            "source_branch": pull.head_branch,
            "target_branch": pull.base_branch,
            "source_project_id": self._id(pull.head_project),
            "target_project_id": self._id(pull.project),
            "created_at": stamp(pull.created),
            "updated_at": stamp(pull.updated),
            "web_url": f"{self.web}/{pull.project}/-/merge_requests/{pull.number}",
        }

    def _note_of(self, comment: Comment) -> dict[str, Any]:
        return {
            "id": comment.id,
            "body": comment.body,
            "author": self._user(comment.author),
            "created_at": stamp(comment.created),
            "updated_at": stamp(comment.updated),
            "system": False,
            "noteable_type": "MergeRequest",
        }


FAKES = {
    "gitlab": FakeCase(
        make=FakeGitLab,
        push={"project": {"git_ssh_url": "git@git.example.org:infra/states.git", "name": "States"}},
        published=Published(
            file="gitlab.json",
            before="/api/v4",
            answers=False,
            undescribed="^GET /user$|/notes(/[0-9]+)?$",  # later versions describe notes
        ),
        lacking=(
            Lacking(
                take=lambda fake: setattr(fake, "scopes", ["read_api"]),
                line=COMMENTS,
                remedy="has the scopes read_api, and needs api",
            ),
            Lacking(
                take=as_a("read"),
                line=STATUSES,
                remedy="the role of the token is 20, and Developer (30) is needed",
            ),
        ),
    )
}
