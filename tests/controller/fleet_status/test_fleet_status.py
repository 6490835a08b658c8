"""The fleet as a wired controller sees it: real git, compiles and store, also after a restart."""

import asyncio
import dataclasses
import itertools

import pytest
import zmq

from controller.fleet_status.fleet_status import FleetStatus
from wire.messages import Hello, KeyRequest, Run, RunResult
from wire.server.types import Incoming

POLICY = "rollout: {waves: [{name: test, target: 'G@tier:test'}, {name: web, target: 'web*'}]}\n"


class Fleet:
    """A controller, and minions that say what a test has them say."""

    def __init__(self, controller, monkeypatch):
        self.controller, self.sent, self.keys = controller, [], {}
        monkeypatch.setattr(
            controller.parts.server, "send", lambda to, message: self.sent.append((to, message)), raising=True
        )

    async def join(self, minion, **grains):
        self.keys[minion] = zmq.curve_keypair()[0].decode()
        self.say(None, KeyRequest(id=minion), key=self.keys[minion])
        await self.controller.service.accept([minion])
        self.hello(minion, **grains)

    def hello(self, minion, **grains):
        self.say(minion, Hello(id=minion, grains={"id": minion, **grains}))

    def say(self, minion, message, key=None):
        key = key or self.keys[minion]
        self.controller.parts.handlers.deliver([Incoming(key=key, id=minion, message=message)])

    def apply(self, minion, outcome="ok"):
        self.controller.parts.reconciler.step([minion])
        runs = [message for to, message in self.sent if to == self.keys[minion] and isinstance(message, Run)]
        run = runs[-1]
        state = {"result": outcome != "failed", "comment": f"as {minion} says", "changes": {}}
        self.say(
            minion,
            RunResult(
                run_id=run.run_id,
                kind="apply",
                generation=run.generation,
                digest=run.digest,
                outcome=outcome,
                states={"test_|-site_|-site_|-nop": state},
            ),
        )

    def restarted(self, clock):
        """What another controller sees that begins with this store: nobody is connected to it."""
        before = self.controller.parts.fleet_status
        for session in list(self.controller.parts.handlers.context.sessions):
            self.controller.parts.handlers.context.sessions.disconnect(session.minion)
        fields = {each.name: getattr(before, each.name) for each in dataclasses.fields(FleetStatus) if each.init}
        fields = {name: value for name, value in fields.items() if not name.startswith("_") and name != "groups"}
        return FleetStatus(**{**fields, "clock": clock})


@pytest.fixture
async def fleet(make_controller, monkeypatch):
    return Fleet(make_controller({"saltern.yaml": POLICY}), monkeypatch)


async def group(status, by="fleet", name="fleet"):
    return next(one for one in (await status.view(by)).groups if one.name == name)


def conditions(one):
    return {each.type: (each.status, each.reason) for each in one.conditions}


async def test_the_fleet_its_environments_and_its_waves(fleet):
    service, status = fleet.controller.service, fleet.controller.parts.fleet_status
    await fleet.join("web1")
    await fleet.join("t1", tier="test")
    await fleet.controller.go_live()
    fleet.apply("web1")
    fleet.apply("t1", "failed")
    one = await group(status)
    assert (one.minions, one.connected) == (2, 2)
    told = conditions(one)
    assert told["Synced"] == ("False", "OutOfSync")
    assert told["Healthy"] == ("False", "Failed")
    assert told["Compiled"] == ("True", "Compiled")
    assert told["RemotesReachable"][0] == "Unknown", "the test fetched, nobody told"
    [failed] = one.reasons
    assert (failed.reason, failed.minions, failed.names) == ("RunFailed", 1, ("t1",))
    assert "as * says" in failed.message or "site" in failed.message
    assert [(each.name, each.minions) for each in (await status.view("wave")).groups] == [("test", 1), ("web", 1)]
    assert conditions(await group(status, "wave", "web"))["Synced"] == ("True", "Synced")
    assert [(each.name, each.minions) for each in (await service.fleet_status("environment")).groups] == [("base", 2)]
    text = fleet.controller.parts.metrics.exposition().decode()
    assert 'saltern_group_minions{by="wave",group="test",health="Failed",sync="OutOfSync"} 1.0' in text
    assert 'saltern_condition{by="fleet",group="fleet",status="False",type="Healthy"} 1.0' in text


