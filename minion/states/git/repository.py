"""A clone, as the states of git see it: what is asked of it and done to it, and its tags.

Called by `minion.states.git.state`. Git runs with the safe defaults of the user that it runs as.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Completed, Machine, Plan, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Repo:
    """A clone, and whom git runs as."""

    url: str
    target: str
    user: str | None
    env: Mapping[str, str]

    def argv(self, *words: str) -> list[str]:
        """A command in the clone. The owner is who the state says, so git need not be afraid of another."""
        return ["git", "-c", f"safe.directory={self.target}", "-C", self.target, *words]

    def ask(self, machine: Reader, *words: str) -> str | None:
        """What a command that only reads says; None when it fails."""
        done = machine.query(self.argv(*words), env=self.env)
        return done.stdout.strip() if done.returncode == 0 else None

    def do(self, machine: Machine, argv: Sequence[str]) -> Completed:
        """Run a command; StateFailed when it fails."""
        done = machine.run(argv, env=self.env, runas=self.user)
        if done.returncode != 0:
            raise StateFailed(f"Failed: {_shown(argv)}\n{told(done.stderr)}")
        return done


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """What is to be done about tags where the revision is right already."""

    new: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    @staticmethod
    def compared(machine: Reader, repo: Repo, pattern: str, *, sync: bool) -> Tags:
        """What the remote has besides, and (`sync`) what it has no more."""
        asked = machine.query(["git", "ls-remote", "--tags", "--refs", repo.url, f"refs/tags/{pattern}"], env=repo.env)
        if asked.returncode != 0:
            return Tags()  # the revision is right: an error of the remote does not matter
        remote = {line.rpartition("\trefs/tags/")[2] for line in asked.stdout.splitlines()}
        local = set((repo.ask(machine, "tag", "--list", pattern) or "").splitlines())
        return Tags(new=tuple(sorted(remote - local)), deleted=tuple(sorted(local - remote)) if sync else ())

    def plan(self, repo: Repo, remote: str) -> Plan:
        """Fetch those that are new, take away those that are gone."""

        def fetch(machine: Machine) -> None:
            refspecs = [f"+refs/tags/{one}:refs/tags/{one}" for one in self.new]
            repo.do(machine, repo.argv("fetch", remote, *refspecs))

        def delete(machine: Machine) -> None:
            repo.do(machine, repo.argv("tag", "-d", "--", *self.deleted))

        changes = []
        if self.new:
            changes.append(Change(key="new_tags", reported=list(self.new), act=fetch))
        if self.deleted:
            changes.append(Change(key="deleted_tags", reported=list(self.deleted), act=delete))
        what = [*(["fetched"] if self.new else []), *(["removed"] if self.deleted else [])]
        return Plan(
            changes=tuple(changes),
            comment=f"Repository {repo.target} is up-to-date",
            pending=f"Tags of {repo.target} would be {' and '.join(what)}",
            done=f"Tags of {repo.target} were {' and '.join(what)}",
        )


def _shown(argv: Sequence[str]) -> str:
    return without_password(" ".join(argv))


def told(stderr: str) -> str:
    """What git says of a failure, without passwords and without the time that a connection took (libcurl's message).

    With that time a prediction would differ from its act.
    """
    return re.sub(r" after \d+ ms(?=:)", "", without_password(stderr.strip()))


def without_password(text: str) -> str:
    """The text with no password in its URLs."""
    return re.sub(r"(https?://[^/@:\s]+):[^@\s]+@", r"\1:XXXXX@", text)
