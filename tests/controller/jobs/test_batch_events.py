"""Events of batches have the fields that a real Salt master publishes, and those of its asynchronous batches."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from controller.jobs.batch_events import BatchEvents
from controller.schema.requests import CallQuestion
from controller.schema.targets import TargetExpression
from reactors.bus import Bus
from reactors.tags import as_salt

SALT = json.loads((Path(__file__).parents[2] / "golden/events/salt.json").read_text())
NOT_HERE = {"state"}
"""The file of Salt's command line; the same counts are fields of asynchronous batches."""
ASYNCHRONOUS = {
    "new": {"total_minions", "batch_size", "driver", "created"},
    "progress": {"total", "completed", "active", "pending", "failed", "iter", "last_progress"},
    "complete": {"completed", "failed", "total_minions", "duration"},
    "halted": {"reason", "completed", "failed", "abandoned_active", "abandoned_pending", "duration"},
}
"""What stands beside `jid fun tgt tgt_type user`."""
_OF_SALT = """
import json
from salt.utils import batch_output as out
state = {"jid": "1", "active": {}, "pending": []}
made = {"new": out.new_payload, "progress": out.progress_payload, "complete": out.complete_payload}
made["halted"] = out.halted_payload
print(json.dumps({name: sorted(set(build(state)) - set(out._base_payload(state))) for name, build in made.items()}))
"""


def events(*, halt):
    question = CallQuestion(target=TargetExpression(kind="glob", expression="*"), fun="test.ping")
    bus = Bus(lambda: 5.0)
    with bus.subscribe() as told:
        batch = BatchEvents(
            bus=bus,
            clock=lambda: 5.0,
            jid="JID",
            question=question,
            user="root",
            minions=["a", "b", "c"],
            size=2,
            cause=7,
        )
        batch.new()
        batch.begin(["a", "b"])
        batch.returned("a", answered=True)
        if not halt:
            batch.returned("b", answered=False)
            batch.begin(["c"])
            batch.returned("c", answered=True)
            batch.complete()
        batch.halted("stop")
        return told.drain()


def test_all_that_was_done_is_told_and_what_it_follows_from():
    new, first, second, complete = events(halt=False)
    assert [event.cause for event in (new, first, second, complete)] == [7] * 4
    assert (second.data["completed"], second.data["failed"], second.data["active"]) == (1, 1, 1)
    assert (complete.data["completed"], complete.data["failed"]) == (2, 1)


def test_what_is_stopped_names_who_was_left():
    halted = events(halt=True)[-1]
    assert halted.tag == "salt/batch/JID/halted"
    assert (halted.data["abandoned_active"], halted.data["abandoned_pending"]) == (["b"], ["c"])


@pytest.mark.parametrize("halt", [True, False])
def test_the_fields_are_those_of_salt(halt):
    for event in events(halt=halt):
        step = event.tag.rpartition("/")[2]
        base = {"jid", "fun", "tgt", "tgt_type", "user"}
        assert set(event.data) == base | ASYNCHRONOUS[step]
        published = set(SALT.get(event.tag, ())) - NOT_HERE
        assert published - {"driver"} <= set(as_salt(event))


def test_the_fields_of_asynchronous_batches_are_those_of_salts_source():
    if "SALT_VENV" not in os.environ:
        pytest.skip("SALT_VENV names no virtualenv with Salt")
    python = Path(os.environ["SALT_VENV"]) / "bin" / "python"
    done = subprocess.run([python, "-c", _OF_SALT], capture_output=True, text=True, check=True)
    assert {name: set(fields) for name, fields in json.loads(done.stdout).items()} == ASYNCHRONOUS
