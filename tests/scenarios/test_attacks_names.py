"""An accepted minion puts hostile text into every field of every message: none becomes a path, an id or a command."""

import json
import os
from pathlib import Path

import pytest
import zmq

from wire.address import Address
from wire.client import Connection
from wire.keys import KeyPair
from wire.messages import (
    Blob,
    FactAnswer,
    FactAnswers,
    FileFound,
    FileList,
    FindFile,
    GetBlob,
    GetMine,
    Grains,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    ListFiles,
    Mine,
    MineEntry,
    Refused,
    ResyncRequired,
    RunEvents,
    RunProgress,
    RunResult,
    RunStarted,
)

MARK = "made-by-a-name"
NAMES = [
    f"../{MARK}",
    "../" * 20 + f"tmp/{MARK}",
    f"/tmp/{MARK}",
    f"..\\{MARK}",
    f"%2e%2e%2f{MARK}",
    f"{MARK}\0.txt",
    f"{MARK}\n",
    f"{MARK}/" * 100,
    MARK * 300,
    f"-rf {MARK}",
    f"$(touch /tmp/{MARK})",
    f"`touch /tmp/{MARK}`",
    f";touch /tmp/{MARK};",
    f"\u202e{MARK}\u2025/",
    f"file:///tmp/{MARK}",
    f"salt://../../{MARK}",
    "__import__('os').system('touch /tmp/" + MARK + "')",
    "{{ salt['cmd.run']('touch /tmp/" + MARK + "') }}",
    "!!python/object/apply:os.system ['touch /tmp/" + MARK + "']",
]
PLACES = [
    "/etc/passwd",
    "../../../../../../etc/passwd",
    "top.sls/../../../../../../etc/passwd",
    "../pillar/numbers.sls",
]
RUN = {"kind": "drift", "generation": 1, "outcome": "ok"}


class Minion:
    """A minion that is held to nothing.

    Args:
        rig: the controller.
        name: id of the key that is accepted.
    """

    def __init__(self, rig, name):
        public, secret = (key.decode() for key in zmq.curve_keypair())
        publish, request = rig.wire_ports
        address = Address(
            host="127.0.0.1", publish_port=publish, request_port=request, controller_key=rig.controller_key
        )
        self.heard = []
        self._connection = Connection(address, KeyPair(public=public, secret=secret))
        self.say(KeyRequest(id=name))
        self.wait(KeyState)
        rig.saltern("key", "accept", name, "--yes")

    def say(self, message):
        for _ in range(300):
            if self._connection.send(message):
                return
            self.heard += self._connection.receive(0.1)[0]
        raise AssertionError(f"{message} could not be sent")

    def wait(self, kind):
        for _ in range(300):
            for position, each in enumerate(self.heard):
                if isinstance(each, kind):
                    return self.heard.pop(position)
            self.heard += self._connection.receive(0.1)[0]
        raise AssertionError(f"no {kind.__name__} in {self.heard}")

    def close(self):
        self._connection.close()


@pytest.fixture
def rig(make_rig):
    rig = make_rig(minions={"db1": {"roles": ["db"]}})
    rig.wait_applied(rig.push("first"))
    return rig


@pytest.fixture
def liar(rig):
    minion = Minion(rig, "liar")
    minion.say(Hello(id="liar", grains={}))
    minion.wait(HelloAck)
    yield minion
    minion.close()


def of_name(name):
    """A message of each type that an accepted minion sends, with this in every field of text; few that are refused."""
    state = {"name": name, "comment": name, "changes": {name: name}, "result": True, "__sls__": name, "__id__": name}
    return [
        Grains(grains={name: name, "id": name, "root": name}),
        KeepAlive(held=name, running=(name,), pending_triggers=(name,)),
        Held(generation=1, digest=name),
        ResyncRequired(generation=1, held=name),
        RunStarted(run_id=name),
        RunProgress(run_id=name, done=1, total=2, key=name),
        RunResult(run_id=name, digest=name, **RUN),
        RunResult(run_id=f"drift-{name}", digest=name, states={name: state}, error=name, **RUN),
        RunResult(run_id="drift-liar-1", digest=name, states={name: state}, **RUN),
        RunEvents(run_id="drift-liar-1", first=0, end=1, events=((name, {name: name}),)),
        FindFile(request=1, path=name, saltenv=name),
        FindFile(request=1, path=name),
        ListFiles(request=1, prefix=name, saltenv=name),
        GetBlob(request=1, oid=name),
        FactAnswers(request=1, answers=(FactAnswer(value=name, error=name),)),
        Mine(entries={name: MineEntry(value=name, allow=name, allow_type=name)}),
        GetMine(request=1, asked=name),
        GetMine(request=1, asked=json.dumps([[name, name, name], {name: name}])),
    ]


def made(rig):
    """Everything below the rig's folder and beside it that has the mark in its name."""
    below = [str(Path(folder, name)) for folder, names, files in os.walk(rig.directory) for name in (*names, *files)]
    return [path for path in (*below, *map(str, Path("/tmp").iterdir())) if MARK in path]


def others(rig):
    """What the controller knows of the other minion."""
    status = rig.status()["db1"]
    return {name: status[name] for name in ("sync", "health", "connected", "applied_revision")}, rig.history("db1")


def test_no_field_becomes_a_path(rig, liar):
    before = others(rig)
    for name in NAMES:
        for message in of_name(name):
            liar.say(message)
        liar.say(GetBlob(request=99, oid="0" * 40))
        while liar.wait(Blob).request != 99:
            pass
    for kind, shown in ((FileFound, "oid"), (FileList, "files")):
        assert not [each for each in liar.heard if isinstance(each, kind) and getattr(each, shown)]
    assert made(rig) == []
    assert others(rig) == before
    assert not rig.saltern("run", "db1", "test.ping", check=False).returncode


def test_no_path_leads_out_of_the_tree(rig, liar):
    liar.say(FindFile(request=1, path="top.sls"))
    assert liar.wait(FileFound).oid, "the tree itself is read by every minion"
    for place in PLACES:
        liar.say(FindFile(request=1, path=place))
        assert not liar.wait(FileFound).oid
        liar.say(ListFiles(request=1, prefix=place))
        assert not liar.wait(FileList).files
        liar.say(GetBlob(request=1, oid=place))
        assert liar.wait(Blob).total == -1
    pillar = rig.git("rev-parse", "HEAD:pillar/numbers.sls")
    liar.say(GetBlob(request=1, oid=pillar))
    assert liar.wait(Blob).total == -1, "what lies in the same mirror and in another tree"


def test_a_minion_speaks_for_itself_alone(rig, liar):
    """With the run ids of another: nothing of the other changes, and it goes on being served."""
    before = others(rig)
    known = [run["run_id"] for run in rig.history("db1")]
    assert known
    for run in known:
        liar.say(RunStarted(run_id=run))
        liar.say(RunProgress(run_id=run, done=1, total=2, key="x"))
        liar.say(RunResult(run_id=run, kind="apply", generation=1, digest="", outcome="failed", error="it burns"))
    for message in (Hello(id="db1", grains={}), KeyRequest(id="db1")):
        liar.say(message)
        liar.wait(Refused)
    liar.say(Grains(grains={"id": "db1", "roles": ["db"]}))
    liar.say(GetBlob(request=99, oid="0" * 40))
    liar.wait(Blob)
    assert others(rig) == before
    keys = json.loads(rig.saltern("status", "--out", "json").stdout)
    assert "it burns" not in json.dumps(keys)
