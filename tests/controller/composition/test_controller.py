"""A controller as it is wired: a push is compiled, a minion that says hello gets it, and its result is applied."""

import msgspec
import zmq

from controller.schema.requests import WhyQuery
from wire.messages import DesiredUpdate, Hello, KeyRequest, KeyState, Run, RunResult
from wire.server.types import Incoming


async def test_from_a_push_to_applied(make_controller, monkeypatch):
    controller = make_controller()
    parts, key = controller.parts, zmq.curve_keypair()[0].decode()
    sent = []
    monkeypatch.setattr(parts.server, "send", lambda to, message: sent.append((to, message)))

    def say(message, minion="web1"):
        parts.handlers.deliver([Incoming(key=key, id=minion, message=message)])

    say(KeyRequest(id="web1"), minion=None)
    assert sent == [(key, KeyState(state="pending"))]
    await controller.service.accept(["web1"])
    assert parts.handlers.keys.keyring.identity(key).id == "web1"
    say(Hello(id="web1", grains={"id": "web1"}))
    await controller.go_live()
    assert controller.store.desired.get("web1").generation == 1
    parts.reconciler.step(["web1"])
    kinds = [type(message) for _, message in sent]
    assert kinds[-2:] == [DesiredUpdate, Run]
    run, document = sent[-1][1], sent[-2][1]
    assert (run.keys, run.digest) == (None, document.digest)
    say(RunResult(run_id=run.run_id, kind="apply", generation=1, digest=run.digest, outcome="ok"))
    assert controller.store.applied.get("web1").digest == run.digest
    [status] = await controller.service.status(None)
    assert (status.sync, status.health, status.connected) == ("Synced", "Healthy", True)
    steps = (await controller.service.why(WhyQuery(minion="web1"))).steps
    assert [step.step for step in steps] == ["revision", "compile", "run", "result", "applied"]
    assert steps[0].details == ("A commit",)
    assert msgspec.to_builtins(steps[0])["cause"] == "", "nobody has noticed: the test fetched"


async def test_parts_share_one_state(make_controller):
    parts = make_controller().parts
    assert parts.reconciler.live is parts.sources.live is parts.builds.live is parts.service.git.live
    assert parts.handlers.results.waiters is parts.service.minions.jobs.waiters
    assert parts.builds.builder.reconciler is parts.reconciler
    assert parts.handlers.reconcilers.builds is parts.builds
    assert parts.service.minions.previews.sides.compiles.compiler is parts.pools[1]
