"""What happened after a merge, from the runs in a store."""

import pytest

from controller.pull_requests.outcomes import Outcomes, predictions, verdict_of
from controller.schema.reports import ChangeClass, PreviewReport, ResourceChange
from controller.store import RevisionRecord, RunRecord, Store

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
        waiting = outcomes.outcome(report, COMMIT, 10.0, 11.0)
        assert (waiting.complete, waiting.classes[0].waiting) == (False, ("a", "b", "c", "d"))
        label, commit = ("dddddddd", "d" * 40) if superseded else ("cccccccc", COMMIT)
        store.revisions.add(revision(label, commit, 12.0))
        other = "pkg_|-nginx_|-nginx_|-installed"
        for minion, outcome, key in (("a", "changed", KEY), ("b", "failed", KEY), ("d", "changed", other)):
            made = run(minion, "", f"digest of {label}")
            store.runs.create(made)
            states = {key: {"result": outcome == "changed", "changes": {"diff": "x"}}}
            store.runs.finish(made.run_id, outcome, finished=21.0, result={"states": states})
        found = outcomes.outcome(report, COMMIT, 10.0, 22.0)
        assert found.revision == label
        assert found.classes[0].applied == ("a",)
        assert found.classes[0].differs == {"d": "nginx (pkg.installed)"}
        assert found.classes[0].failed == {"b": "motd (file.managed)"}
        assert (found.classes[0].waiting, found.complete) == (("c",), False)
        assert predictions(found) == (1, 2)
