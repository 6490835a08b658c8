"""What a simulated minion says to what it hears."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from controller.messages.run_results import is_own_run
from minion.spool.outbox import SEND_AGAIN_AFTER
from minion.swarm.documents import HeldDocuments
from minion.swarm.member import MemberIdentity, SwarmBehaviour, SwarmMember
from minion.swarm.member_keys import check_ids, identities, numbered
from wire import patch
from wire.client import Connected, Disconnected
from wire.errors import BadKey
from wire.keys import KeyPair
from wire.messages import (
    Call,
    CheckCalls,
    DesiredUpdate,
    FactAnswers,
    FactQuery,
    FactRequest,
    Heartbeat,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    Preview,
    ResultAck,
    ResyncRequired,
    Run,
    RunResult,
    RunStarted,
)

LOW = {"state": "test", "fun": "nop", "name": "a", "__id__": "a", "__sls__": "web"}
DOCUMENT = {"chunks": {"one": LOW, "two": {**LOW, "name": "b"}}, "pillar": {}}
DIGEST = patch.digest(DOCUMENT)
UPDATE = DesiredUpdate(generation=1, base="", digest=DIGEST, patch=["v", DOCUMENT])


class Scene:
    """A member that is heard."""

    def __init__(self, behaviour: SwarmBehaviour | None = None, documents: HeldDocuments | None = None) -> None:
        self.said: list[object] = []
        self.counts: Counter[str] = Counter()
        identity = MemberIdentity(id="swarm-1", keys=KeyPair(public="p" * 40, secret="s" * 40))
        self.member = SwarmMember(
            identity,
            behaviour or SwarmBehaviour(),
            documents if documents is not None else HeldDocuments(),
            self.counts,
            send=self._hear,
            chance=lambda: 0.25,
            session="s1",
        )

    def _hear(self, message: object) -> bool:
        self.said.append(message)
        return True

    def heard(self, *events: object, now: float = 0.0) -> list[object]:
        """What it says to these events."""
        self.said.clear()
        for event in events:
            self.member.take(event, now)
        return list(self.said)

    def online(self) -> Scene:
        self.heard(Connected(), KeyState(state="accepted"), HelloAck(epoch="e1", alive_interval=15.0))
        assert self.member.online
        return self


@pytest.fixture
def checked():
    """A member that checks for drift, and the document of it."""
    document = {**DOCUMENT, "drift": {"interval": 100.0, "splay": 40.0, "watch": True}}
    scene = Scene().online()
    scene.heard(DesiredUpdate(generation=7, base="", digest=patch.digest(document), patch=["v", document]))
    return scene


def test_it_checks_for_drift_at_the_intervals_of_its_document(checked):
    checked.heard(Heartbeat(epoch="e1", serial=1, time=0.0), now=34.0)
    checked.said.clear()
    checked.member.tick(34.9)
    assert not [each for each in checked.said if isinstance(each, RunResult)]
    checked.member.tick(35.0)  # a quarter of the interval and of the splay: minions do not begin together
    [result] = [each for each in checked.said if isinstance(each, RunResult)]
    assert is_own_run(result.run_id, "drift")
    assert (result.kind, result.outcome, result.generation, list(result.states)) == ("drift", "ok", 7, ["one", "two"])
    assert checked.counts["checks"] == 1
    checked.member.tick(144.0)
    assert checked.counts["checks"] == 1
    checked.member.tick(145.0)
    assert checked.counts["checks"] == 2


def test_a_document_without_a_schedule_ends_the_checks(checked):
    checked.heard(UPDATE, now=20.0)
    checked.member.tick(5000.0)
    assert checked.counts["checks"] == 0
    assert checked.counts["documents"] == 2


def test_its_own_grains_are_over_those_of_all():
    identity = MemberIdentity(id="m1", keys=KeyPair(public="p" * 40, secret="s" * 40), grains={"role": "db"})
    said = []
    behaviour = SwarmBehaviour(grains={"role": "web", "os": "Debian"})
    member = SwarmMember(
        identity, behaviour, HeldDocuments(), Counter(), send=lambda one: said.append(one) or True, chance=lambda: 0.5,
        session="s1",
    )  # fmt: skip
    for event in (Connected(), KeyState(state="accepted")):
        member.take(event, 0.0)
    assert (said[-1].grains["role"], said[-1].grains["os"]) == ("db", "Debian")


def ping(run_id="1", fun="test.ping", *args, **more):
    return Call(run_id=run_id, fun=fun, args=args, **more)


def test_it_enrols_with_its_token_and_says_hello():
    scene = Scene(SwarmBehaviour(token="enrol-1", autosign_grains={"role": "load"}, grains={"os": "Debian"}))
    assert scene.heard(Connected()) == [KeyRequest(id="swarm-1", token="enrol-1", autosign_grains={"role": "load"})]
    assert scene.heard(KeyState(state="pending")) == []
    assert scene.counts["pending"] == 1
    [hello] = scene.heard(KeyState(state="accepted"))
    assert isinstance(hello, Hello)
    assert (hello.id, hello.grains["os"], hello.grains["simulated"]) == ("swarm-1", "Debian", True)
    assert scene.counts["pending"] == 0
    assert not scene.member.online
    scene.heard(HelloAck(epoch="e1", alive_interval=15.0))
    assert scene.member.online
    scene.heard(Disconnected())
    assert not scene.member.online
    assert scene.heard(Connected()) == [KeyRequest(id="swarm-1")], "an accepted key shows no token"
    assert scene.counts["reconnections"] == 1


def test_it_gives_signs_of_life_and_greets_a_restarted_controller():
    scene = Scene().online()
    assert scene.member.due_at == 15.0
    scene.said.clear()
    scene.member.tick(15.0)
    assert [type(each) for each in scene.said] == [KeepAlive]
    [hello] = scene.heard(Heartbeat(epoch="e2", serial=1, time=0.0))
    assert isinstance(hello, Hello)


@pytest.mark.parametrize(
    ("call", "value", "outcome"),
    [
        (ping(), True, "ok"),
        (ping("2", "test.echo", "hi"), "hi", "ok"),
        (ping("3", "grains.get", "id"), "swarm-1", "ok"),
        (ping("4", "pkg.install", "vim"), None, "failed"),
    ],
)
def test_a_call_is_answered_until_the_answer_is_acknowledged(call, value, outcome):
    scene = Scene().online()
    [result] = scene.heard(call)
    assert (result.run_id, result.value, result.outcome) == (call.run_id, value, outcome)
    assert scene.heard(call) == [result], "asked again, it is not run again"
    assert scene.counts["calls"] == 1
    scene.said.clear()
    scene.member.tick(2 * SEND_AGAIN_AFTER)
    assert result in scene.said
    scene.heard(ResultAck(run_id=call.run_id))
    scene.member.tick(2 * SEND_AGAIN_AFTER)
    assert result not in scene.said


def test_a_result_waits_for_the_next_connection():
    scene = Scene(SwarmBehaviour(delay=1.0)).online()
    assert scene.heard(ping()) == [RunStarted(run_id="1")]
    assert scene.heard(CheckCalls(run_ids=("1",))) == [RunStarted(run_id="1")]
    scene.heard(Disconnected())
    scene.member.tick(1.0)
    assert scene.said == []
    said = scene.heard(Connected(), KeyState(state="accepted"), HelloAck(epoch="e2", alive_interval=15.0))
    assert [each.value for each in said if isinstance(each, RunResult)] == [True]


def test_a_call_that_never_came_is_said_to_have_no_end():
    [result] = Scene().online().heard(CheckCalls(run_ids=("9",)))
    assert (result.run_id, result.outcome, result.ending) == ("9", "error", "unreachable")


def test_as_many_fail_as_are_asked_for():
    assert Scene(SwarmBehaviour(fail_percent=25.0)).online().heard(ping())[0].outcome == "ok"
    failed = Scene(SwarmBehaviour(fail_percent=26.0)).online().heard(ping())[0]
    assert (failed.outcome, failed.retcode, failed.error) == ("failed", 1, "simulated failure")


def test_documents_are_held_patched_and_run():
    documents = HeldDocuments()
    scene = Scene(documents=documents).online()
    assert scene.heard(UPDATE) == [Held(generation=1, digest=DIGEST)]
    _, result = scene.heard(Run(run_id="r1", kind="apply", generation=1, digest=DIGEST))
    assert (result.outcome, list(result.states), result.digest) == ("changed", ["one", "two"], DIGEST)
    assert result.states["one"]["result"] is True
    assert result.states["one"]["__sls__"] == "web"
    _, again = scene.heard(Run(run_id="r2", kind="apply", generation=1, digest=DIGEST, keys=("two",)))
    assert (again.outcome, list(again.states)) == ("ok", ["two"])
    changed = {**DOCUMENT, "pillar": {"a": 1}}
    update = DesiredUpdate(generation=2, base=DIGEST, digest=patch.digest(changed), patch=patch.diff(DOCUMENT, changed))
    assert scene.heard(update) == [Held(generation=2, digest=update.digest)]
    assert len(documents) == 1, "nobody holds the one before"
    branch = {**changed, "pillar": {"a": 2}}
    change = patch.diff(changed, branch)
    asked = Preview(run_id="p1", base=update.digest, digest=patch.digest(branch), patch=change, keys=("one",))
    _, preview = scene.heard(asked)
    assert (preview.kind, preview.outcome, preview.states["one"]["result"]) == ("preview", "pending", None)
    assert len(documents) == 1, "a preview is not held"
    assert scene.member.due_at < float("inf")


def test_what_does_not_fit_is_asked_for_as_a_whole():
    scene = Scene().online()
    run = Run(run_id="r1", kind="apply", generation=1, digest=DIGEST)
    assert scene.heard(run) == [ResyncRequired(generation=1, held="")]
    other = DesiredUpdate(generation=2, base="f" * 64, digest=DIGEST, patch=["="])
    assert scene.heard(other) == [ResyncRequired(generation=2, held="")]
    wrong = DesiredUpdate(generation=2, base="", digest="f" * 64, patch=["v", DOCUMENT])
    assert scene.heard(wrong) == [ResyncRequired(generation=2, held="")]


def test_states_of_a_call_are_run():
    packed = msgspec.msgpack.encode(DOCUMENT)
    _, result = Scene().online().heard(ping("1", "state.apply", "web", digest=DIGEST, document=packed))
    assert [each["name"] for each in result.value.values()] == ["a", "b"]


def test_it_has_no_machine_to_look_at():
    question = FactQuery(fun="disk.usage", asked="[[], {}]")
    [answers] = Scene().online().heard(FactRequest(request=3, questions=(question, question)))
    assert isinstance(answers, FactAnswers)
    assert [answer.value for answer in answers.answers] == [None, None]
    assert "simulated" in answers.answers[0].error


def test_kept_keys_are_the_same_at_the_next_start(tmp_path):
    ids = numbered("load-", 12)
    assert ids[0] == "load-01"
    first = identities(ids[:6], tmp_path / "keys")
    again = identities(ids, tmp_path / "keys")
    assert [each.keys for each in again[:6]] == [each.keys for each in first]
    assert len({each.keys.public for each in again}) == 12
    assert (tmp_path / "keys" / "swarm.keys").stat().st_mode & 0o777 == 0o600
    assert identities(ids, None)[0].keys != first[0].keys
    (tmp_path / "keys" / "swarm.keys").chmod(0o644)
    with pytest.raises(BadKey, match="chmod 600"):
        identities(ids, tmp_path / "keys")
    (tmp_path / "keys" / "swarm.keys").chmod(0o600)
    (tmp_path / "keys" / "swarm.keys").write_text("load-01 short\n")
    with pytest.raises(BadKey, match="line 1"):
        identities(ids, tmp_path / "keys")


def test_ids_are_those_of_minions():
    with pytest.raises(BadKey, match="cannot be the id"):
        numbered("../", 3)
    with pytest.raises(BadKey, match="twice"):
        check_ids(["a", "b", "a"])
