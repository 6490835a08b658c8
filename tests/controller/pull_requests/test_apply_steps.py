"""Transcripts of what is applied before its merge: when it is, why it is not, and when minions go back."""

import dataclasses
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from pull_transcripts import NOW, A, B, C, Forge, report_of

from controller.forges.client import PullState
from controller.policy.policy import PreviewPolicy
from controller.preview.live.head_documents import HeadDocuments
from controller.pull_requests.apply_rules import chosen_minions
from controller.pull_requests.instructions import PlaceHolds, PullRules, ReadyDocuments, ReleaseHolds
from controller.pull_requests.merge_steps import SOONEST_SECONDS, merge_is_due
from controller.schema.reports import ApplyOutcome, ChangeClass, MergeOutcome, MinionErrors, Violation

RULES = PullRules(check="x", policy=PreviewPolicy(apply=True))
CLASSES = (
    ChangeClass(id="1", minions=("db1",), folded="db1", resources=()),
    ChangeClass(id="2", minions=("web1", "web2", "web3"), folded="web[1-3]", resources=()),
)
TREES = SimpleNamespace(revision=SimpleNamespace(digest="merged trees"))


class Applying(Forge):
    """A forge with minions that hold what they are told."""

    def __init__(self, rules=RULES, **pull):
        super().__init__(rules, **pull)
        self.holds = ()
        self.others = {}
        self.reached = frozenset()
        self.ready = None
        self.waits = True

    def _look(self):
        applied = self.record.applied
        outcome = applied and ApplyOutcome(
            head=applied.head, user="max", until=applied.until, minions=1, complete=not self.waits
        )
        return dataclasses.replace(
            super()._look(), holds=self.holds, held_by_others=self.others, merged_minions=self.reached,
            connected=frozenset(["web2"]), ready=self.ready, applied=outcome,
        )  # fmt: skip

    def _do(self, instruction, lines):
        match instruction:
            case PlaceHolds(holds=holds):
                lines.append(f"hold {' '.join(each.minion for each in holds)} for {holds[0].until - self.now:g} s")
                self.holds, self.ready = holds, None
                return ""
            case ReleaseHolds(holds=holds, why=why):
                lines.append(f"release {' '.join(each.minion for each in holds)}: {why}")
                self.holds = tuple(each for each in self.holds if each not in holds)
                return ""
        return super()._do(instruction, lines)

    def previewed(self, **report):
        self.look()
        self.finish(**{"merged": True, "classes": CLASSES, "changed": 4, **report})
        self.look()
        return self

    def compiled(self):
        """The documents of the head are there."""
        running, self.running = self.running, None
        digests = {minion: f"document of {minion}" for minion in running.minions}
        self.ready = ReadyDocuments(running.command, HeadDocuments(base=C, head=A, digests=digests, trees=TREES))

    def apply(self, line="/saltern apply"):
        self.say("max", line)
        self.look()
        self.compiled()
        return self.look()


def test_applied_and_merged():
    forge = Applying().previewed()
    comment = forge.say("max", "/saltern apply")
    assert forge.look() == ["say command", "say command-accepted", "preview a"]
    assert forge.running.minions == ("db1", "web1", "web2", "web3")
    assert forge.look() == [], "it is compiled"
    forge.compiled()
    assert forge.look() == [
        "hold db1 web1 web2 web3 for 3600 s",
        f"react {comment} done",
        f"again in {SOONEST_SECONDS:g} s",
    ]
    forge.waits = False
    assert forge.look() == ["again in 3601 s"]
    assert not forge.record.settled
    forge.change(state=PullState.MERGED, merge_commit=C)
    forge.outcome = MergeOutcome(commit=C, at=NOW)
    assert forge.look() == ["say merged", f"again in {SOONEST_SECONDS:g} s", f"again in {SOONEST_SECONDS:g} s"]
    assert not forge.record.settled, "minions hold it until what is live has the merge"
    assert not merge_is_due(forge._look(), forge.now), "the forge is not asked for nothing"
    forge.reached = frozenset(["web1"])
    assert merge_is_due(forge._look(), forge.now)
    assert forge.look()[0] == "release web1: the pull request was merged"
    forge.reached = frozenset(["web1", "web2", "web3", "db1"])
    assert forge.look()[:2] == ["release db1 web2 web3: the pull request was merged", "say released"]
    forge.outcome = MergeOutcome(commit=C, at=NOW, complete=True)
    assert "say completed" in forge.look()
    assert forge.record.settled


def test_canary():
    forge = Applying().previewed()
    assert forge.apply("/saltern apply --canary")[0] == "hold db1 web2 for 3600 s", "connected ones first"
    assert forge.apply("/saltern apply")[0] == "hold db1 web1 web2 web3 for 3600 s"


@pytest.mark.parametrize(
    ("canary", "most", "chosen"), [(1, 10, 1), (3, 10, 3), (30, 10, 10), ("20%", 10, 2), ("1%", 10, 1), ("25%", 10, 3)]
)
def test_how_many_canaries(canary, most, chosen):
    minions = tuple(f"m{number}" for number in range(most))
    report = report_of(A, classes=(ChangeClass(id="1", minions=minions, folded="m*", resources=()),))
    found = chosen_minions(report, PreviewPolicy(canary=canary), (), canary=True)
    assert len(found) == chosen
    assert set(found) <= set(minions)


