"""A whole controller, wired, and what an accepted minion may send: each message, each place in it, hostile, again.

Frames take the way that they take in life but for the socket: admitted by `wire.server.admission`, then handled by the
real handlers over a real store. What the controller would send is recorded on its way to the wire's thread.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from message_shapes import HOSTILE_NAMES, MARK, TO_CONTROLLER, attacks, filled, pack

from controller.composition.controller import compose
from controller.messages import message_handlers
from controller.observe.metrics import Metrics
from controller.store import AppliedRecord, DesiredRecord, RunRecord
from wire.codec import encode
from wire.limits import WireLimits
from wire.messages import (
    Bye,
    FactAnswers,
    FindFile,
    FromRelay,
    GetBlob,
    GetMine,
    GetOptions,
    GetStates,
    Grains,
    Held,
    Hello,
    KeepAlive,
    KeyRequest,
    ListFiles,
    Mine,
    MineEntry,
    MinionEvents,
    NewKey,
    PublishCall,
    PushFile,
    RelayedFrame,
    ResyncRequired,
    RunEvents,
    RunProgress,
    RunResult,
    RunStarted,
)
from wire.server.admission import admit
from wire.server.types import Gone, Identity, Limits, Refusal

LIAR, VICTIM = "web1", "db1"
DIGEST = "d" * 64
OF_VICTIM = (VICTIM, "open-apply", "open-call", "finished-call", DIGEST, "stream-of-db1")
"""Names that are the victim's: its id, run ids, the digest of its document, its stream of events."""
OWN = {"id": LIAR, "run_id": "own-call", "fun": "test.ping", "target": "*", "asked": '[["*", "test.ping"], {}]'}
"""What a message of the liar has in its other places."""
RESERVED = ("salt", "saltern", "minion", "minion_start")
TIMES = ("last_seen", "time", "id")
"""Columns that say only when, and in which order."""
BY_KIND = pytest.mark.parametrize("kind", TO_CONTROLLER, ids=lambda kind: kind.__name__)


def key_of(minion):
    return minion.ljust(40, "x")


class Wired:
    """The controller, with two minions connected."""

    def __init__(self, controller, folder, minions=(LIAR, VICTIM)):
        self.parts, self.store = controller.parts, controller.store
        self.handlers = self.parts.handlers
        self.sent, self.told = [], []
        self.folder = folder
        bus = self.handlers.context.bus
        deliver = bus.deliver
        self.ended = []
        self.parts.server.send = lambda key, message: self.sent.append((key, message))
        self.parts.server.disconnect = lambda key, refused_seconds=0.0, connection=0: self.ended.append(key)
        bus.deliver = lambda event: (self.told.append(event), deliver(event))
        for minion in minions:
            controller.minion(minion)
        self.handlers.keys.keyring.replace(self.store.keys.all())

    def frame(self, frame, minion=LIAR):
        """A frame that comes by the connection of a minion; what the wire made of it."""
        identity = Identity(id=minion, state="accepted")
        outcome = admit(frame, key=key_of(minion), identity=identity, limits=Limits(), borders=WireLimits())
        self.handlers.deliver([outcome])
        return outcome

    def restarted(self):
        """A controller that remembers what is stored, and nothing else."""
        parts = compose(replace(self.parts.resources, metrics=Metrics(time.time)))
        return Wired(SimpleNamespace(parts=parts, store=self.store), self.folder, ())

    def say(self, message, minion=LIAR):
        self.frame(encode(message), minion)

    def connect(self, minion):
        self.say(Hello(id=minion, grains={"id": minion, "os": "Debian"}, session=f"session-{minion}"), minion)

    def to(self, minion):
        return [message for key, message in self.sent if key == key_of(minion)]

    def rows(self):
        """All that is stored, by table."""
        [path] = self.folder.rglob("controller.sqlite")
        with sqlite3.connect(path) as connection:
            connection.row_factory = sqlite3.Row
            tables = [row["name"] for row in connection.execute("select name from sqlite_master where type = 'table'")]
            return {
                table: sorted(
                    repr({name: value for name, value in zip(row.keys(), row, strict=True) if name not in TIMES})
                    for row in connection.execute(f'select * from "{table}"')
                )
                for table in tables
            }

    def of_victim(self):
        """The rows that have one of its names as a value, and what is known of its session."""
        session = self.handlers.context.sessions.session(VICTIM)
        stored = [
            (table, row)
            for table, rows in self.rows().items()
            for row in rows
            if any(repr(name) in row for name in OF_VICTIM) and f"'minion': {LIAR!r}" not in row
        ]
        return stored, session, str(session), session.pending_triggers, dict(session.progress), session.problems

    def files(self):
        return {str(Path(folder, name)) for folder, _, names in os.walk(self.folder) for name in names}

    def failed_handlers(self):
        samples = (sample for family in self.handlers.context.metrics.registry.collect() for sample in family.samples)
        return sum(
            sample.value
            for sample in samples
            if sample.name == "saltern_wire_refusals_total" and sample.labels["reason"] == "internal-error"
        )


