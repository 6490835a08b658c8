"""What a test run says of the change, what is drift, and which minions are asked."""

from controller.preview.live.drift_apart import drift_apart, in_doubt
from controller.preview.live.live_tests import with_tests
from controller.preview.live.sampling import sampled
from controller.schema.reports import ChangeClass, LiveTest, ResourceChange


def entry(result=None, **changes):
    return {"result": result, "changes": changes, "comment": ""}


def run_of(**states):
    return LiveTest(minion="web1", outcome="pending", states=states, changes=len(states))


def test_what_the_change_does_not_touch_is_drift():
    test = run_of(touched=entry(mode="0600"), needed=entry(diff="x"), fine=entry(True))
    found = drift_apart(test, ("touched",), {})
    assert (list(found.states), list(found.drift)) == (["touched", "fine"], ["needed"])
    assert (found.changes, found.failed) == (1, 0)


def test_what_the_base_would_change_as_well_is_drift():
    test = run_of(same=entry(mode="0600"), other=entry(mode="0644"), fresh=entry(mode="0600"))
    assert in_doubt(test, ("same", "other", "gone")) == ("same", "other")
    base = {"same": entry(mode="0600"), "other": entry(mode="0600"), "fresh": entry(True)}
    found = drift_apart(test, tuple(test.states), base)
    assert list(found.states) == ["other", "fresh"]
    assert found.drift == {"same": entry(mode="0600"), "other": entry(mode="0600")}


def test_what_fails_stays():
    test = run_of(broken=entry(False), needed=entry(False))
    assert drift_apart(test, ("broken",), {"broken": entry(False)}) == test


def test_what_nobody_knows_is_not_taken_for_drift():
    test = run_of(unread={**entry(), "uncertain": "content is not read in a preview"})
    assert drift_apart(test, ("unread",), {"unread": entry()}) == test


def one_class(*minions, resources=()):
    return ChangeClass(id="1", minions=minions, folded="", resources=resources)


def test_a_sample_is_the_same_each_time_and_prefers_who_is_connected():
    names = tuple(f"web{n}" for n in range(20))
    classes = [one_class(*names), one_class("db1", "db2", "db3")]
    some = sampled(classes, {"web7", "db3"}, 2)
    assert some == sampled(classes, {"web7", "db3"}, 2)
    assert len(some) == 4
    assert {"web7", "db3"} <= set(some)
    assert sampled(classes, set(names), 0) == ()
    assert len(sampled(classes, set(), 100)) == 23


def test_a_new_file_that_replaces_one_is_irreversible():
    motd = ResourceChange(action="added", key="k", title="motd", function="file.managed")

    def why(**state):
        test = LiveTest(minion="web1", outcome="pending", states={"k": state})
        [found] = with_tests([one_class("web1", resources=(motd,))], {"web1": test})
        return found.resources[0].irreversible

    assert not why(result=None, changes={"diff": "New file"})
    assert why(result=None, changes={"diff": "--- \n+++ \n@@ -1 +1 @@"})
    assert why(result=None, comment="content of /etc/motd is not read in a preview: no live state determines it")
