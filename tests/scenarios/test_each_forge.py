"""The life of a pull request on each kind of forge: a real controller, an agent, real git, webhooks as each signs them.

All forges live beside each other on one controller, each with a repository of its own, and go through each step at the
same time: what one costs, all cost together.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from effort import FULL
from forges.all_forges import FAKES
from rig import PATIENCE, Rig

TREE = Path(__file__).parent / "tree"
CHECK = "saltern/preview (base)"
OFTEN, NEVER = 1.0, 86_400.0
"""Seconds between two polls."""
POLLED = "azure-devops"
"""The kind that the common suite reaches by polling alone: it has no mark of a pull request's last change."""


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
    """A controller with a forge of each of these kinds."""

    def __init__(self, folder: Path, kinds: tuple[str, ...], polled: tuple[str, ...]) -> None:
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
        rig.wait_applied(rig.push("all"))
        for each in self.of.values():
            if not each.polled:
                each.fake.hook = rig.http + "/hook"

    def _entry(self, of: Repository) -> dict[str, Any]:
        names = {"name": of.name, "kind": of.fake.kind, "api": of.fake.api, "projects": {of.name: of.project}}
        return {**names, **of.fake.access, "poll_interval": OFTEN if of.polled else NEVER}

    def stop(self) -> None:
        self.rig.stop_all()
        for each in self.of.values():
            each.fake.__exit__()

    def wait(self, what: str, holds: Any) -> None:
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

    def each(self, does: Any) -> None:
        for one in self.of.values():
            does(one)


@pytest.fixture
def make_forges():
    made = []

    def make(*kinds: str, polled: tuple[str, ...] = ()) -> AllForges:
        folder = Path(tempfile.mkdtemp(prefix="saltern-"))
        made.append(AllForges(folder, kinds, polled))
        made[-1].start()
        return made[-1]

    yield make
    for each in made:
        each.stop()
        long_turns = each.rig.long_turns()
        shutil.rmtree(each.rig.directory, ignore_errors=True)
        assert long_turns == []


def live(forges: AllForges) -> None:
    """Opened, pushed to, commanded, merged."""
    forges.each(lambda one: one.open(1))
    forges.wait("a comment and a check", lambda one: one.has_report())
    for one in forges.of.values():
        one.first = one.ours()[0].id
    forges.each(lambda one: one.push(2))
    forges.wait("the comment edited in place", lambda one: one.has_report() and one.ours()[0].id == one.first)
    for one in forges.of.values():
        one.asked = one.fake.model.comment(one.pull, "max", "/saltern help")
    forges.wait("an answer", lambda one: one.has_report(2) and "/saltern preview" in one.ours()[1].body)
    forges.wait("a reaction", lambda one: one.asked.given or not one.fake.has_reactions)
    for one in forges.of.values():  # one after the other: what is applied together is told as other than previewed
        one.merge()
        file = forges.rig.root("web1") / one.name
        forges.rig.wait(f"{one.name} to be applied", lambda file=file: file.read_text() == "number 2\n")
    forges.wait("what happened after the merge", lambda one: "After the merge of" in one.ours()[0].body)
    for one in forges.of.values():
        assert "| 1 | 1 | 0 | 0 | 0 |" in one.ours()[0].body, one.name
        assert (forges.rig.root("web1") / one.name).read_text() == "number 2\n"
        assert one.ours()[0].id == one.first
        assert len(one.ours()) == 2, f"{one.name}: nothing is said twice"
        assert {status for _, status in one.fake.deliveries} <= {202}, one.name
        assert bool(one.fake.deliveries) != one.polled


@pytest.mark.timeout(300)
def test_the_life_of_a_pull_request_on_each_kind_of_forge(make_forges):
    live(make_forges(*(kind for kind in FAKES if kind != "github-app"), polled=(POLLED,)))


@pytest.mark.skipif(not FULL, reason="SALTERN_SOAK is not set: each kind by itself")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("polled", [False, True], ids=["hook", "polled"])
@pytest.mark.parametrize("kind", FAKES)
def test_the_life_of_a_pull_request_on(make_forges, kind, polled):
    live(make_forges(kind, polled=(kind,) if polled else ()))


POSTED = r"^POST .*/(comments|notes|threads)$"


@pytest.mark.timeout(600)
def test_killed_between_a_post_and_its_answer(make_forges):
    """kill -9 of the controller when each forge has our comment and has not said so: it is not made again."""
    forges = make_forges(*(kind for kind in FAKES if kind != "github-app"))
    for wanted in (1, 2):
        for one in forges.of.values():
            one.fake.fault("mute", matching=POSTED)
            if wanted == 1:
                one.open(1)
            else:
                one.fake.model.comment(one.pull, "max", "/saltern help")
        forges.wait(f"our comment {wanted}", lambda one, wanted=wanted: len(one.ours()) == wanted)
        forges.rig.kill("controller", children=True)
        forges.rig.start_controller()
        forges.wait("what is left to do", lambda one, wanted=wanted: one.has_report(wanted))
        assert [len(one.ours()) for one in forges.of.values()] == [wanted] * len(forges.of)
    forges.each(lambda one: one.push(2))
    forges.wait("the next report, edited in place", lambda one: one.has_report(2))


@pytest.mark.timeout(300)
def test_a_forge_that_hangs_does_not_delay_another(make_forges):
    forges = make_forges("github", "gitlab")
    hanging, other = forges.of["github"], forges.of["gitlab"]
    hanging.fake.fault("hang", times=1000)
    forges.each(lambda one: one.open(1))
    forges.rig.wait("the forge to hang", lambda: hanging.fake.requests)
    forges.rig.wait("the comment on the other forge", other.has_report)
    assert not hanging.ours()
    other.push(2)
    forges.rig.wait("its next report", other.has_report)
