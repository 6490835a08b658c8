"""What a stock minion returned, as results: its codes are not trusted, the shape of its value is."""

from gateway.minions.results import StockReturn, call_result, return_of, run_result
from wire.messages import Call, Preview, Run

TAG = "file_|-/a_|-/a_|-managed"
RUN = Run(run_id="r1", kind="apply", generation=3, digest="d", keys=None)


def state(result, changes=None):
    return {"result": result, "changes": changes or {}, "comment": "", "name": "/a", "__id__": "/a", "__sls__": "web"}


def of_run(value, run=RUN, keys=(TAG,), **more):
    return run_result(run, keys, StockReturn(value=value, **more), 10.0, 12.5)


def test_outcomes_of_states():
    assert of_run({TAG: state(True)}).outcome == "ok"
    assert of_run({TAG: state(True, {"diff": "x"})}).outcome == "changed"
    assert of_run({TAG: state(False, {"diff": "x"})}).outcome == "failed"
    test = Run(run_id="r1", kind="drift", generation=3, digest="d", test=True)
    assert of_run({TAG: state(None)}, test).outcome == "pending"
    assert of_run({TAG: state(True)}, test).outcome == "ok"


def test_a_bad_code_of_states_that_did_well_is_not_believed():
    assert of_run({TAG: state(True)}, retcode=2, success=False).outcome == "ok"


def test_errors_of_the_compile_are_an_error_though_the_code_is_good():
    found = of_run(["Rendering SLS 'base:x' failed", "more"], retcode=0, success=True)
    assert (found.outcome, found.error) == ("error", "Rendering SLS 'base:x' failed\nmore")


def test_nothing_returned_is_an_error_where_states_were_asked_for():
    assert of_run({}).outcome == "ok"  # an empty mapping has no state that failed
    assert of_run(None).outcome == "error"
    assert of_run(None, keys=()).outcome == "ok"


def test_a_lost_job_says_why():
    assert of_run(None, lost="restarted").error == "restarted"


def test_a_key_that_comes_again_and_a_handler_of_listen():
    listener = "service_|-listener_x_|-x_|-mod_watch"
    found = of_run({TAG: state(True), listener: state(True, {"x": True}), "other": state(True)}, keys=(TAG, TAG + "#2"))
    assert found.outcome == "error"  # `other` is the name of no state
    found = of_run({TAG: state(True), listener: state(True, {"x": True})}, keys=(TAG, TAG + "#2"))
    assert set(found.states) == {TAG, TAG + "#2", listener}
    assert found.outcome == "changed"


def test_a_listen_that_names_no_state_fails_the_run():
    missing = "Listen_Error_|-listen_gone_|-listen_service_|-Listen_Error"
    found = of_run({TAG: state(True), missing: state(False)}, keys=(TAG,))
    assert set(found.states) == {TAG, missing}
    assert found.outcome == "failed"


def test_a_preview_says_what_it_would_find_after_it():
    preview = Preview(run_id="p", base="", digest="d", patch=[], check=True)
    assert of_run({TAG: state(None)}, preview).value == {}


def test_a_function():
    call = Call(run_id="c", fun="test.ping")
    assert call_result(call, StockReturn(value=True), 1.0, 0.1).outcome == "ok"
    failed = call_result(call, StockReturn(value="out", retcode=3, success=False), 1.0, 0.1)
    assert (failed.outcome, failed.retcode, failed.value, failed.error) == ("failed", 3, "out", "exit code 3")
    load = {"return": "'no.such' is not available.", "success": False, "retcode": 1, "out": "nested"}
    raised = call_result(call, return_of(load), 1.0, 0.1)
    assert (raised.outcome, raised.retcode, raised.value) == ("error", 1, None)
    assert raised.error == "'no.such' is not available."
    lost = call_result(call, StockReturn(lost="restarted"), 1.0, 0.1)
    assert (lost.outcome, lost.error) == ("error", "restarted")


def test_states_of_a_call():
    call = Call(run_id="c", fun="state.apply", digest="d")
    assert call_result(call, StockReturn(value={TAG: state(True)}, retcode=2), 1.0, 0.1).outcome == "ok"
    broken = call_result(call, StockReturn(value=["broken"]), 1.0, 0.1)
    assert (broken.error, broken.ending) == ("broken", "compile error")
    others = call_result(call, StockReturn(value=['The function "state.sls" is running as PID 7']), 1.0, 0.1)
    assert (others.outcome, others.ending) == ("error", "refused")
    changed = {TAG: {**state(True, {"diff": "x"}), "__run_num__": 0}}
    assert call_result(call, StockReturn(value=changed), 1.0, 0.1).outcome == "changed"


def test_a_return_with_codes_that_are_none():
    assert return_of({"return": 1, "retcode": "x", "success": None}) == StockReturn(value=1)
    assert return_of({"return": 1, "retcode": 2**40}).retcode == 0