def furnish(wired):
    """What a minion has when it was there for a while."""
    store = wired.store
    store.desired.put([DesiredRecord(minion=VICTIM, generation=1, revision="r1", digest=DIGEST, document=b"\x80")])
    store.applied.put(AppliedRecord(minion=VICTIM, generation=1, revision="r1", digest=DIGEST, at=1.0, outcome="ok"))
    for run_id, kind in (("open-apply", "apply"), ("open-call", "call"), ("finished-call", "call")):
        store.runs.create(RunRecord(run_id=run_id, minion=VICTIM, kind=kind, created=1.0, digest=DIGEST))
    store.runs.create(RunRecord(run_id="own-call", minion=LIAR, kind="call", created=1.0))
    wired.connect(VICTIM)
    wired.connect(LIAR)
    done = RunResult(run_id="finished-call", kind="call", generation=0, digest="", outcome="ok", value="its value")
    wired.say(done, VICTIM)
    wired.say(Mine(entries={"test.ping": MineEntry(value="its mine")}), VICTIM)
    wired.say(MinionEvents(stream="stream-of-db1", first=0, end=1, events=(("own/tag", {"a": 1}),)), VICTIM)
    wired.sent.clear()
    wired.told.clear()


@pytest.fixture(autouse=True)
def _no_handler_fails(monkeypatch):
    """What a handler does not expect is told as it is; a log line of it takes a second."""
    monkeypatch.setattr(
        message_handlers.log, "exception", lambda *_, **__: pytest.fail("a handler failed"), raising=False
    )


@pytest.fixture
async def wired(make_controller, tmp_path):
    controller = make_controller()
    found = Wired(controller, tmp_path)
    furnish(found)
    return found


def reserved_of_victim(event):
    words = event.tag.split("/")
    return words[0] in RESERVED and set(words) & set(OF_VICTIM)


@BY_KIND
async def test_what_is_anothers_is_not_touched_by_any_message(wired, kind):
    """Its id, its run ids, its digest, its stream, in each place of each message that may hold them."""
    before = wired.of_victim()
    for name in OF_VICTIM:
        for frame in attacks(kind, name, OWN):
            wired.frame(frame)
            await asyncio.sleep(0)
        if wired.handlers.context.sessions.session(LIAR) is None:  # it said Bye
            wired.connect(LIAR)
    assert wired.of_victim() == before
    assert wired.to(VICTIM) == []
    assert [event.tag for event in wired.told if reserved_of_victim(event)] == []
    assert wired.failed_handlers() == 0
    assert "its value" not in str(wired.to(LIAR))


@BY_KIND
async def test_no_place_of_a_message_becomes_a_path_or_breaks_its_handler(wired, kind):
    before, victim = wired.files(), wired.of_victim()
    for name in HOSTILE_NAMES:
        for frame in attacks(kind, name, OWN):
            wired.frame(frame)
        await asyncio.sleep(0)
    made = {path for path in wired.files() - before if not path.endswith(("-wal", "-shm"))}
    assert made == set()
    assert not [path for path in Path("/tmp").iterdir() if MARK in path.name]
    assert wired.failed_handlers() == 0
    assert wired.of_victim() == victim
    own = [event.tag for event in wired.told if event.tag.split("/")[0] in RESERVED]
    assert not [tag for tag in own if any(ord(letter) < 32 for letter in tag)]


@BY_KIND
async def test_an_accepted_minion_that_names_another_in_its_id_is_refused(wired, kind):
    if "id" not in kind.__struct_fields__:
        return
    before = wired.rows()
    for name in (VICTIM, VICTIM.upper(), "d\u0431" + "1", f"{LIAR}\n", f"{LIAR}\0", f"../{LIAR}", LIAR * 1000, "*", ""):
        outcome = wired.frame(pack({**filled(kind, lambda place: OWN.get(place, "x")), "id": name}))
        assert isinstance(outcome, Refusal), name
        assert outcome.reason in ("id-mismatch", "bad-id")
    assert wired.rows() == before
    assert wired.sent == []


@BY_KIND
async def test_a_lower_protocol_is_refused_wherever_one_is_named(wired, kind):
    if "protocol" not in kind.__struct_fields__:
        return
    before = wired.rows()
    for protocol in (0, -1, -(2**31)):
        outcome = wired.frame(pack({**filled(kind, lambda place: OWN.get(place, "x")), "protocol": protocol}))
        assert (type(outcome), outcome.reason) == (Refusal, "protocol")
    assert wired.rows() == before
    assert wired.sent == []


@BY_KIND
async def test_before_a_hello_nothing_is_taken(make_controller, tmp_path, kind):
    """A key that is accepted and has not said who it is on this connection: the connection ends, and nothing more."""
    found = Wired(make_controller(), tmp_path)
    found.store.runs.create(RunRecord(run_id="own-call", minion=LIAR, kind="call", created=1.0))
    before = found.rows()
    for frame in attacks(kind, "x", OWN, keep=("id", "run_id")):
        found.frame(frame)
    if kind not in (Hello, KeyRequest):
        assert found.rows() == before
        assert found.to(LIAR) == []
        assert set(found.ended) == (set() if kind in (Bye, FromRelay) else {key_of(LIAR)})
        assert found.told == []


