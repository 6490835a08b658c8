"""Tags and data as a real Salt master (3008.3, one minion) has them: `tests/golden/events/salt.json` has its fields."""

import json
from pathlib import Path

import pytest

from reactors import tags
from reactors.events import Event

SALT = json.loads((Path(__file__).parents[1] / "golden/events/salt.json").read_text())
JID = "20261123030127068650"
NEW, OLD = tags.minion_start("web1", "Mon Nov 23 03:01:22 2026")
ASKED = {"tgt": "*", "tgt_type": "glob", "minions": ["web1"], "missing": [], "user": "root"}
RETURNED = {"fun": "test.arg", "fun_args": [1], "return": True, "success": True, "retcode": 0, "user": "root"}
OURS = {
    "salt/auth pend": tags.auth("web1", tags.act_of("pending"), "aa"),
    "salt/auth accept": tags.auth("web1", tags.act_of("accepted"), "aa"),
    "salt/key accepted": tags.key("web1", "accepted", "aa", "root"),
    "salt/key delete": tags.key("web1", "delete", "aa", "root"),
    "salt/minion/ID/start": NEW,
    "minion_start": OLD,
    "salt/presence/present": tags.presence(["web1"]),
    "salt/presence/change": tags.presence_change(["web1"], []),
    "salt/job/JID/new": tags.job_new(JID, ASKED, "test.arg", [1]),
    "salt/job/JID/ret/ID": tags.job_return(JID, "web1", RETURNED),
    "salt/state_result/JID/ID/two": tags.of_run("web1", "run", JID, "salt/state_result/run/web1/two", {"ret": {}}),
    "custom/tag": tags.of_minion("web1", "custom/tag", {"b": 2}),
}
NOT_HERE = {"pub": "keys are CurveZMQ keys; `fingerprint` names them", "ts": "the same as `_stamp`"}


@pytest.mark.parametrize("kind", OURS)
def test_events_have_the_fields_of_salts(kind):
    tag, data = OURS[kind]
    assert tag.replace(JID, "JID").replace("web1", "ID") == kind.split(" ", maxsplit=1)[0]
    whole = tags.as_salt(Event(id=1, tag=tag, time=1795402882.5, data=data))
    assert set(SALT[kind]) - set(NOT_HERE) <= set(whole)
    assert whole["_stamp"] == "2026-11-23T03:01:22.500000+00:00"


@pytest.mark.parametrize(
    ("tag", "alone", "in_run"),
    [
        ("my/tag", True, True),
        ("salty/tag", True, True),
        ("salt/beacon/web1/load/", True, False),
        ("salt/beacon/db1/load/", False, False),
        ("salt/state_result/1/web1/x", False, True),
        ("salt/state_result/2/web1/x", False, False),
        ("salt/job/1/prog/web1/4", False, True),
        ("salt/job/1/prog/db1/4", False, False),
        ("salt/job/2/prog/web1/4", False, False),
        ("salt/job/1/ret/web1", False, False),
        ("salt/state_result/1/db1/x", False, False),
        *(
            (tag, False, False)
            for tag in ("salt/auth", "salt/job/1/new", "saltern/sync", "minion_start", "key", "salt")
        ),
    ],
)
def test_what_a_minion_may_say(tag, alone, in_run):
    assert tags.may_say("web1", tag) is alone
    assert tags.may_say_in_run("web1", "1", tag) is in_run


def test_events_of_a_run_have_the_id_of_its_job():
    progress = tags.of_run("web1", "2", "1", "salt/job/2/prog/web1/0", {"ret": {}})
    assert progress[0] == "salt/job/1/prog/web1/0"
    assert (progress[1]["tag"], progress[1]["jid"], progress[1]["data"]) == (progress[0], "1", {"ret": {}})
    assert tags.of_run("web1", "2", "1", "my/tag", {}) == tags.of_minion("web1", "my/tag", {})
