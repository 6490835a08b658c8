"""An agent process that loses its controller, a real wire server: what it puts right by itself, and how it is told."""

import re

import msgspec
import pytest

from minion.agent.autonomy.remediation import OwnRemediation
from minion.agent.ended_run import EndedRun
from minion.spool.desired_state import DesiredState
from reactors.remediation import AutonomyRules, digest_of_rules
from reactors.windows import Window
from wire.messages import APPLIES_NOW, HEALS_ALONE, Autonomy, Hello, KeepAlive, RunResult

RULES = AutonomyRules(after=1.0)


def autonomy(rules):
    return Autonomy(digest=digest_of_rules(rules), rules={} if rules is None else msgspec.to_builtins(rules))


def managed(path, **arguments):
    return ("file", "managed", str(path), {"contents": "right", **arguments})


def applied(controller, agents, desired, rules=RULES):
    """An agent that has applied a document, and may do what the rules say; drift is checked each second."""
    agent = agents().start()
    assert HEALS_ALONE in controller.next(Hello).takes
    controller.send(autonomy(rules))
    controller.desire(desired)
    controller.run("r1")
    assert controller.result("r1").outcome == "changed"
    controller.wait(lambda: controller.all(RunResult, kind="drift", outcome="ok"))
    return agent


def said_last(controller):
    """What the newest sign of life says of what was applied."""
    found = controller.all(KeepAlive)
    return found[-1].applied if found else None


def own(controller):
    return [each for each in controller.all(RunResult, kind="remediate") if each.own is not None]


def test_drift_is_put_right_without_a_controller_and_told_when_one_is_back(controller, agents, desired_state, tmp_path):
    path = tmp_path / "conf"
    agent = applied(controller, agents, desired_state(managed(path), drift={"interval": 1}))
    controller.server.stop()
    path.write_text("by hand\n")
    controller.wait(lambda: path.read_text() == "right\n")
    controller.wait(lambda: agent.logged().count("outcome=ok") > 3, "checks after it")
    controller.acknowledges = False
    controller.start()

    hello = controller.wait(lambda: [each for each in controller.all(Hello) if each.autonomy])[-1]
    assert (hello.autonomy, hello.applied) == (digest_of_rules(RULES), APPLIES_NOW)
    result = controller.wait(lambda: own(controller))[0]
    check = controller.next(RunResult, run_id=result.own.drift_run)
    assert (check.kind, check.outcome) == ("drift", "pending"), "it is told although there were newer checks"
    assert controller.seen.index(check) < controller.seen.index(result)
    assert (result.outcome, result.digest, result.own.alone >= 1) == ("changed", controller.digest, True)
    assert {each.applied for each in controller.all(KeepAlive) if each.applied} <= {APPLIES_NOW}

    controller.acknowledges = True
    controller.server.stop()
    controller.start()
    controller.wait(lambda: said_last(controller) == "", "the end of it")
    assert len({each.run_id for each in own(controller)}) == 1
    assert agent.stop() == 0


def test_nothing_is_done_while_the_rules_say_nothing_or_a_window_is_shut(controller, agents, desired_state, tmp_path):
    path = tmp_path / "conf"
    shut = AutonomyRules(after=1.0, windows=(Window(kind="deny", schedule="* * * * *", duration=3600.0),))
    agent = applied(controller, agents, desired_state(managed(path), drift={"interval": 1}), shut)
    controller.server.stop()
    path.write_text("by hand\n")
    controller.wait(lambda: 'reason="deny window' in agent.logged())
    controller.start()
    controller.wait(lambda: len(controller.all(Hello)) == 2)
    controller.send(autonomy(None))  # as when it is paused
    controller.send(autonomy(RULES))
    controller.send(autonomy(None))
    seen = agent.logged().count("outcome=pending")
    controller.wait(lambda: agent.logged().count("outcome=pending") > seen, "a check, so that the rules have come")
    controller.server.stop()
    controller.wait(lambda: "as far as it was told, does not have it remediated" in agent.logged())
    seen = agent.logged().count("outcome=pending")
    controller.wait(lambda: agent.logged().count("outcome=pending") >= seen + 3, "checks")
    agent.kill()
    agent.start()
    seen = agent.logged().count("outcome=pending")
    controller.wait(
        lambda: agent.logged().count("outcome=pending") >= seen + 3, "checks by an agent that was restarted"
    )
    assert path.read_text() == "by hand\n"
    assert "remediates_alone" not in agent.logged()


