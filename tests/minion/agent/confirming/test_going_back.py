"""An agent process that loses its controller, a real wire server: what it goes back from, and how it tells it."""

import msgspec
import pytest

from minion.agent.confirming.going_back import OwnWayBack
from minion.spool.desired_state import DesiredState
from reactors.confirmation import ConfirmRules, digest_of_confirm_rules
from wire import patch
from wire.messages import APPLIES_NOW, GOES_BACK, Confirmed, Hello, RunResult


def managed(path, contents):
    return ("file", "managed", str(path), {"contents": contents})


def confirmed(controller, seconds=1.0, run_seconds=3600.0, **fields):
    """What the controller says when what the minion holds is confirmed."""
    rules = ConfirmRules(confirmed=controller.digest, seconds=seconds, run_seconds=run_seconds, **fields)
    document = controller.document
    return Confirmed(
        digest=digest_of_confirm_rules(rules),
        rules=msgspec.to_builtins(rules),
        base=controller.digest,
        patch=patch.diff(document, document),
    )


def own(controller):
    return [each for each in controller.all(RunResult, kind="remediate") if each.own is not None]


def with_change(controller, agents, desired_state, path, *states, **fields):
    """An agent with a confirmed document, and the digest of that; then one that changes something is sent."""
    agent = agents(stop_grace=1).start()
    assert GOES_BACK in controller.next(Hello).takes
    controller.desire(desired_state(managed(path, "old")))
    controller.run("r1")
    controller.result("r1")
    base = controller.digest
    controller.send(confirmed(controller, **fields))
    controller.desire(desired_state(managed(path, "new"), *states))
    controller.run("r2")
    return agent, base


def test_it_goes_back_and_tells_it_before_anything_is_begun(controller, agents, desired_state, tmp_path):
    path = tmp_path / "conf"
    agent, base = with_change(controller, agents, desired_state, path)
    assert controller.result("r2").outcome == "changed"
    new = controller.digest
    controller.server.stop()
    controller.wait(lambda: path.read_text() == "old\n")
    controller.start()
    hello = controller.wait(lambda: [each for each in controller.all(Hello) if each.held == base][-1:])[0]
    assert hello.applied == APPLIES_NOW
    assert hello.confirmed
    result = controller.wait(lambda: own(controller))[0]
    assert (result.outcome, result.digest, result.own.back_from) == ("changed", base, new)
    assert result.own.alone >= 10.0
    assert len({each.run_id for each in own(controller)}) == 1
    assert agent.stop() == 0


def test_while_a_controller_is_there_it_decides(controller, agents, desired_state, tmp_path):
    path = tmp_path / "conf"
    agent, _ = with_change(controller, agents, desired_state, path, seconds=0.0)
    controller.result("r2")
    agent.kill()
    agent.start()
    controller.wait(lambda: len(controller.all(Hello)) == 2)
    controller.run("r3")
    controller.result("r3")
    assert path.read_text() == "new\n"
    assert "goes_back" not in agent.logged()


def test_a_run_that_does_not_end_is_ended_and_gone_back_from(controller, agents, desired_state, tmp_path):
    path = tmp_path / "conf"
    hangs = ("cmd", "run", "while true; do sleep 0.1; done", {"require": [{"file": str(path)}]})
    agent, base = with_change(controller, agents, desired_state, path, hangs, run_seconds=1.0)
    controller.wait(lambda: path.read_text() == "new\n")
    controller.server.stop()
    controller.wait(lambda: path.read_text() == "old\n")
    controller.wait(lambda: "goes_back" in agent.logged())
    controller.start()
    result = controller.wait(lambda: own(controller))[0]
    assert (result.outcome, result.digest) == ("changed", base)
    assert controller.result("r2").outcome in ("failed", "error")


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"\x81\xa6digest\x01"])
def test_a_file_that_is_damaged_is_as_none(tmp_path, content):
    (tmp_path / "confirming").write_bytes(content)
    assert OwnWayBack(tmp_path, "web1", 0.0).digest == ""


def test_what_is_not_understood_is_told_and_what_names_no_document_is_refused(tmp_path):
    found = OwnWayBack(tmp_path, "web1", 5.0)
    desired = DesiredState(tmp_path)
    found.accept(Confirmed(digest="d", rules={"new": True}), desired)
    assert "update this minion" in found.problems[0]
    found.accept(Confirmed(digest=""), desired)
    assert (found.digest, found.problems) == ("", ())
    bad = {"confirmed": "../../etc/passwd", "seconds": 1.0, "run_seconds": 1.0}
    found.accept(Confirmed(digest="d", rules=bad), desired)
    assert found.problems, "no digest"
    other = Confirmed(digest="e", rules={**bad, "confirmed": "a" * 64}, patch=patch.diff({}, {}))
    found.accept(other, desired)
    assert found.digest != "e", "the document is another one: it is sent again after the next Hello"
    assert not list((tmp_path / "confirmed").glob("*"))
