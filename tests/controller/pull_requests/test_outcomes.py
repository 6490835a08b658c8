"""What happened after a merge, from the runs in a store."""

import msgspec
import pytest
from msgspec.structs import replace

from controller.config.limits import PullRequestLimits
from controller.pull_requests.outcomes import MergedWith, Outcomes, predictions, verdict_of
from controller.schema.reports import ChangeClass, PreviewReport, ResourceChange
from controller.store import RevisionRecord, RunRecord, Store
from controller.store.pull_requests import Previewed, PullRecord

COMMIT = "c" * 40
KEY = "file_|-motd_|-/etc/motd_|-managed"


def state(key):
    return ResourceChange(action="changed", key=key, title=key, function="file.managed")


def change(*minions, keys=(KEY,)):
    return ChangeClass(id="1", minions=minions, folded="", resources=tuple(state(key) for key in keys))


def run(minion, outcome="changed", revision="cccccccc", created=20.0, keys=(KEY,)):
    return RunRecord(
        run_id=f"{minion}-{created}", minion=minion, kind="apply", created=created, revision=revision, keys=keys,
        outcome=outcome,
    )  # fmt: skip


def revision(label, commit, seen):
    return RevisionRecord(
        digest=f"digest of {label}",
        label=label,
        commit=commit,
        subject="",
        author="",
        committed_at=seen,
        first_seen=seen,
    )


def pull(number, commit, state="merged", head="a" * 40):
    return PullRecord(
        forge="hub", project="org/states", number=number, state=state, head=head,
        merge_commit=commit, merged_at=10.0, previewed=Previewed(head=head, base_branch="main", at=1.0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "changed", "expected"),
    [
        ("changed", [KEY], ("", "")),
        ("ok", [], ("", "")),
        ("changed", ["pkg_|-nginx_|-nginx_|-installed"], ("", "nginx (pkg.installed)")),
        ("failed", [KEY], ("failed", "")),
    ],
)
def test_verdict(outcome, changed, expected):
    states = {key: {"result": True, "changes": {"diff": "x"}} for key in changed}
    found = verdict_of(change("web1"), run("web1", outcome), states, "cccccccc")
    assert (found.failed, found.differs) == expected


def test_holes_stand_for_what_differs_by_host():
    of = change("web1", keys=("file_|-conf_|-/etc/⟨grains.id⟩/a_|-managed",))
    kept = {"file_|-conf_|-/etc/web1/a_|-managed": {"result": True, "changes": {"new": 1}}}
    other = {"file_|-conf_|-/etc/web1/b_|-managed": {"result": True, "changes": {"new": 1}}}
    assert verdict_of(of, run("web1"), kept, "cccccccc").differs == ""
    assert verdict_of(of, run("web1"), other, "cccccccc").differs == "conf (file.managed)"


@pytest.mark.parametrize("superseded", [False, True])
def test_outcome(tmp_path, superseded):
    """Also of a merge that never went live by itself, as another push came with it."""
    report = PreviewReport(made_at=1.0, base="0" * 40, head="a" * 40, minions=3, classes=(change("a", "b", "c", "d"),))
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        outcomes = Outcomes(store, lambda commit, other: commit == "d" * 40 and other == COMMIT)
        store.revisions.add(revision("00000000", "0" * 40, 5.0))
        waiting = outcomes.outcome(report, pull(7, COMMIT), 11.0)
        assert (waiting.complete, waiting.classes[0].waiting) == (False, ("a", "b", "c", "d"))
        label, commit = ("dddddddd", "d" * 40) if superseded else ("cccccccc", COMMIT)
        store.revisions.add(revision(label, commit, 12.0))
        other = "pkg_|-nginx_|-nginx_|-installed"
        for minion, outcome, key in (("a", "changed", KEY), ("b", "failed", KEY), ("d", "changed", other)):
            made = run(minion, "", f"digest of {label}")
            store.runs.create(made)
            states = {key: {"result": outcome == "changed", "changes": {"diff": "x"}}}
            store.runs.finish(made.run_id, outcome, finished=21.0, result={"states": states})
        found = outcomes.outcome(report, pull(7, COMMIT), 22.0)
        assert found.revision == label
        assert found.classes[0].applied == ("a",)
        assert found.classes[0].differs == {"d": "nginx (pkg.installed)"}
        assert found.classes[0].failed == {"b": "motd (file.managed)"}
        assert (found.classes[0].waiting, found.complete) == (("c",), False)
        assert predictions(found) == (1, 2)


NGINX = "pkg_|-nginx_|-nginx_|-installed"
USER = "user_|-ann_|-ann_|-present"
CRON = "cron_|-tidy_|-tidy_|-present"


