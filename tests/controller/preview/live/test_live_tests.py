"""Test runs of connected minions, as the report has them."""

from controller.preview.live.live_tests import as_foretold, found_after
from controller.schema.reports import LiveTest
from wire.messages import RunResult


def test_after_a_push_that_fails_no_check_finds_anything():
    def result(outcome, value):
        return RunResult(run_id="r", kind="preview", generation=0, digest="d", outcome=outcome, value=value)

    found = {"file_|-a_|-a_|-managed": {"result": None}}
    assert found_after(result("pending", found)) == found
    assert [found_after(one) for one in (result("failed", found), result("pending", None), None)] == [{}, {}, {}]


def test_what_salt_could_not_foretell_is_no_failure_of_a_stock_minion():
    sure = {"result": False, "comment": "it fails"}
    unsure = {**sure, "uncertain": "Salt foretells it without what a makes"}
    test = LiveTest(minion="web1", outcome="failed", failed=1, states={"b": unsure}, agent="salt 3008.1")
    assert (as_foretold(test).outcome, as_foretold(test).failed) == ("pending", 0)
    both = LiveTest(minion="web1", outcome="failed", failed=2, states={"b": unsure, "c": sure}, agent="salt 3008.1")
    assert (as_foretold(both).outcome, as_foretold(both).failed) == ("failed", 1)
    own = LiveTest(minion="web1", outcome="failed", failed=1, states={"b": unsure})
    assert as_foretold(own) == own