def test_killed_in_the_middle_of_it(controller, agents, desired_state, tmp_path):
    """A new agent goes on with the run; what it had done is not done again."""
    path, count, go = tmp_path / "conf", tmp_path / "count", tmp_path / "go"
    slow = f"echo ran >> {count}; while ! test -e {go}; do sleep 0.05; done"
    after = ("cmd", "run", slow, {"onchanges": [{"file": str(path)}]})
    go.touch()
    agent = applied(controller, agents, desired_state(managed(path), after, drift={"interval": 1}))
    go.unlink()
    controller.server.stop()
    path.write_text("by hand\n")
    controller.wait(lambda: count.read_text().count("ran") == 2, "the command")
    agent.kill()
    agent.end_workers()
    agent.start()
    controller.wait(lambda: count.read_text().count("ran") == 3, "the command, which may not have come to its end")
    go.touch()
    controller.wait(lambda: re.search("event=run_finished .*run_id=heal-", agent.logged()))
    controller.start()
    result = controller.wait(lambda: own(controller))[0]
    assert result.outcome == "changed"
    assert [each["result"] for each in result.states.values()] == [True, True]
    assert path.read_text() == "right\n"
    controller.wait(lambda: said_last(controller) == "", "the end of it")
    assert len({each.run_id for each in own(controller)}) == 1


def test_what_is_held_and_was_not_applied_is_left(controller, agents, desired_state, tmp_path):
    path = tmp_path / "conf"
    agent = applied(controller, agents, desired_state(managed(path), drift={"interval": 1}))
    controller.desire(desired_state(managed(path, contents="new"), drift={"interval": 1}))
    controller.wait(lambda: controller.all(RunResult, kind="drift", outcome="pending"))
    controller.server.stop()
    controller.wait(lambda: "was not the last one applied" in agent.logged())
    assert path.read_text() == "right\n"


def test_a_remediation_that_fails_is_tried_again_after_the_pause_of_the_policy(
    controller, agents, desired_state, tmp_path
):
    path, bad = tmp_path / "conf", tmp_path / "bad"
    check = ("cmd", "run", f"test ! -e {bad}", {"onchanges": [{"file": str(path)}]})
    retry = {"limit": 1, "duration": 1.0}
    rules = msgspec.convert({"after": 1.0, "retry": retry}, AutonomyRules)
    agent = applied(controller, agents, desired_state(managed(path), check, drift={"interval": 1}), rules)
    controller.server.stop()
    bad.touch()
    path.write_text("by hand\n")
    controller.wait(lambda: "retry.limit is reached" in agent.logged())
    assert agent.logged().count("event=remediates_alone") == 2
    agent.kill()
    agent.start()
    controller.wait(lambda: agent.logged().count("retry.limit is reached") == 2, "the new agent knows it")
    assert agent.logged().count("event=remediates_alone") == 2
    controller.start()
    first, last = controller.wait(lambda: len(own(controller)) == 2 and own(controller))
    assert (first.outcome, last.outcome) == ("failed", "failed")


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"\x81\xa6digest\x01"])
def test_a_file_that_is_damaged_is_as_none(tmp_path, content):
    (tmp_path / "autonomy").write_bytes(content)
    assert OwnRemediation(tmp_path, "web1", 0.0).digest == ""


def test_rules_that_are_not_understood_are_told_and_nothing_is_done(tmp_path):
    found = OwnRemediation(tmp_path, "web1", 5.0)
    found.accept(Autonomy(digest="d", rules={"after": 1.0, "new": True}))
    assert "update this minion" in found.problems[0]
    report = EndedRun("drift-web1-1", "pending", False, kind="drift", digest="", differs=frozenset("a"))
    found.ended(report, 6.0)
    assert found.look(DesiredState(tmp_path), 1e6, 0.0, reached=False, busy=False) is None
    again = OwnRemediation(tmp_path, "web1", 5.0)
    assert (again.digest, again.problems) == ("d", found.problems)


def test_a_zone_that_the_minion_does_not_have_is_told(tmp_path):
    found = OwnRemediation(tmp_path, "web1", 5.0)
    found.accept(
        autonomy(AutonomyRules(after=1.0, windows=(Window(schedule="0 1 * * *", duration=60.0, timezone="X/Y"),)))
    )
    assert "there is no 'X/Y' on this machine" in found.problems[0]
    found.accept(autonomy(RULES))
    assert found.problems == ()