def test_unapplied():
    forge = Applying().previewed()
    forge.say("max", "/saltern unapply")
    assert any("Nothing of this pull request is applied" in line for line in forge.look())
    forge.apply()
    forge.say("ann", "/saltern unapply")
    assert not any(line.startswith("release") for line in forge.look()), "she may not"
    forge.say("max", "/saltern unapply")
    assert "release db1 web1 web2 web3: /saltern unapply by max" in forge.look()
    assert forge.record.applied.released == "/saltern unapply by max"
    assert forge.look() == []


def test_closed():
    forge = Applying().previewed()
    forge.apply()
    forge.change(state=PullState.CLOSED)
    assert forge.look(crash_after=0) == ["say closed"], "killed"
    assert not forge.record.settled, "the next look does the rest"
    assert forge.look(crash_after=1)[1] == "release db1 web1 web2 web3: the pull request was closed", "killed again"
    assert not forge.record.settled
    assert forge.look() == ["say released"]
    assert forge.record.settled


def test_its_time_is_over():
    forge = Applying().previewed()
    forge.apply()
    forge.holds = ()  # the loop over minions has found it
    forge.now = forge.record.applied.until
    assert forge.look()[0] == "say released"
    assert forge.record.applied.released == "the time that the policy gives is over"


def test_somebody_has_released_them_here():
    """`saltern unapply` does not wait for the forge; what it says is told if the record still has it."""
    forge = Applying().previewed()
    forge.apply()
    forge.holds = ()
    assert forge.look()[0] == "say released"
    assert forge.record.applied.released == "somebody has released all minions"


def test_killed_before_it_is_held():
    """The documents are compiled again."""
    forge = Applying().previewed()
    forge.say("max", "/saltern apply")
    forge.look()
    forge.running = None  # killed
    assert forge.look() == ["preview a"]
    forge.compiled()
    forge.look(crash_after=0)
    forge.ready, forge.holds = None, ()  # what was not recorded is not held
    assert forge.look() == ["preview a"]
    forge.compiled()
    assert forge.look()[0].startswith("hold db1")


def test_a_push_ends_what_is_compiled():
    forge = Applying().previewed()
    forge.say("max", "/saltern apply")
    forge.look()
    forge.push(B)
    lines = forge.look()
    assert any("has not been previewed yet" in line for line in lines)
    assert "cancel" in lines
    assert forge.holds == ()


def test_a_push_does_not_end_what_is_held():
    forge = Applying().previewed()
    forge.apply()
    forge.push(B)
    forge.look()
    forge.finish(merged=True, classes=CLASSES, changed=4)
    forge.look()
    assert len(forge.holds) == 4
    assert forge.apply()[0].startswith("hold db1")
    assert {each.head for each in forge.holds} == {B}


def test_base_moves_while_it_is_compiled():
    forge = Applying().previewed()
    forge.say("max", "/saltern apply")
    forge.look()
    forge.base = "base 2"
    assert any("The base has moved" in line for line in forge.look())
    assert forge.holds == ()


def refused(forge, line="/saltern apply"):
    forge.say("max", line)
    lines = forge.look()
    assert forge.running is None or not forge.running.minions
    return next(line.partition(": ")[2] for line in lines if line.startswith("answer"))


VIOLATION = Violation(rule="previews.irreversible", message="pkg.purged", approvable=True)


@pytest.mark.parametrize(
    ("report", "text"),
    [
        ({"merged": False}, "The preview is not about the head as it would be merged"),
        ({"classes": (), "changed": 0}, "The preview says that nothing changes"),
        ({"violations": (replace(VIOLATION, approvable=False),)}, "The check fails"),
        ({"broken": (MinionErrors(minions=("x",), folded="x", texts=("no",)),)}, "The check fails"),
        ({"violations": (VIOLATION,)}, "It needs an approval for previews.irreversible"),
    ],
)
def test_refused_by_the_report(report, text):
    assert refused(Applying().previewed(**report)).startswith(text)


def test_approved():
    forge = Applying().previewed(violations=(VIOLATION,))
    forge.say("max", "/saltern approve")
    forge.look()
    assert forge.apply()[0].startswith("hold db1")


def test_refused_by_the_policy():
    assert "previews: {apply: true}" in refused(Applying(PullRules(check="x")).previewed())
    manual = dataclasses.replace(RULES, manual=True)
    assert "saltern sync" in refused(Applying(manual).previewed())


def test_refused_before_the_preview():
    forge = Applying()
    forge.look()
    assert "has not been previewed yet" in refused(forge)


def test_refused_on_another_base():
    forge = Applying().previewed()
    forge.base = "base 2"
    assert refused(forge).startswith("The base has moved")


def test_refused_for_a_stranger():
    forge = Applying(from_fork=True)
    forge.look()
    forge.say("max", f"/saltern preview --commit {A[:12]}")
    forge.previewed()
    assert "another repository" in refused(forge, f"/saltern apply --commit {A[:12]}")


def test_refused_where_another_one_is_held():
    forge = Applying().previewed()
    forge.others = {"web2": "hub:org/states#3"}
    assert refused(forge).startswith("`web2` holds what was applied from hub:org/states#3")


def test_refused_when_it_is_not_known_which_head_was_seen():
    forge = Applying().previewed()
    forge.change(head=B)
    assert "not known which head" in refused(forge)
