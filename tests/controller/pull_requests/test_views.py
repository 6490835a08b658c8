"""What lists say of a pull request, and what it waits for."""

import pytest
from msgspec.structs import replace

from controller.pull_requests.instructions import PullRules, RunningPreview
from controller.pull_requests.views import pull_view
from controller.store.pull_requests import Previewed, PullRecord, ReportCounts

A, B = "a" * 40, "b" * 40
RULES = PullRules(check="x", branches=frozenset(["main"]))
COUNTS = ReportCounts(
    made_at=5, base=B, minions=9, changed=4, classes=2, broken=1, unknown=0, approvable=0, violations=0
)
SEEN = PullRecord(forge="hub", project="org/states", number=7, title="T", head=A, base_branch="main")
MADE = replace(
    SEEN,
    previewed=Previewed(head=A, base_branch="main", base="now", at=1),
    counts=COUNTS,
    check_head=A,
    check_state="success",
)
WAITS = RunningPreview(preview=Previewed(head=A, base_branch="main", at=1))


def test_what_is_known_of_the_report():
    view = pull_view(MADE, RULES, None, "now")
    assert (view.check, view.base, view.previewed_at, view.previewed_head) == ("success", B, 5, A)
    assert (view.minions, view.changed, view.classes, view.broken, view.waiting_for) == (9, 4, 2, 1, "")
    older = pull_view(replace(MADE, head=B), RULES, None, "now")
    assert older.check == "", "it is the one of another head"


@pytest.mark.parametrize(
    ("record", "rules", "running", "text"),
    [
        pytest.param(SEEN, RULES, None, "a look at the forge", id="new"),
        pytest.param(SEEN, RULES, WAITS, "the preview", id="previewing"),
        pytest.param(replace(SEEN, failure="no room"), RULES, None, "another try: no room", id="failed"),
        pytest.param(
            replace(SEEN, from_fork=True), RULES, None, f"a maintainer: /saltern preview --commit {A[:12]} (a fork)",
            id="fork",
        ),
        pytest.param(
            replace(SEEN, draft=True), PullRules(check="x", drafts=False), None,
            f"a maintainer: /saltern preview --commit {A[:12]} (a draft)", id="draft",
        ),
        pytest.param(replace(SEEN, from_fork=True, allowed=A), RULES, WAITS, "the preview", id="allowed"),
        pytest.param(
            replace(SEEN, base_branch="x"), RULES, None, "nothing: x is not previewed", id="another branch"
        ),
        pytest.param(
            replace(MADE, check_state="failure"), RULES, None, "its author: the check fails", id="check fails"
        ),
        pytest.param(
            replace(MADE, check_state="failure", counts=replace(COUNTS, approvable=1)), RULES, None,
            "an approval: /saltern approve", id="approval",
        ),
        pytest.param(
            replace(MADE, check_state="failure", counts=replace(COUNTS, approvable=1, violations=1)), RULES, None,
            "its author: the check fails", id="more than an approval",
        ),
        pytest.param(
            replace(MADE, previewed=Previewed(head=A, base_branch="main", base="before", at=1)), RULES, None,
            "a preview on the newer base", id="base moved",
        ),
    ],
)  # fmt: skip
def test_what_it_waits_for(record, rules, running, text):
    assert pull_view(record, rules, running, "now").waiting_for == text
