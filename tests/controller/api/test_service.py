"""What people may ask, of a wired controller: who is meant, what is refused, and what is told of it."""

import asyncio
import time
from itertools import pairwise

import pytest

from controller.api.key_changes import BATCH, PAGE
from controller.observe.run_text import typed_arguments
from controller.schema.errors import ServiceError
from controller.schema.events import DROPPED
from controller.schema.fleet.minion_pages import MinionPageQuery
from controller.schema.requests import CallQuestion, EventsQuery, HistoryQuery, SyncQuestion, WhyQuery
from controller.schema.targets import TargetExpression
from controller.sessions.sessions import Session
from controller.store import AppliedRecord, RunRecord
from controller.store.keys import Keys
from wire.messages import RunResult

WEB = TargetExpression(expression="web*")
WEB1 = TargetExpression(expression="web1")


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
    controller.parts.handlers.context.sessions.connect(session)
    return session


async def test_a_slow_reader_is_told_how_many_events_it_missed(controller):
    service = controller.service
    bus, most = service.telemetry.bus, 11_000
    reader = service.events(EventsQuery(tag="my/*"))
    first = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0)
    bus.publish("my/0", {})
    assert [event.tag for event in await first] == ["my/0"]
    for number in range(1, most + 1):
        bus.publish(f"my/{number}", {})
    notice, *events = await anext(reader)
    while events[-1].tag != f"my/{most}":
        more = await anext(reader)
        assert len(more) <= 100
        events += more
    await reader.aclose()
    left = len(events)
    assert notice.tag == DROPPED
    assert notice.data["count"] == most - left > 0


async def test_events_and_runs_name_the_user(controller):
    connect(controller)
    service = controller.service
    with service.telemetry.bus.subscribe("sal*") as seen:
        await service.pause(WEB, user="alice")
        await service.resume(WEB, user="alice")
        await service.accept(["web*"], user="alice")
        await service.hook(None, user="alice")
        asking = [
            asyncio.create_task(anext(service.sync(SyncQuestion(target=WEB1, whole=True), user="alice"))),
            asyncio.create_task(anext(service.call(CallQuestion(target=WEB1, fun="test.ping"), user="bob"))),
        ]
        while len(controller.store.runs.newest()) < 2:
            await asyncio.sleep(0)
        told = {event.tag: event.data["user"] for event in seen.drain() if "user" in event.data}
    assert [each for tag, each in told.items() if not tag.startswith("salt/job/")] == ["alice"] * (len(told) - 1)
    assert {each for tag, each in told.items() if tag.startswith("salt/job/")} == {"bob"}
    assert set(told) >= {"saltern/minion/web1/paused", "saltern/minion/web1/resumed", "saltern/hook", "saltern/sync"}
    assert {run.reason for run in controller.store.runs.newest()} == {
        "sync --whole by alice",
        "run test.ping by bob",
    }
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    assert (await service.why(WhyQuery(minion="web1"))).steps[0].text == "alice: saltern sync web1 --whole"


async def test_sync_declines_who_is_away_or_paused(controller):
    connect(controller, "web2")
    await controller.service.pause(TargetExpression(expression="web2"))
    answers = controller.service.sync(SyncQuestion(target=WEB))
    found = {answer.minion: answer.outcome async for answer in answers}
    assert found == {"web1": "unreachable", "web2": "paused"}
    assert controller.store.runs.newest() == []


async def test_a_request_starts_a_run_at_once_and_the_next_one_joins_it(controller):
    connect(controller)

    async def sync():
        answers = controller.service.sync(SyncQuestion(target=TargetExpression(expression="web1"), whole=True))
        return [answer async for answer in answers]

    with controller.service.telemetry.bus.subscribe("saltern/*") as seen:
        both = [asyncio.create_task(sync()) for _ in range(2)]
        while len(controller.parts.handlers.results.waiters) < 1 or len(seen._queue) < 3:
            await asyncio.sleep(0)
        request, run, again = seen.drain()
    assert (request.tag, again.tag) == ("saltern/sync", "saltern/sync")
    assert run.cause == request.id
    [record] = controller.store.runs.newest()
    assert (record.kind, record.keys, record.reason) == ("apply", None, "sync --whole")
    assert [type(message).__name__ for message in controller.sent] == ["DesiredUpdate", "Run"]
    result = RunResult(run_id=record.run_id, kind="apply", generation=1, digest=record.digest, outcome="ok")
    await asyncio.sleep(0.01)
    controller.parts.handlers.results.waiters[record.run_id].set_result(result)
    assert [[answer.outcome for answer in await each] for each in both] == [["ok"], ["ok"]]


