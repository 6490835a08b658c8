"""The replacement of an agent, with the controller killed at each of its steps, on a machine that goes on meanwhile."""

import asyncio
import contextlib
import itertools
from types import SimpleNamespace

import pytest

from controller.api.key_changes import KeyChanges
from controller.config.limits import ReplacementLimits
from controller.replacement import replacement as module
from controller.replacement.machine_steps import MachineReport, MachineStepFailed
from controller.replacement.replacement import AgentReplacement, ReplacementPorts
from controller.sessions.sessions import KeyRegistry, Session, Sessions
from controller.ssh.bundle import TargetPython
from controller.store import Store
from controller.store.jobs.agent_replacements import ReplacementRecord
from controller.store.minions import GreetedMinion
from reactors.bus import Bus
from wire.keys import new_pair

REAL_SLEEP = asyncio.sleep
SALT, SALTERN = new_pair().public, new_pair().public
KEYS = {"salt-minion": SALT, "saltern-minion": SALTERN}


class World:
    """A store, the controller that has it now, and a machine with its services."""

    def __init__(self, url):
        self.url = url
        self.runs = {"salt-minion": True, "saltern-minion": False}
        self.broken = set()
        self.turns = 0
        self.kill_at = None
        self.start()
        self.store.keys.request(SALT, "web1", 1.0)
        self.store.keys.set_state(SALT, "accepted", 1.0)
        greeted = GreetedMinion(now=1.0, grains={}, session="s", held="")
        self.store.minions.greeted({"web1": greeted}, [])
        self.keyring.replace(self.store.keys.all())

    def start(self):
        """A controller begins, with what is in the store alone."""
        self.store = Store(self.url)
        self.sessions = Sessions()
        self.keyring = KeyRegistry(self.store.keys.all())
        server = SimpleNamespace(send=lambda *_: None, disconnect=lambda _: None)
        builds = SimpleNamespace(fleet_changed=lambda _: None)
        self.keys = KeyChanges(
            store=self.store,
            keyring=self.keyring,
            sessions=self.sessions,
            server=server,
            builds=builds,
            bus=Bus(lambda: 1.0),
            clock=lambda: 1.0,
        )

    def agent(self):
        """What answers; the one that runs and whose key is accepted."""
        return [name for name, runs in self.runs.items() if runs and self.state(KEYS[name]) == "accepted"]

    def state(self, key):
        known = self.keyring.identity(key)
        return "" if known is None else known.state

    async def turn(self):
        """Agents connect or ask; here the controller is killed, when it is time."""
        self.turns += 1
        for name, key in KEYS.items():
            if not self.runs[name] or name in self.broken:
                self.sessions.lost(key)
                continue
            if self.state(key) == "accepted":
                if self.sessions.session("web1") is None or self.sessions.session("web1").key != key:
                    agent = "salt 3008.1" if name == "salt-minion" else "saltern 1"
                    self.sessions.connect(
                        Session(minion="web1", key=key, session="s", grains={}, seen=1.0, agent=agent)
                    )
            elif not self.state(key):
                self.keyring.put(self.store.keys.request(key, "web1", 1.0))
        accepted = [each for each in self.store.keys.all() if (each.id, each.state) == ("web1", "accepted")]
        assert len(accepted) == 1
        assert len(self.agent()) == 1, "one agent answers, at each time"
        if self.turns == self.kill_at:
            raise asyncio.CancelledError
        await REAL_SLEEP(0)

    # --- `MachineStepsPort`: done by the agent that answers

    async def _step(self, service, runs):
        await self.turn()
        [agent] = self.agent()
        assert service != agent or runs, "no agent stops itself"
        self.runs[service] = runs
        await self.turn()

    async def look(self, minion, user):
        await self.turn()
        return MachineReport(
            python=TargetPython(version=(3, 11), magic="", machine="x86_64", libc="glibc"),
            root=True,
            venv=True,
            manager="systemd",
            services={"salt-minion": True, "saltern-minion": False},
            configured=True,
            grains=False,
            program="",
            free=1 << 40,
        )

    async def install(self, minion, bundle, unit, own, user):
        await self._step("saltern-minion", True)
        return SALTERN, ()

    async def start_service(self, minion, service, user):
        await self._step(service, True)

    async def stop(self, minion, service, user, *, purge=False):
        await self._step(service, False)

    def replacement(self, record):
        async def bundle(python):
            return SimpleNamespace(digest="d", path=None)

        steps = SimpleNamespace(look=self.look, install=self.install, start=self.start_service, stop=self.stop)
        ports = ReplacementPorts(
            steps=steps,
            store=self.store,
            keys=self.keys,
            keyring=self.keyring,
            sessions=self.sessions,
            bundle=bundle,
            unit=lambda: "",
            own=lambda address: {"master": address},
            refusal=lambda minion: "",
            limits=ReplacementLimits(come_seconds=0.3),
            clock=lambda: 1.0,
        )
        return AgentReplacement(record=record, ports=ports, tell=lambda *_: None)


