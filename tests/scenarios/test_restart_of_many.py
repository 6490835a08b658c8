"""A controller with many connected minions is killed and started again: no storm, none is lost, each job ends once.

Three hundred simulated minions with real keys and sockets; `make soak` has 5,000.
"""

import json
import time
from collections import Counter

import httpx
import psutil
import pytest
from effort import FULL
from prometheus_client.parser import text_string_to_metric_families

MINIONS = 5000 if FULL else 300
PATIENCE = 60.0
"""Seconds until all are connected after the controller answers; 30 for 5,000 on two busy cores."""
COMPUTED = 5.0 + 0.004 * MINIONS
"""Most seconds of computing of the controller meanwhile; 14.5 for 5,000, with the 10,000 results that come, too."""
ENROLLED = {"requests_a_second": 5000, "address_requests_a_second": 5000, "address_pending_keys": 20_000}
"""Limits of strangers until all are enrolled: they come from one address. The restarts have the default."""
MESSAGES_EACH = 4
"""That the controller may get of a minion while it comes back, beside results and signs of life: Hello, and its key."""


def connected(rig):
    """How many there are now; asked so seldom that the question costs the controller little."""
    time.sleep(MINIONS / 2500)
    return sum(each["connected"] for each in rig.ask("/minions/presence"))


def messages(rig):
    """Type -> how many came in since the controller has started."""
    text = httpx.get(f"{rig.http}/metrics", timeout=30).text
    found = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "saltern_bus_messages_total" and sample.labels["direction"] == "in":
                found[sample.labels["type"]] = int(sample.value)
    return found


def job(rig, jid):
    return json.loads(rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout)["minions"]


@pytest.mark.timeout(900)
def test_a_restart_with_many_minions_is_no_storm_and_loses_none(make_rig, swarm, tmp_path):
    rig = make_rig(minions={}, alive_interval=2, minion_timeout=20, auto_accept=True, limits={"stranger": ENROLLED})
    rig.push("first")
    (tmp_path / "grains").write_text(json.dumps({"root": "/nowhere", "roles": ["web"]}))
    words = ("--minions", str(MINIONS), "--id-prefix", "load-", "--delay", "2")
    running = swarm(rig, *words, "--grains", str(tmp_path / "grains"))
    rig.wait("all to connect", lambda: connected(rig) == MINIONS, patience=240)

    rig.configure(auto_accept=False, limits={})
    jids = []
    for kill in (True, False):
        jids.append(json.loads(rig.saltern("run", "*", "test.echo", "x", "--async", "--out", "json").stdout)["jid"])
        time.sleep(1.0)  # asked, and not yet answered
        rig.kill("controller", children=True) if kill else rig.stop("controller")
        rig.start_controller()
        process = psutil.Process(rig.pid("controller"))
        rig.wait("all to be back", lambda: connected(rig) == MINIONS, patience=PATIENCE)
        computed = sum(process.cpu_times()[:2])
        assert computed < COMPUTED
        came = messages(rig)
        assert MINIONS <= came["Hello"] <= MINIONS * 1.1, "each says Hello once"
        others = sum(number for name, number in came.items() if name not in ("RunResult", "RunStarted", "KeepAlive"))
        assert others <= MESSAGES_EACH * MINIONS, came

    for jid in jids:
        rig.wait(
            "the job to end",
            lambda jid=jid: not [one for one in job(rig, jid) if one["state"] not in ("finished", "")],
            patience=120,
        )
        found = Counter(one["outcome"] for one in job(rig, jid))
        assert sum(found.values()) == MINIONS
        assert found == {"ok": MINIONS}, "who was asked has answered, and its answer was kept until it was taken"
    returned = json.loads(rig.saltern("run", "*", "test.ping", "--out", "json", "-t", "60").stdout)
    assert returned == {f"load-{number:0{len(str(MINIONS))}}": True for number in range(1, MINIONS + 1)}
    assert running.poll() is None