async def test_keys_are_named_by_id_glob_or_fingerprint(controller):
    with pytest.raises(ServiceError):
        await controller.service.accept(["nobody"])
    [key] = await controller.service.reject(["web1"])
    assert (key.minion, key.state) == ("web1", "rejected")
    session = connect(controller, "web2")
    await controller.service.reject([controller.store.keys.all()[1].fingerprint])
    assert controller.parts.handlers.context.sessions.session(session.minion) is None, "it is cut off"
    assert [key.state for key in await controller.service.accept(["web*"])] == ["accepted", "accepted"]
    await controller.service.delete(["web1"])
    assert [minion.id for minion in controller.store.minions.all()] == ["web2"]


async def test_a_new_key_of_an_id_inherits_nothing_of_a_deleted_one(controller):
    """Also when the old key was rejected first; as long as a key may be accepted again, its minion is known."""
    [old] = [key for key in controller.store.keys.all() if key.id == "web1"]
    await controller.service.reject(["web1"])
    controller.store.keys.request("n" * 40, "web1", 2.0)
    [new] = [key for key in controller.store.keys.all() if key.public_key == "n" * 40]
    await controller.service.delete([new.fingerprint])
    assert controller.store.minions.get("web1") is not None
    await controller.service.delete([old.fingerprint])
    assert controller.store.minions.get("web1") is None
    controller.store.keys.request("n" * 40, "web1", 3.0)
    await controller.service.accept(["web1"])
    assert controller.store.minions.get("web1") is None
    assert controller.store.desired.get("web1") is None


async def test_thousands_of_pending_keys_are_deleted_at_once(controller):
    with controller.store.transaction():
        for number in range(1500):
            controller.store.keys.request(f"{number:0>40}", f"stranger{number}", 2.0)
    began = time.perf_counter()
    assert len(await controller.service.delete(["stranger*"])) == 1500
    assert time.perf_counter() - began < 5, "one by one it is many times that"
    assert [key.id for key in controller.store.keys.all()] == ["web1", "web2"]


async def test_thousands_of_keys_are_changed_a_batch_a_turn(controller):
    """By fingerprint as the command line asks, and a page or a batch in one turn of the loop."""
    with controller.store.transaction():
        for number in range(1200):
            controller.store.keys.request(f"{number:0>40}", f"stranger{number}", 2.0)
    keyring, counted, listed = controller.parts.handlers.keys.keyring, [], []

    async def watch():
        while True:
            counted.append(len(keyring.accepted))
            await asyncio.sleep(0)

    page = type(controller.store.keys).page
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Keys, "page", lambda *of: listed.append(len(counted)) or page(*of))
        watching = asyncio.create_task(watch())
        prints = [key.fingerprint for key in await controller.service.keys() if key.state == "pending"]
        assert len(await controller.service.accept(prints)) == 1200
        watching.cancel()
    assert len(set(listed)) >= 2 * 1200 // PAGE, "each page in a turn of its own, of the list and of the change"
    assert keyring.accepted >= {"stranger0", "stranger1199"}
    assert max(after - before for before, after in pairwise([*counted, len(keyring.accepted)])) <= BATCH


async def test_a_conflict_in_a_batch_changes_nothing_of_it(controller):
    for public_key, minion in (("n" * 40, "web1"), ("o" * 40, "db1")):
        controller.store.keys.request(public_key, minion, 2.0)
    with pytest.raises(ServiceError, match="another key is accepted"):
        await controller.service.accept(["db1", "web1"])
    assert {key.minion: key.state for key in await controller.service.keys()}["db1"] == "pending"
    assert "db1" not in controller.parts.handlers.keys.keyring.accepted


async def test_keys_that_wait_cost_a_build_nothing(controller, monkeypatch):
    controller.store.keys.request("n" * 40, "stranger", 2.0)
    monkeypatch.delattr(Keys, "all")
    monkeypatch.delattr(Keys, "page")
    assert [record.id for record in controller.parts.builds.requests.accepted()] == ["web1", "web2"]
    assert controller.service.minions.targets.select(WEB) == ["web1", "web2"]


async def test_refused_key_requests_are_counted_by_limit(controller):
    assert controller.service.key_refusals().limits == {}
    for limit in ("pending-keys", "requests-a-second", "pending-keys", "total-bytes"):
        controller.service.telemetry.metrics.limit_refused("stranger", limit)
    controller.service.telemetry.metrics.limit_refused("minion", "values")
    assert controller.service.key_refusals().limits == {"requests-a-second": 1, "pending-keys": 2}