async def test_times_are_true_after_a_restart(fleet):
    await fleet.join("web1")
    await fleet.controller.go_live()
    fleet.apply("web1")
    status = fleet.controller.parts.fleet_status
    before = await group(status)
    assert conditions(before)["Healthy"] == ("True", "Healthy")
    now = status.clock() + 1000.0
    clock = itertools.count(now, 0.001).__next__
    again = fleet.restarted(clock)
    after = await group(again)
    assert after.connected == 0
    assert [(one.type, one.status, one.last_transition) for one in after.conditions] == [
        (one.type, one.status, one.last_transition) for one in before.conditions
    ], "a minion that has had no time to connect again changes nothing"
    again.clock = lambda: now + again.grace + 5.0
    gone = next(one for one in (await group(again)).conditions if one.type == "Healthy")
    assert (gone.status, gone.reason) == ("False", "Unreachable")
    assert now <= gone.last_transition <= now + again.grace + 5.0
    fleet.hello("web1")
    back = next(one for one in (await group(again)).conditions if one.type == "Healthy")
    assert (back.status, back.last_transition) == ("True", now + again.grace + 5.0)


async def test_before_something_is_live_nothing_is_kept(fleet):
    await fleet.join("web1")
    status = fleet.controller.parts.fleet_status
    assert conditions(await group(status))["Compiled"] == ("Unknown", "NotCompiled")
    assert fleet.controller.store.conditions.all() == []
    await fleet.controller.go_live()
    await status.look()
    assert {one.scope for one in fleet.controller.store.conditions.all()} == {"fleet", "environment", "wave"}


async def test_a_minion_that_has_no_states_and_one_that_never_came(fleet):
    controller = fleet.controller
    controller.repository.commit({"top.sls": "base: {'web*': [web]}\n"})
    await fleet.join("web1")
    await fleet.join("db1")
    fleet.keys["new1"] = zmq.curve_keypair()[0].decode()
    fleet.say(None, KeyRequest(id="new1"), key=fleet.keys["new1"])
    await controller.service.accept(["new1"])
    await controller.go_live()
    groups = (await controller.service.fleet_status("environment")).groups
    assert [(one.name, one.minions) for one in groups] == [("(none)", 2), ("base", 1)]
    assert conditions(groups[0])["Compiled"] == ("Unknown", "NotCompiled")


async def test_how_long_a_compile_fails_is_known_over_compiles(fleet):
    controller = fleet.controller
    await fleet.join("web1")
    await controller.go_live()
    first = controller.store.desired.get("web1").since
    controller.parts.builds.compile_again(["web1"])
    controller.repository.commit({"web.sls": "site: {test.nop: [{name: other}]}\n"})
    await controller.go_live()
    second = controller.store.desired.get("web1").since
    assert second > first
    controller.repository.commit({"web.sls": "{{ nope.x }}\n"})
    await controller.go_live()
    broken = controller.store.desired.get("web1")
    assert (broken.errors != (), broken.saltenvs) == (True, ("base",))
    controller.repository.commit({"web.sls": "{{ nope.y }}\n"})
    await controller.go_live()
    assert controller.store.desired.get("web1").since == broken.since > second
    [cause] = (await group(controller.parts.fleet_status)).reasons[:1]
    assert (cause.reason, cause.since) == ("CompileError", broken.since)


async def test_pages_do_not_choose_how_often_a_large_fleet_is_looked_at(fleet, monkeypatch):
    status = fleet.controller.parts.fleet_status
    first = await status.view("fleet", recent=True)
    await fleet.join("web1")
    assert (await status.view("fleet", recent=True)).groups != first.groups, "a quick look is made at once"
    looks = []
    monkeypatch.setattr(FleetStatus, "_look", lambda self: looks.append(1) or asyncio.sleep(0.2))
    await status.look()
    for _ in range(100):
        assert (await status.view("fleet", recent=True)).at == status._at
    assert len(looks) == 1, "the last look is told"
    running = asyncio.create_task(status.run())
    while len(looks) < 2:
        await asyncio.sleep(0.01)
    running.cancel()
    await status.view("fleet")
    assert len(looks) == 3, "who does not say that a recent one will do has one of their own"