def of_both(own, other):
    """The reports of two pull requests, by what each foretells on minion `a`."""
    return [
        PreviewReport(made_at=1.0, base="0" * 40, head=head, minions=1, classes=(change("a", keys=keys),))
        for head, keys in (("a" * 40, own), ("b" * 40, other))
    ]


@pytest.mark.parametrize(
    ("bad", "expected", "others_failed"),
    [
        ([NGINX], "nginx (pkg.installed)", True),
        ([KEY, NGINX], "motd (file.managed), nginx (pkg.installed)", False),
        ([CRON, NGINX], "tidy (cron.present), nginx (pkg.installed)", False),
        ([], "failed", False),
    ],
)
def test_what_failed_of_another_one_breaks_no_prediction(bad, expected, others_failed):
    own, other = of_both((KEY,), (NGINX,))
    states = {key: {"result": False, "changes": {}} for key in bad}
    together = [MergedWith("pull request 9", other)]
    found = verdict_of(own.classes[0], run("a", "failed"), states, "cccccccc", together)
    assert (found.failed, found.others_failed) == (expected, others_failed)


@pytest.mark.parametrize("seen", ["merged", "open"])
@pytest.mark.parametrize("before", [False, True])
def test_two_merged_together(tmp_path, seen, before):
    """One push has both merges; the second one perhaps was not seen yet. `before`: it was merged earlier."""
    own, other = of_both((KEY, USER), (NGINX, USER))
    second, head = "9" * 40, "b" * 40
    history = {(COMMIT, second), (COMMIT, head)} | ({("0" * 40, second), ("0" * 40, head)} if before else set())
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        outcomes = Outcomes(store, lambda commit, asked: (commit, asked) in history)
        records = pull(7, COMMIT), pull(9, second if seen == "merged" else "", seen, head)
        for record, report in zip(records, (own, other), strict=True):
            store.pull_requests.put(record, 1.0)
            store.pull_requests.put_report("hub", "org/states", record.number, msgspec.json.encode(report))
        store.revisions.add(revision("00000000", "0" * 40, 5.0))
        store.revisions.add(revision("cccccccc", COMMIT, 12.0))
        made = run("a", "", "digest of cccccccc")
        store.runs.create(made)
        states = {key: {"result": True, "changes": {"new": 1}} for key in (KEY, NGINX, USER, CRON)}
        store.runs.finish(made.run_id, "changed", finished=21.0, result={"states": states})
        first = outcomes.outcome(own, records[0], 22.0).classes[0]
        if before:
            assert (first.differs, first.others) == ({"a": "nginx (pkg.installed), tidy (cron.present)"}, {})
            return
        assert first.differs == {"a": "tidy (cron.present)"}  # nobody foretold it
        assert first.others == {
            "a": "nginx (pkg.installed) foretold by pull request 9; "
            "ann (user.present) foretold by this one and pull request 9"
        }
        if seen == "merged":
            theirs = outcomes.outcome(other, records[1], 22.0)
            assert theirs.classes[0].differs == {"a": "tidy (cron.present)"}
            assert theirs.classes[0].others["a"].startswith("motd (file.managed) foretold by pull request 7; ")
            assert predictions(theirs) == (0, 1)


@pytest.mark.parametrize(("together", "candidates", "told"), [(2, 2, "ab"), (1, 2, "a"), (2, 1, "a")])
def test_how_many_merged_together_are_looked_at_has_a_bound(tmp_path, together, candidates, told):
    """The nearest in time first."""
    second = "9" * 40
    limits = PullRequestLimits(merged_together=together, merged_candidates=candidates)
    own, near = of_both((KEY,), (NGINX,))
    far = of_both((KEY,), (USER,))[1]
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        outcomes = Outcomes(store, lambda commit, asked: (commit, asked) == (COMMIT, second), limits)
        merged = [
            pull(7, COMMIT),
            pull(9, second, head="b" * 40),
            replace(pull(11, second, head="b" * 40), merged_at=9.0),
        ]
        for record, report in zip(merged, (own, near, far), strict=True):
            store.pull_requests.put(record, 1.0)
            store.pull_requests.put_report("hub", "org/states", record.number, msgspec.json.encode(report))
        store.revisions.add(revision("00000000", "0" * 40, 5.0))
        store.revisions.add(revision("cccccccc", COMMIT, 12.0))
        made = run("a", "", "digest of cccccccc")
        store.runs.create(made)
        states = {key: {"result": True, "changes": {"new": 1}} for key in (KEY, NGINX, USER)}
        store.runs.finish(made.run_id, "changed", finished=21.0, result={"states": states})
        others = outcomes.outcome(own, merged[0], 22.0).classes[0].others["a"]
        assert ("pull request 9" in others, "pull request 11" in others) == ("a" in told, "b" in told)
