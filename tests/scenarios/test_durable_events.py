"""Durable events of real minions: a slow reactor with little room answers all of them, also over a kill -9."""

import json

import httpx

SENT = 60
MODULE = """
def storm(count):
    for number in range(count):
        __salt__['event.send']('own/storm', {'number': number})
"""
SLS = "told:\n  runner.test.arg:\n  - args:\n    - number: {{ data['data']['number'] }}\n    - who: {{ data['id'] }}\n"
POLICY = "events: {durable: ['own/*']}\nreactor:\n- 'o[wt]*/*': [salt://reactor/told.sls]\n"
NARROW = {"reactor": {"waiting_events": 5, "firings_per_minute": 100_000}}


def events(rig, tag):
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=60) as client:
        asked = {"tag": tag, "since": 3600, "follow": "false"}
        return [json.loads(line) for line in client.get("/events", params=asked).text.splitlines()]


def fired(rig):
    """Number of each event that was answered, by minion, in the order of the reactions."""
    storm = {one["id"]: one for one in events(rig, "own/storm")}
    found = {}
    for begun in events(rig, "saltern/reaction/*/new"):
        if begun["cause"] in storm:
            one = storm[begun["cause"]]
            found.setdefault(one["minion"], []).append(one["data"]["data"]["number"])
    return found


def write(rig):
    states = rig.work / "states"
    for path, text in {"reactor/told.sls": SLS, "_modules/storms.py": MODULE}.items():
        (states / path).parent.mkdir(exist_ok=True)
        (states / path).write_text(text)
    (states / "saltern.yaml").write_text((states / "saltern.yaml").read_text() + POLICY)
    rig.wait_applied(rig.push("durable events"))


def test_all_are_answered_once_and_in_their_order_also_when_the_controller_is_killed(make_rig):
    rig = make_rig(limits=NARROW)
    write(rig)
    rig.saltern("run", "*", "storms.storm", str(SENT))
    rig.wait("some reactions", lambda: sum(map(len, fired(rig).values())) > 5)
    rig.kill("controller", children=True)
    rig.start_controller()
    everything = {minion: list(range(SENT)) for minion in rig.minions}
    rig.wait("all reactions", lambda: sum(map(len, fired(rig).values())) >= len(rig.minions) * SENT, patience=180)
    assert fired(rig) == everything
    assert not events(rig, "saltern/reaction/shed")


def test_a_pattern_that_is_none_is_refused_with_its_line(make_rig):
    rig = make_rig(minions={"web1": {}})
    policy = rig.work / "states" / "saltern.yaml"
    policy.write_text(policy.read_text() + "events:\n  durabel: ['own/*']\n")
    rig.push("a typing error")
    rig.wait("the refusal", lambda: "durabel" in rig.log("controller", 1000))
    assert "durable" in rig.log("controller", 1000)