OF_ITSELF = (Hello, Grains, KeepAlive, Held)
"""What a minion says of itself: after a new Hello it is news again."""


def lively(kind):
    """A message of this type that has an effect, and those that come before it."""
    given = {"generation": 0, "digest": "", "outcome": "ok", "kind": "call"}
    return {
        KeyRequest: KeyRequest(id=LIAR),
        Hello: Hello(id=LIAR, grains={"id": LIAR, "os": "Arch"}, session="other", held="e" * 64),
        Grains: Grains(grains={"os": "Arch"}),
        KeepAlive: KeepAlive(held="e" * 64, problems=("x",)),
        Held: Held(generation=1, digest="e" * 64),
        ResyncRequired: ResyncRequired(generation=1, held=""),
        RunStarted: RunStarted(run_id="own-call"),
        RunProgress: RunProgress(run_id="own-call", done=1, total=2, key="x"),
        RunResult: RunResult(run_id="own-call", value="mine", **given),
        RunEvents: RunEvents(run_id="own-call", first=0, end=2, events=(("a/b", {"a": 1}), ("a/c", {"a": 2}))),
        MinionEvents: MinionEvents(stream="own", first=0, end=1, events=(("a/b", {"a": 1}),)),
        FindFile: FindFile(request=1, path="top.sls"),
        ListFiles: ListFiles(request=1),
        GetBlob: GetBlob(request=1, oid="0" * 40),
        FactAnswers: FactAnswers(request=1, answers=()),
        Mine: Mine(entries={"a.b": MineEntry(value=1)}),
        GetMine: GetMine(request=1, asked='[["*", "test.ping"], {}]'),
        GetStates: GetStates(request=1),
        PublishCall: PublishCall(request=1, nonce="n", fun="test.ping", target="*"),
        GetOptions: GetOptions(request=1),
        PushFile: PushFile(request=1, path=("a",), data=b"x"),
        FromRelay: FromRelay(frames=(RelayedFrame(channel=1, kind="open", data=b"x"),)),
        NewKey: NewKey(public="n" * 40),
        Bye: Bye(),
    }[kind]


@BY_KIND
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_message_that_comes_again_changes_nothing_more(wired, kind, restarted):
    """On the same connection, and on another one."""
    message = lively(kind)
    wired.say(message)
    await asyncio.sleep(0)
    if restarted:
        wired.handlers.deliver([Gone(key=key_of(LIAR))])
        wired.connect(LIAR)
        if kind in OF_ITSELF:
            wired.say(message)
    after, told = wired.rows(), len(wired.told)
    for _ in range(3):
        wired.say(message)
        await asyncio.sleep(0)
    if kind is Bye:
        assert wired.handlers.context.sessions.session(LIAR) is None
        return
    if kind is not PublishCall:  # each question to other minions leaves its line in the audit log
        assert wired.rows() == after
    assert [event.tag for event in wired.told[told:] if event.tag.split("/")[-1] not in ("progress", "gone")] == []
    assert wired.failed_handlers() == 0


@BY_KIND
async def test_a_message_of_the_time_before_a_restart_is_good_for_nothing_more(wired, kind):
    """Frames that were handled are sent to a controller that was started again, before and after a Hello."""
    message = lively(kind)
    wired.say(message)
    await asyncio.sleep(0)
    before = wired.rows()
    again = wired.restarted()
    try:
        if kind is not Hello:
            again.say(message)
            assert again.rows() == before
            assert set(again.ended) == (set() if kind in (Bye, FromRelay, KeyRequest) else {key_of(LIAR)})
        again.connect(LIAR)
        await asyncio.sleep(0)
        connected = again.rows()
        told = len(again.told)
        again.say(message)
        await asyncio.sleep(0)
        if kind not in (*OF_ITSELF, PublishCall):
            assert again.rows() == connected
        own = {tag for event in again.told[told:] if (tag := event.tag).split("/")[0] not in RESERVED}
        assert own == set(), "no event is told a second time"
        assert again.failed_handlers() == 0
        assert again.to(VICTIM) == []
    finally:
        for pool in again.parts.pools:
            pool.close()


async def test_each_question_of_a_minion_to_others_is_in_the_audit_log(wired):
    for number, name in enumerate(("cmd.run", "test._private", "__class__", "CMD.run", "module.run", "test.ping\n")):
        wired.say(PublishCall(request=number, nonce=f"n{number}", fun=name, target="*", args=("cmd.run", "id")))
        while len(wired.to(LIAR)) <= number:
            await asyncio.sleep(0)
    rows = [row for table, found in wired.rows().items() if "audit" in table for row in found]
    assert len(rows) == 6
    assert all("'allowed': 0" in row for row in rows), rows
    assert wired.to(VICTIM) == []
    assert {type(message).__name__ for message in wired.to(LIAR)} == {"Refused"}
