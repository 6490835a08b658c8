"""Attacks by events (`make attack ONLY=events`): reactors that set each other off, and text of templates in data."""

import json

import httpx
import pytest

PING = "other:\n  runner.event.send:\n  - args:\n    - tag: own/pong\n"
TOLD = "told:\n  runner.test.arg:\n  - arg: [{{ data['data']['text'] | tojson }}]\n"
TEXT = "{{ 7 * 7 }}{% for x in range(10 ** 9) %}x{% endfor %}"
DURABLE = "events: {durable: ['own/*']}\n"


def write(rig, policy, **sls):
    states = rig.work / "states"
    for name, text in sls.items():
        (states / f"{name}.sls").write_text(text)
    (states / "saltern.yaml").write_text((states / "saltern.yaml").read_text() + policy)
    rig.wait_applied(rig.push("reactors"))


def events(rig, tag):
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=60) as client:
        asked = {"tag": tag, "since": 3600, "follow": "false"}
        return [json.loads(line)["data"] for line in client.get("/events", params=asked).text.splitlines()]


@pytest.mark.parametrize("more", ["", DURABLE])
def test_two_reactors_that_set_each_other_off_are_stopped_and_named(make_rig, more):
    rig = make_rig(minions={"web1": {}}, limits={"reactor": {"chain": 6}})
    policy = "reactor:\n- own/ping: [salt://ping.sls]\n- own/pong: [salt://pong.sls]\n" + more
    write(rig, policy, ping=PING, pong=PING.replace("own/pong", "own/ping"))
    rig.saltern("run", "web1", "event.send", "own/ping")
    (loop,) = rig.wait("the end of the loop", lambda: events(rig, "saltern/reaction/loop"))
    assert loop["rule"] in ("own/ping", "own/pong")
    assert "saltern.yaml" in loop["place"]
    assert "own/ping" in loop["error"]
    assert "own/pong" in loop["error"]
    assert len(rig.ask("/reactions", limit=100)) == 6


@pytest.mark.parametrize("more", ["", DURABLE])
def test_text_of_a_template_in_data_arrives_as_it_is(make_rig, more):
    rig = make_rig(minions={"web1": {}})
    write(rig, f"reactor:\n- own/*: [salt://told.sls]\n{more}", told=TOLD)
    rig.saltern("run", "web1", "event.send", "own/text", json.dumps({"text": TEXT}))
    (told,) = rig.wait("the return", lambda: [one for one in events(rig, "salt/run/*/ret") if "return" in one])
    assert told["return"]["args"] == [TEXT]
