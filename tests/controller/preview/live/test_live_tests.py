"""Test runs of connected minions, as the report has them."""

from controller.preview.live.live_tests import found_after
from wire.messages import RunResult


def test_after_a_push_that_fails_no_check_finds_anything():
    def result(outcome, value):
        return RunResult(run_id="r", kind="preview", generation=0, digest="d", outcome=outcome, value=value)

    found = {"file_|-a_|-a_|-managed": {"result": None}}
    assert found_after(result("pending", found)) == found
    assert [found_after(one) for one in (result("failed", found), result("pending", None), None)] == [{}, {}, {}]