async def test_pause_and_resume_are_told_and_looked_at(controller):
    queue = controller.parts.reconciler._queue
    await queue.take()
    with controller.service.telemetry.bus.subscribe("saltern/minion/*") as seen:
        assert await controller.service.pause(WEB) == ["web1", "web2"]
        assert await controller.service.resume(TargetExpression(expression="web1")) == ["web1"]
        assert [event.tag.split("/", 2)[2] for event in seen.drain()] == ["web1/paused", "web2/paused", "web1/resumed"]
    assert await queue.take() == {"web1", "web2"}
    assert [record.paused for record in controller.store.minions.all()] == [False, True]


async def test_a_hook_names_remotes(controller):
    with controller.service.telemetry.bus.subscribe("saltern/hook") as seen:
        assert await controller.service.hook(None) == 1
        assert await controller.service.hook("https://elsewhere/x.git") == 0
        assert len(seen.drain()) == 1
    [remote] = controller.service.remotes()
    assert remote.subject == "A commit"
    assert remote.error == ""


async def test_why_of_nobody_is_no_target(controller):
    with pytest.raises(ServiceError) as refused:
        await controller.service.why(WhyQuery(minion="nobody"))
    assert refused.value.kind == "no-target"
    assert [step.step for step in (await controller.service.why(WhyQuery(minion="web1"))).steps] == [
        "revision",
        "compile",
    ]


async def test_the_history_says_what_was_called_with_what_by_whom(controller):
    connect(controller)
    given = ("/etc/motd", "two words", {"a": 1})
    kwargs = {"password": "hunter2", "mode": 644}
    call = controller.service.call(CallQuestion(target=WEB1, fun="file.write", args=given, kwargs=kwargs), user="bob")
    asking = asyncio.create_task(anext(call))
    while not controller.store.runs.newest():
        await asyncio.sleep(0)
    [entry] = await controller.service.history(HistoryQuery(minion="web1", limit=5))
    assert (entry.user, entry.fun) == ("bob", "file.write")
    assert entry.args == """/etc/motd 'two words' {"a": 1} password=*** mode=644"""
    assert entry.cause == f"run file.write {entry.args} by bob"
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_arguments_of_functions_about_passwords_are_not_kept(controller):
    assert typed_arguments("shadow.set_password", ("root", "hunter2"), {}) == "root ***"
    assert len(typed_arguments("test.echo", ("x" * 1000,), {})) == 200


@pytest.mark.parametrize("ask", ["history", "diff", "compile_detail"])
async def test_a_minion_that_is_not_known_is_no_target(controller, ask):
    with pytest.raises(ServiceError) as error:
        answer = getattr(controller.service, ask)(HistoryQuery(minion="nosuch") if ask == "history" else "nosuch")
        await answer
    assert error.value.kind == "no-target"


async def test_sync_beside_drift_says_what_heals_it(controller):
    connect(controller)
    service, store = controller.service, controller.store
    desired = store.desired.get("web1")
    store.applied.put(
        AppliedRecord(minion="web1", generation=1, digest=desired.digest, revision="r", at=1.0, outcome="ok")
    )
    run = RunRecord(run_id="drift-1", minion="web1", kind="drift", created=1.0, digest=desired.digest, test=True)
    store.runs.create(run)
    store.runs.finish("drift-1", "pending", finished=2.0, changes=2)
    told = [each async for each in service.sync(SyncQuestion(target=WEB1))]
    assert [each.summary for each in told] == ["nothing is pending, but 2 states drifted; --whole heals them"]
    told = [each async for each in service.sync(SyncQuestion(target=WEB1, test=True))]
    assert told[0].summary.endswith("; --test --whole tests the whole highstate")


async def test_pages_of_minions_are_filtered_sorted_and_cut(controller):
    for name in ("db1", "db2", "WEB3"):
        controller.minion(name)
    controller.service.state.keyring.replace(controller.store.keys.all())
    connect(controller, "web1")

    async def ids(**query):
        page = await controller.service.minion_page(MinionPageQuery(**query))
        return [each.minion for each in page.minions], page.total

    assert await ids() == (["WEB3", "db1", "db2", "web1", "web2"], 5)
    assert await ids(limit=2, offset=1) == (["db1", "db2"], 5)
    assert await ids(offset=5) == ([], 5)
    assert await ids(text="Eb", descending=True) == (["web2", "web1", "WEB3"], 3)
    assert await ids(expression="db*") == (["db1", "db2"], 2)
    page = await controller.service.minion_page(MinionPageQuery(health="Unreachable"))
    assert {each.health for each in page.minions} == {"Unreachable"}
    assert page.total == 4
    assert await ids(health="Unreachable,Failed", text="web") == (["WEB3", "web2"], 2)
    assert await ids(sort="health", descending=True, text="web") == (["web1", "WEB3", "web2"], 3)
    assert await ids(sync="Progressing") == ([], 0)
    with pytest.raises(ServiceError, match="no minion"):
        await ids(expression="nosuch*")
