"""A stateful fake of Azure DevOps Server's API: a collection below a path prefix."""

from __future__ import annotations

import base64
from typing import Any

from forges.cases import COMMENTS, STATUSES, FakeCase, Lacking, Published, without
from forges.github import stamp
from forges.model import Comment, Happened, Project, Pull
from forges.server import FakeForge, Refused, Reply, Request

from controller.forges.client import CheckState, Permission

_STATES = {"open": "active", "merged": "completed", "closed": "abandoned"}


class FakeAzureDevOps(FakeForge):
    """People who may write are members of the team; with `admin` its administrators."""

    prefix = "/tfs/Main"
    kind = "azure-devops"
    has_reactions = False
    has_etags = False
    has_marks = False
    of_readers = Permission.NONE
    states = {  # noqa: RUF012
        "pending": CheckState.RUNNING,
        "succeeded": CheckState.SUCCESS,
        "failed": CheckState.FAILURE,
        "error": CheckState.CANCELLED,
        "notApplicable": CheckState.NEUTRAL,
    }

    def routes(self) -> None:
        repo = "/{owner}/_apis/git/repositories/{name}"
        threads = f"{repo}/pullRequests/{{number}}/threads"
        self.route("GET", f"{repo}/pullrequests", self._pulls)
        self.route("GET", f"{repo}/pullrequests/{{number}}", self._pull_route)
        self.route("GET", threads, self._threads)
        self.route("POST", threads, self._create_thread)
        self.route("GET", f"{threads}/{{thread}}/comments/{{comment}}", self._one_comment)
        self.route("PATCH", f"{threads}/{{thread}}/comments/{{comment}}", self._edit_comment)
        self.route("POST", f"{threads}/{{thread}}/comments/{{comment}}/likes", self._like)
        self.route("POST", f"{repo}/commits/{{sha}}/statuses", self._status)
        self.route("GET", "/_apis/projects/{owner}/teams", self._teams)
        self.route("GET", "/_apis/projects/{owner}/teams/{team}/members", self._members)

    def authorize(self, request: Request) -> None:
        if "api-version" not in request.query:
            raise Refused(400, "No api-version was supplied")
        expected = "Basic " + base64.b64encode(f":{self.token}".encode()).decode()
        if request.headers.get("authorization") != expected:
            refused = Refused(203)
            refused.reply = Reply(status=203, raw=b"<html>Sign in</html>", headers={"content-type": "text/html"})
            raise refused

    def id_of(self, comment: Comment) -> str:
        return f"{comment.id}:1"

    def sign(self, body: bytes) -> dict[str, str]:
        pair = base64.b64encode(b"saltern:" + self.secret).decode()
        return {"authorization": f"Basic {pair}"}

    def webhook(self, happened: Happened) -> tuple[dict[str, str], Any] | None:
        pull = self._pull_of(happened.pull)
        if happened.comment is not None:
            resource = {"comment": self._comment_of(happened.comment), "pullRequest": pull}
            event = "ms.vss-code.git-pullrequest-comment-event"
            return {}, {"id": str(self.model.new_id()), "eventType": event, "resource": resource}
        event = {"opened": "created", "merged": "merged"}.get(happened.kind, "updated")
        return {}, {"id": str(self.model.new_id()), "eventType": f"git.pullrequest.{event}", "resource": pull}

    def _pulls(self, request: Request, owner: str, name: str) -> Reply:
        pulls = [each for each in self.find_project(f"{owner}/{name}").pulls.values() if each.state == "open"]
        skip, top = request.number("$skip", 0), request.number("$top", 101)
        values = [self._pull_of(each) for each in pulls[::-1][skip : skip + top]]
        return Reply(value={"count": len(values), "value": values})

    def _pull_route(self, request: Request, owner: str, name: str, number: str) -> Reply:
        return Reply(value=self._pull_of(self.find_pull(f"{owner}/{name}", number)))

    def _threads(self, request: Request, owner: str, name: str, number: str) -> Reply:
        pull = self.find_pull(f"{owner}/{name}", number)
        system = {"id": 1, "comments": [{"id": 1, "commentType": "system", "publishedDate": stamp(0), "content": "x"}]}
        threads = [system, {"id": 2}, *(self._thread_of(each) for each in pull.comments)]
        return Reply(value={"count": len(threads), "value": threads})

    def _create_thread(self, request: Request, owner: str, name: str, number: str) -> Reply:
        self.may("comments")
        pull = self.find_pull(f"{owner}/{name}", number)
        (given,) = request.body["comments"]
        assert request.body["status"] == "closed", "an open thread keeps the pull request from being completed"
        made = self.model.comment(pull, self.model.robot, given["content"])
        return Reply(value=self._thread_of(made))

    def _one_comment(self, request: Request, owner: str, name: str, number: str, thread: str, comment: str) -> Reply:
        for each in self.find_pull(f"{owner}/{name}", number).comments:
            if str(each.id) == thread:
                return Reply(value=self._comment_of(each))
        raise Refused(404)

    def _edit_comment(self, request: Request, owner: str, name: str, number: str, thread: str, comment: str) -> Reply:
        return Reply(value=self._comment_of(self.edited(f"{owner}/{name}", thread, request.body["content"], number)))

    def _like(self, request: Request, owner: str, name: str, number: str, thread: str, comment: str) -> Reply:
        self.find_comment(f"{owner}/{name}", thread, number)
        return Reply(status=200)

    def _status(self, request: Request, owner: str, name: str, sha: str) -> Reply:
        self.may("statuses")
        project, values = self.find_project(f"{owner}/{name}"), request.body
        if not self.knows(project, sha):
            raise Refused(404, "Commit not found")
        context = values["context"]
        shown = f"{context['genre']}/{context['name']}"
        self.keep_status(project, sha, shown, values, values["state"])
        return Reply(value={"id": 1, **values})

    def _teams(self, request: Request, owner: str) -> Reply:
        self._find_collection(owner)
        return Reply(value={"count": 1, "value": [{"id": "team-1", "name": f"{owner} Team"}]})

    def _members(self, request: Request, owner: str, team: str) -> Reply:
        values = [
            {"identity": {"id": name, "uniqueName": name, "displayName": name}, "isTeamAdmin": level == "admin"}
            for project in self._find_collection(owner)
            for name, level in project.permissions.items()
            if level in ("write", "admin")
        ]
        return Reply(value={"count": len(values), "value": values})

    def _find_collection(self, owner: str) -> list[Project]:
        found = [each for each in self.model.projects.values() if each.name.lower().startswith(f"{owner.lower()}/")]
        if not found or "read" not in self.rights:
            raise Refused(404)
        return found

    def _pull_of(self, pull: Pull) -> dict[str, Any]:
        owner, _, name = pull.project.partition("/")
        found = {
            "pullRequestId": pull.number,
            "status": _STATES[pull.state],
            "title": pull.title,
            "isDraft": pull.draft,
            "createdBy": {"id": pull.author, "uniqueName": pull.author, "displayName": pull.author},
            "creationDate": stamp(pull.created),
            "sourceRefName": f"refs/heads/{pull.head_branch}",
            "targetRefName": f"refs/heads/{pull.base_branch}",
            "lastMergeSourceCommit": {"commitId": pull.head},
            "lastMergeTargetCommit": {"commitId": pull.base},
            "lastMergeCommit": {"commitId": pull.merge_commit or "f" * 40},
            "repository": {"id": "r", "name": name, "project": {"id": "p", "name": owner}},
        }
        if pull.from_fork:
            found["forkSource"] = {"name": f"refs/heads/{pull.head_branch}", "repository": {"name": pull.head_project}}
        return found

    def _thread_of(self, comment: Comment) -> dict[str, Any]:
        return {"id": comment.id, "comments": [self._comment_of(comment)], "isDeleted": False, "status": "closed"}

    def _comment_of(self, comment: Comment) -> dict[str, Any]:
        return {
            "id": 1,
            "parentCommentId": 0,
            "author": {"id": comment.author, "uniqueName": comment.author, "displayName": comment.author},
            "content": "" if comment.deleted else comment.body,
            "publishedDate": stamp(comment.created),
            "lastUpdatedDate": stamp(comment.updated),
            "lastContentUpdatedDate": stamp(comment.updated),
            "commentType": "text",
            "isDeleted": comment.deleted,
        }


FAKES = {
    "azure-devops": FakeCase(
        make=FakeAzureDevOps,
        push={
            "id": "03c164c2",
            "eventType": "git.push",
            "resource": {"repository": {"name": "states", "remoteUrl": "https://git.example.org/infra/states"}},
        },
        published=Published(
            file="azure-git.json",
            before="/{organization}",
            undescribed="^GET /_apis/projects/",  # of another description than that of git
        ),
        lacking=(
            Lacking(take=without("comments"), line=COMMENTS, remedy="Code: read & write"),
            Lacking(take=without("statuses"), line=STATUSES, remedy="Code: status"),
        ),
    )
}
