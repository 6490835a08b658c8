"""Batches of reactions and orchestrations tell how far they are, with the tags and data of Salt's."""

import json

import httpx

REACTION = """
all:
  local.test.arg:
    - tgt: db1,web1,web2
    - tgt_type: list
    - batch: 2
    - timeout: 5
    - args:
      - from: {{ data['id'] }}
"""
STOPS = """
stops:
  salt.function:
    - name: test.exception
    - tgt: '*'
    - arg: [broken]
    - batch: 34%
    - failhard: True
"""


def told(rig):
    """Events of batches, oldest first: (end of the tag, data)."""
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=60) as client:
        asked = {"tag": "salt/batch/*", "since": 3600, "follow": "false"}
        events = [json.loads(line) for line in client.get("/events", params=asked).text.splitlines()]
    assert all(one["tag"] == f"salt/batch/{one['data']['jid']}/{one['tag'].rpartition('/')[2]}" for one in events)
    return [(one["tag"].rpartition("/")[2], one["data"]) for one in events]


def counts(data):
    return {name: data[name] for name in ("total", "completed", "active", "pending", "failed", "iter")}


def test_a_reaction_in_batches_tells_how_far_it_is(make_rig, tmp_path):
    sls = tmp_path / "batch.sls"
    sls.write_text(REACTION)
    rig = make_rig(reactor=[{"own/go": [str(sls)]}])
    rig.saltern("run", "web1", "event.send", "own/go")
    rig.wait("the end", lambda: [step for step, _ in told(rig)][-1:] == ["complete"])
    (first, new), (_, one), (_, two), (last, complete) = told(rig)
    about = {"jid": new["jid"], "fun": "test.arg", "tgt": "db1,web1,web2", "tgt_type": "list", "user": "Reactor"}
    assert all(about.items() <= data.items() for data in (new, one, two, complete))
    assert (first, new["total_minions"], new["batch_size"], new["driver"]) == ("new", 3, 2, "master")
    assert counts(one) == {"total": 3, "completed": 0, "active": 2, "pending": 1, "failed": 0, "iter": 1}
    assert counts(two) == {"total": 3, "completed": 2, "active": 1, "pending": 0, "failed": 0, "iter": 2}
    assert (last, complete["completed"], complete["failed"], complete["total_minions"]) == ("complete", 3, 0, 3)
    assert complete["duration"] >= 0
    found = json.loads(rig.saltern("runner", "jobs.lookup_jid", new["jid"], "--out", "json").stdout)
    assert set(found) == {"db1", "web1", "web2"}, "all share the job"
    assert [one["outcome"] for one in rig.ask("/reactions", limit=10)] == ["ok"]


def test_a_minion_that_is_away_counts_as_failed_and_failhard_halts_an_orchestration(make_rig):
    rig = make_rig()
    path = rig.work / "states" / "orch" / "stops.sls"
    path.parent.mkdir()
    path.write_text(STOPS)
    rig.wait_applied(rig.push("an orchestration"))
    rig.stop("db1")
    rig.wait("db1 to be away", lambda: not rig.status()["db1"]["connected"])
    done = rig.saltern("runner", "state.orchestrate", "orch.stops", check=False)
    assert done.returncode != 0
    (first, new), (_, one), (last, halted) = told(rig)
    assert (first, new["batch_size"], new["total_minions"]) == ("new", 1, 3)
    assert counts(one) == {"total": 3, "completed": 0, "active": 1, "pending": 2, "failed": 0, "iter": 1}
    assert (last, halted["reason"], halted["completed"], halted["failed"]) == ("halted", "failhard", 0, 1)
    assert (halted["abandoned_active"], halted["abandoned_pending"]) == ([], ["web1", "web2"])


def test_who_waits_no_longer_is_told_of_those_that_have_not_returned_and_of_those_not_asked(make_rig, tmp_path):
    rig, go = make_rig(), tmp_path / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.1; done"
    done = rig.saltern("run", "*", "-b", "1", "-t", "1", "cmd.run", wait, "--out", "json", "--static", check=False)
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["db1"].startswith("Minion did not return within 1 s. The job goes on; its result: saltern history ")
    assert set(said) == {"db1", "web1", "web2"}
    [later] = {said["web1"], said["web2"]}
    assert later.startswith("Minion was not asked yet. The batch goes on; how it stands: saltern jobs show ")
    go.touch()
    jid = later.split()[-1]
    rig.wait("the end", lambda: {one["outcome"] for one in rig.ask("/job", jid=jid)["minions"]} == {"ok"})
    assert len(rig.ask("/job", jid=jid)["minions"]) == 3
