"""A controller with a forge of each kind, each with a repository of its own, and what people do there.

What happens, happens on all forges at the same time: what one costs, all cost together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forges.all_forges import FAKES
from rig import PATIENCE, Rig

TREE = Path(__file__).parents[1] / "scenarios/tree"
CHECK = "saltern/preview (base)"
OFTEN, NEVER = 1.0, 86_400.0
"""Seconds between two polls."""


@dataclass
class Repository:
    """A forge and its repository: one state, whose content is a number."""

    name: str
    fake: Any
    rig: Rig
    folder: Path
    polled: bool
    pull: Any = None
    first: str = ""
    """Id of our comment."""
    asked: Any = None

    @property
    def project(self) -> str:
        return f"Org/{self.name}"

    @property
    def sls(self) -> str:
        return f"of_{self.name.replace('-', '_')}"

    def git(self, *words: str) -> str:
        return self.rig.git(*words, cwd=self.folder / "work")

    def make(self) -> None:
        self.folder.mkdir()
        self.rig.git("init", "-q", "--bare", "--initial-branch=main", "remote.git", cwd=self.folder)
        self.rig.git("init", "-q", "--initial-branch=main", "work", cwd=self.folder)
        self.git("remote", "add", "origin", "../remote.git")
        self.commit(0, "main")

    def commit(self, number: int, branch: str) -> str:
        self.git("checkout", "-q", "-B", branch)
        name = "{{ grains['root'] }}/" + self.name
        text = (
            f"{self.sls}:\n  file.managed:\n    - name: {name}\n    - makedirs: True\n    - contents: number {number}\n"
        )
        (self.folder / "work" / f"{self.sls}.sls").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"number {number}")
        self.git("push", "-q", "--force", "origin", f"HEAD:{branch}")
        return self.git("rev-parse", "HEAD")

    def open(self, number: int) -> None:
        self.pull = self.fake.model.open(self.project, head=self.commit(number, "topic"))

    def push(self, number: int) -> None:
        self.fake.model.push(self.pull, self.commit(number, "topic"))

    def merge(self) -> None:
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", "Merge", self.pull.head)
        self.git("push", "-q", "origin", "main")
        self.fake.model.merge(self.pull, self.git("rev-parse", "HEAD"))

    def ours(self) -> list[Any]:
        return [each for each in self.pull.visible() if each.author == self.fake.model.robot]

    def has_report(self, count: int = 1) -> bool:
        """Whether our comment is about the head of now, and its check is done."""
        ours, check = self.ours(), self.fake.model.checks(self.project, self.pull.head).get(CHECK)
        said = len(ours) == count and f"→ `{self.pull.head[:8]}`" in ours[0].body
        return said and check is not None and self.fake.outcome(check).value == "success"


class AllForges:
    """A controller with a forge of each of these kinds.

    Args:
        folder: where everything goes.
        kinds: of `FAKES`.
        polled: those that send no webhooks.
        written: kind -> its entry in `forges` as a configuration has it; its address and access are ours.
        policy: the tree's saltern.yaml; empty: that of the scenarios.
    """

    def __init__(
        self,
        folder: Path,
        kinds: Sequence[str],
        polled: Sequence[str] = (),
        *,
        written: Mapping[str, Mapping[str, Any]] | None = None,
        policy: str = "",
    ) -> None:
        self._written = written or {}
        self._policy = policy
        self.rig = Rig(folder, {"web1": {"roles": ["web"]}}, TREE, {"hook_secret": "hook-secret"}, forked=True)
        self.of = {
            kind: Repository(kind, FAKES[kind](), self.rig, folder / kind, polled=kind in polled) for kind in kinds
        }

    def start(self) -> None:
        rig = self.rig
        for each in self.of.values():
            each.fake.__enter__()
            each.fake.model.project(each.project, alice="write", max="write")
            each.make()
        own = {str(rig.remote): [{"name": "states"}, {"root": "states"}, {"base": "main"}]}
        remotes = [{str(each.folder / "remote.git"): [{"name": kind}]} for kind, each in self.of.items()]
        forges = [self._entry(each) for each in self.of.values()]
        rig.configure(gitfs_remotes=[own, *remotes], gitfs_saltenv_whitelist=["base"], forges=forges)
        rig.up()
        top = rig.work / "states" / "top.sls"
        top.write_text(
            top.read_text().replace("    - app\n", "".join(f"    - {each.sls}\n" for each in self.of.values()))
        )
        if self._policy:
            (rig.work / "states" / "saltern.yaml").write_text(self._policy)
        rig.wait_applied(rig.push("all"))
        for each in self.of.values():
            if not each.polled:
                each.fake.hook = rig.http + "/hook"

    def _entry(self, of: Repository) -> dict[str, Any]:
        names = {"name": of.name, "kind": of.fake.kind, "api": of.fake.api, "projects": {of.name: of.project}}
        written = self._written.get(of.name, {})
        return {**written, **names, **of.fake.access, "poll_interval": OFTEN if of.polled else NEVER}

    def stop(self) -> None:
        self.rig.stop_all()
        for each in self.of.values():
            each.fake.__exit__()

    def wait(self, what: str, holds: Callable[[Repository], object]) -> None:
        """Wait until something holds for each forge."""
        left = dict(self.of)

        def done() -> bool:
            for name in [name for name, each in left.items() if holds(each)]:
                del left[name]
            return not left

        try:
            self.rig.wait(what, done, patience=3 * PATIENCE)
        except Exception as error:
            said = {name: [each.body[:300] for each in self.of[name].ours()] for name in left}
            error.add_note(f"{what}: not on {said}")
            raise

    def each(self, does: Callable[[Repository], object]) -> None:
        for one in self.of.values():
            does(one)