@pytest.fixture
def world(tmp_path, monkeypatch):
    found = World(f"sqlite:///{tmp_path}/store.db")

    async def look_again(_):
        await found.turn()

    monkeypatch.setattr(module.asyncio, "sleep", look_again)
    yield found
    found.store.close()


def begun(world, to="saltern"):
    old, new = (SALT, "") if to == "saltern" else (SALTERN, SALT)
    record = ReplacementRecord(minion="web1", to=to, step="installing", old_key=old, new_key=new)
    world.store.replacements.put(record)
    return record


async def run(world, record):
    """Carry it on, with a controller that is killed at `kill_at`, and another one after it."""
    world.turns = 0
    with contextlib.suppress(asyncio.CancelledError):
        return await world.replacement(record).run()
    world.kill_at = None
    world.store.close()
    world.start()
    return await world.replacement(world.store.replacements.get("web1")).run()


async def test_there_and_back_whenever_the_controller_is_killed(world):
    for turn in itertools.count(1):
        world.kill_at = turn
        there = await run(world, begun(world))
        assert (there.step, world.agent()) == ("done", ["saltern-minion"])
        assert not world.runs["salt-minion"]
        killed = world.kill_at is None
        world.kill_at = turn
        back = await run(world, begun(world, "salt"))
        assert (back.step, world.agent()) == ("done", ["salt-minion"])
        assert not world.runs["saltern-minion"]
        if not killed and world.kill_at is not None:
            break
    assert turn > 6


@pytest.mark.parametrize("to", ["saltern", "salt"])
async def test_an_agent_that_does_not_come_gives_the_id_back(world, to):
    old, new = "salt-minion", "saltern-minion"
    if to == "salt":
        await run(world, begun(world))
        old, new = new, old
    world.broken = {new}
    ended = await run(world, begun(world, to))
    assert ended.step == "failed"
    assert "does not" in ended.why or "shows no key" in ended.why
    assert world.agent() == [old]
    assert not world.runs[new]
    world.broken = set()
    assert (await run(world, begun(world, to))).step == "done"
    assert world.agent() == [new]


@pytest.mark.parametrize("state", ["accepted", "rejected", "pending"])
async def test_a_machine_cannot_tell_the_key_of_another(world, state):
    other = new_pair().public
    world.store.keys.request(other, "web2", 1.0)
    world.keyring.put(world.store.keys.set_state(other, state, 1.0))

    async def lie(*_):
        return other, ()

    replacement = world.replacement(begun(world))
    replacement.ports.steps.install = lie
    ended = await replacement.run()
    assert (ended.step, ended.why) == ("failed", "the machine tells the key of web2")
    assert world.state(SALT) == "accepted"
    assert world.state(other) == state


@pytest.mark.parametrize("told", ["", "no key", "~" * 40])
async def test_what_is_no_key_is_not_taken(world, told):
    async def lie(*_):
        return told, ()

    replacement = world.replacement(begun(world))
    replacement.ports.steps.install = lie
    ended = await replacement.run()
    assert ended.step == "failed"
    assert "tells no key" in ended.why
    assert world.state(SALT) == "accepted"


async def test_a_machine_on_which_it_cannot_be_installed_is_left_alone(world):
    async def refuse(*_):
        raise MachineStepFailed("there is no room", "make some")

    record = begun(world)
    replacement = world.replacement(record)
    replacement.ports.steps.install = refuse
    ended = await replacement.run()
    assert (ended.step, ended.why, ended.hint) == ("failed", "there is no room", "make some")
    assert world.agent() == ["salt-minion"]
    assert world.state(SALTERN) == ""
