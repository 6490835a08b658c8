"""What all fakes of forges know: projects, pull requests, comments, checks, permissions. No HTTP.

An operation changes the model and tells the listeners of it; the fakes make webhooks of that. All under one lock.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def new_commit() -> str:
    return secrets.token_hex(20)


@dataclass(kw_only=True)
class Reactions:
    given: list[tuple[str, str]] = field(default_factory=list)
    """(who, content as the forge calls it)."""


@dataclass(kw_only=True)
class Comment(Reactions):
    id: int
    author: str
    body: str
    created: float
    updated: float
    hidden: bool = False
    deleted: bool = False


@dataclass(kw_only=True)
class Pull:
    project: str
    number: int
    title: str
    author: str
    head: str
    head_branch: str
    head_project: str
    base_branch: str
    base: str
    updated: float
    created: float
    draft: bool = False
    state: str = "open"
    """open, merged, closed."""
    merge_commit: str = ""
    comments: list[Comment] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    version: int = 0

    @property
    def from_fork(self) -> bool:
        return self.head_project != self.project

    def visible(self) -> list[Comment]:
        return [each for each in self.comments if not each.deleted]


@dataclass(kw_only=True)
class Check:
    id: int
    head: str
    name: str
    values: dict[str, Any]
    """As it was sent, later fields over earlier ones."""
    annotations: list[dict[str, Any]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    """Its states, as the forge calls them."""


@dataclass(kw_only=True)
class Project:
    name: str
    branches: dict[str, str] = field(default_factory=dict)
    permissions: dict[str, str] = field(default_factory=dict)
    """User -> none, read, write, admin."""
    pulls: dict[int, Pull] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Happened:
    """What a webhook tells."""

    kind: str
    """opened, pushed, edited, retargeted, commented, comment-edited, merged, closed, reopened."""
    pull: Pull
    actor: str
    comment: Comment | None = None
    before: str = ""


class ForgeModel:
    """The state of one forge."""

    def __init__(self, robot: str = "saltern[bot]") -> None:
        self.robot = robot
        """Whose token the controller has."""
        self.robot_level = "write"
        """What it may do in projects made from now on."""
        self.projects: dict[str, Project] = {}
        self.lock = threading.RLock()
        self.listeners: list[Callable[[Happened], None]] = []
        self._ids = itertools.count(1001)
        self._last = 0.0

    def now(self) -> float:
        """Seconds since the epoch, whole and each later than the last: forges give no fractions."""
        self._last = max(float(int(time.time())), self._last + 1)
        return self._last

    def new_id(self) -> int:
        return next(self._ids)

    def project(self, name: str, *, branches: dict[str, str] | None = None, **permissions: str) -> Project:
        """Make a project with a branch main and people."""
        with self.lock:
            made = Project(name=name, branches=branches or {"main": new_commit()}, permissions=dict(permissions))
            made.permissions.setdefault(self.robot, self.robot_level)
            self.projects[name] = made
            return made

    def find(self, name: str) -> Project | None:
        return next((each for key, each in self.projects.items() if key.lower() == name.lower()), None)

    def open(
        self,
        project: str,
        *,
        head: str = "",
        branch: str = "topic",
        base: str = "main",
        author: str = "alice",
        title: str = "A change",
        fork: str = "",
        draft: bool = False,
    ) -> Pull:
        with self.lock:
            found = self.projects[project]
            now, head = self.now(), head or new_commit()
            number = max(found.pulls, default=0) + 1
            pull = Pull(
                project=project,
                number=number,
                title=title,
                author=author,
                head=head,
                head_branch=branch,
                head_project=fork or project,
                base_branch=base,
                base=found.branches[base],
                created=now,
                updated=now,
                draft=draft,
                commits=[head],
            )
            found.pulls[number] = pull
            if not fork:
                found.branches[branch] = head
        self._tell("opened", pull, author)
        return pull

    def push(self, pull: Pull, head: str = "", *, force: bool = False) -> str:
        """A new head; with `force` it does not stand on the old one."""
        with self.lock:
            before, pull.head = pull.head, head or new_commit()
            pull.commits = [pull.head] if force else [*pull.commits, pull.head]
            if not pull.from_fork:
                self.projects[pull.project].branches[pull.head_branch] = pull.head
            self.touch(pull)
        self._tell("pushed", pull, pull.author, before=before)
        return pull.head

    def retarget(self, pull: Pull, base: str) -> None:
        with self.lock:
            pull.base_branch, pull.base = base, self.projects[pull.project].branches[base]
            self.touch(pull)
        self._tell("retargeted", pull, pull.author)

    def rename_branch(self, project: str, old: str, new: str) -> None:
        """The pull requests into it follow, and no webhook says so."""
        with self.lock:
            found = self.projects[project]
            found.branches[new] = found.branches.pop(old)
            for pull in found.pulls.values():
                if pull.base_branch == old and pull.state == "open":
                    pull.base_branch = new
                    self.touch(pull)

    def ready(self, pull: Pull) -> None:
        """It is no draft any more."""
        with self.lock:
            pull.draft = False
            self.touch(pull)
        self._tell("edited", pull, pull.author)

    def edit_title(self, pull: Pull, title: str) -> None:
        with self.lock:
            pull.title = title
            self.touch(pull)
        self._tell("edited", pull, pull.author)

    def comment(self, pull: Pull, author: str, body: str) -> Comment:
        with self.lock:
            now = self.now()
            made = Comment(id=self.new_id(), author=author, body=body, created=now, updated=now)
            pull.comments.append(made)
            self.touch(pull)
        self._tell("commented", pull, author, comment=made)
        return made

    def edit_comment(self, pull: Pull, comment: Comment, body: str) -> None:
        with self.lock:
            comment.body, comment.updated = body, self.now()
            self.touch(pull)
        self._tell("comment-edited", pull, comment.author, comment=comment)

    def delete_comment(self, pull: Pull, comment: Comment) -> None:
        with self.lock:
            comment.deleted = True
            self.touch(pull)

    def merge(self, pull: Pull, commit: str = "", *, method: str = "merge") -> str:
        """`merge`, `squash` and `rebase` make commits of their own; `fast-forward` takes the head as it is."""
        with self.lock:
            pull.merge_commit = pull.head if method == "fast-forward" else commit or new_commit()
            pull.state = "merged"
            self.projects[pull.project].branches[pull.base_branch] = pull.merge_commit
            self.touch(pull)
        self._tell("merged", pull, "bob")
        return pull.merge_commit

    def close(self, pull: Pull) -> None:
        with self.lock:
            pull.state = "closed"
            self.touch(pull)
        self._tell("closed", pull, pull.author)

    def reopen(self, pull: Pull) -> None:
        with self.lock:
            pull.state = "open"
            self.touch(pull)
        self._tell("reopened", pull, pull.author)

    def checks(self, project: str, head: str) -> dict[str, Check]:
        """Name -> the newest check or status of a commit."""
        with self.lock:
            return {each.name: each for each in self.projects[project].checks if each.head == head}

    def touch(self, pull: Pull) -> None:
        pull.updated = self.now()
        pull.version += 1

    def _tell(self, kind: str, pull: Pull, actor: str, comment: Comment | None = None, before: str = "") -> None:
        for listener in self.listeners:
            listener(Happened(kind=kind, pull=pull, actor=actor, comment=comment, before=before))
