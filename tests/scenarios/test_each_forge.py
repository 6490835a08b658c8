"""The life of a pull request on each kind of forge: a real controller, an agent, real git, webhooks as each signs them.

All forges live beside each other on one controller, each with a repository of its own, and go through each step at the
same time: what one costs, all cost together.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from effort import FULL
from every_forge import AllForges
from forges.all_forges import FAKES

POLLED = "azure-devops"
"""The kind that the common suite reaches by polling alone: it has no mark of a pull request's last change."""


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
