"""What is remembered of secrets, and where it is taken out."""

import pytest

from controller.observe.redactor import Redactor
from controller.store import Store
from controller.store.secrets import MOST
from wire.messages import RunProgress, RunResult

OLD, NEW = "correct-horse-1", "battery-staple-2"


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        for minion in ("web1", "web2"):
            store.minions.seen(minion, 1.0, grains={})
        yield store


def test_secrets_of_earlier_documents_are_remembered(store):
    redactor = Redactor(store, "key")
    redactor.learn({"web1": [OLD], "web2": []})
    first = redactor.of("web1").text(f"{OLD} {NEW}")
    redactor.learn({"web1": [NEW]})
    assert redactor.of("web1").text(OLD) == first.split(" b")[0]
    assert NEW not in redactor.of("web1").text(NEW)
    assert redactor.of("web2").text(OLD) == OLD
    later = Redactor(store, "key")
    assert later.of("web1").text(f"{OLD} {NEW}") == redactor.of("web1").text(f"{OLD} {NEW}")
    assert Redactor(store, "other").of("web1").text(OLD) != later.of("web1").text(OLD)


def test_those_of_a_preview_leave_nothing_in_the_store(store):
    redactor = Redactor(store, "key")
    redactor.add_for_preview("web1", [NEW])
    redactor.add_for_preview("web1", [OLD])
    shown = redactor.of("web1").text(f"{OLD} {NEW}")
    assert OLD not in shown
    assert NEW not in shown
    assert store.secrets.of("web1") == frozenset()


def test_the_store_keeps_a_bounded_number_and_forgets_with_the_minion(store):
    store.secrets.put({"web1": [f"secret {number}" for number in range(MOST)]})
    assert store.secrets.put({"web1": [NEW], "web2": [NEW], "unknown": [NEW]}) == ["web1", "web2"]
    assert store.secrets.put({"web1": [NEW]}) == []
    assert len(store.secrets.of("web1")) == MOST
    assert NEW in store.secrets.of("web1")
    store.minions.delete("web1")
    assert store.secrets.of("web1") == frozenset()
    assert store.secrets.of("web2") == {NEW}


def test_all_of_a_result_is_masked(store):
    redactor = Redactor(store, "key")
    redactor.learn({"web1": [OLD]})
    states = {
        f"cmd_|-x_|-echo {OLD}_|-run": {"changes": {"stdout": [OLD.encode(), OLD]}, "comment": OLD, "result": True}
    }
    result = RunResult(
        run_id="1",
        kind="apply",
        generation=1,
        digest="d",
        outcome="failed",
        states=states,
        value={OLD: [OLD]},
        error=f"no {OLD}",
    )
    masked = redactor.result("web1", result)
    assert OLD not in repr(masked)
    assert masked.outcome == "failed"
    assert repr(masked).count("<secret ") == 7
    assert redactor.result("web2", result) == result
    told = redactor.events("web1", [(f"a/{OLD}", {"x": OLD})])
    assert OLD not in repr(told)
    assert repr(told).count("<secret ") == 2
    said = RunProgress(run_id="1", done=1, total=2, key=f"x {OLD}")
    assert OLD not in redactor.progress("web1", said).key
