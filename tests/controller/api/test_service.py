"""What people may ask, of a wired controller: who is meant, what is refused, and what is told of it."""

import asyncio

import pytest

from controller.api.schema import ServiceError, TargetExpression
from controller.sessions.sessions import Session
from wire.messages import RunResult

WEB = TargetExpression(expression="web*")


@pytest.fixture
async def controller(make_controller, monkeypatch):
    controller = make_controller(hook_secret="x")
    for name in ("web1", "web2"):
        controller.minion(name)
    await controller.go_live()
    controller.sent = []
    monkeypatch.setattr(controller.parts.server, "send", lambda key, message: controller.sent.append(message))
    monkeypatch.setattr(controller.parts.server, "disconnect", lambda key: None)
    return controller


def connect(controller, minion="web1"):
    session = Session(minion=minion, key=minion.ljust(40, "x"), session="s", grains={}, seen=1.0)
    controller.parts.handlers.sessions.connect(session)
    return session


async def test_sync_declines_who_is_away_or_paused(controller):
    connect(controller, "web2")
    await controller.service.pause(TargetExpression(expression="web2"))
    answers = controller.service.sync(WEB, whole=False, test=False, progress=False)
    found = {answer.minion: answer.outcome async for answer in answers}
    assert found == {"web1": "unreachable", "web2": "paused"}
    assert controller.store.runs.newest() == []


async def test_a_request_starts_a_run_at_once_and_the_next_one_joins_it(controller):
    connect(controller)

    async def sync():
        answers = controller.service.sync(TargetExpression(expression="web1"), whole=True, test=False, progress=False)
        return [answer async for answer in answers]

    with controller.service.bus.subscribe("saltern/*") as seen:
        both = [asyncio.create_task(sync()) for _ in range(2)]
        while len(controller.parts.handlers.results.waiters) < 1 or len(seen._queue) < 3:
            await asyncio.sleep(0)
        request, run, again = seen.drain()
    assert (request.tag, again.tag) == ("saltern/sync", "saltern/sync")
    assert run.cause == request.id
    [record] = controller.store.runs.newest()
    assert (record.kind, record.keys, record.cause) == ("apply", None, "sync")
    assert [type(message).__name__ for message in controller.sent] == ["DesiredUpdate", "Run"]
    result = RunResult(run_id=record.run_id, kind="apply", generation=1, digest=record.digest, outcome="ok")
    await asyncio.sleep(0.01)
    controller.parts.handlers.results.waiters[record.run_id].set_result(result)
    assert [[answer.outcome for answer in await each] for each in both] == [["ok"], ["ok"]]


async def test_keys_are_named_by_id_glob_or_fingerprint(controller):
    with pytest.raises(ServiceError):
        controller.service.accept(["nobody"])
    [key] = controller.service.reject(["web1"])
    assert (key.id, key.state) == ("web1", "rejected")
    session = connect(controller, "web2")
    controller.service.reject([controller.store.keys.all()[1].fingerprint])
    assert controller.parts.handlers.sessions.session(session.minion) is None, "it is cut off"
    assert [key.state for key in controller.service.accept(["web*"])] == ["accepted", "accepted"]
    controller.service.delete(["web1"])
    assert [minion.id for minion in controller.store.minions.all()] == ["web2"]


async def test_pause_and_resume_are_told_and_looked_at(controller):
    queue = controller.parts.reconciler._queue
    await queue.take()
    with controller.service.bus.subscribe("saltern/minion/*") as seen:
        assert await controller.service.pause(WEB) == ["web1", "web2"]
        assert await controller.service.resume(TargetExpression(expression="web1")) == ["web1"]
        assert [event.tag.split("/", 2)[2] for event in seen.drain()] == ["web1/paused", "web2/paused", "web1/resumed"]
    assert await queue.take() == {"web1", "web2"}
    assert [record.paused for record in controller.store.minions.all()] == [False, True]


async def test_a_hook_names_remotes(controller):
    with controller.service.bus.subscribe("saltern/hook") as seen:
        assert await controller.service.hook(None) == 1
        assert await controller.service.hook("https://elsewhere/x.git") == 0
        assert len(seen.drain()) == 1
    [remote] = controller.service.remotes()
    assert remote.subject == "A commit"
    assert remote.error == ""


@pytest.mark.parametrize("name", ["diff", "compile_detail"])
async def test_a_minion_that_is_not_known(controller, name):
    with pytest.raises(ServiceError) as refused:
        getattr(controller.service, name)("nobody")
    assert refused.value.kind == "not-found"


async def test_why_of_nobody_is_no_target(controller):
    with pytest.raises(ServiceError) as refused:
        await controller.service.why("nobody")
    assert refused.value.kind == "no-target"
    assert [step.step for step in (await controller.service.why("web1")).steps] == ["revision", "compile"]
