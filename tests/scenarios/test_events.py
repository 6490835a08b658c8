"""`saltern events`: what is kept, what comes, and which of it."""

import json
import subprocess

import httpx
from rig import SALTERN


def test_what_was_sent_is_shown_from_what_is_kept(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.saltern("run", "web1", "event.send", "custom/one", '{"a": 1}')
    rig.saltern("run", "web1", "event.send", "custom/two", '{"a": "\\u001b[31m"}')
    shown = rig.saltern("events", "custom/*", "--since", "10m", "-n", "2", "--out", "json").stdout
    first, second = map(json.loads, shown.splitlines())
    assert (first["tag"], first["minion"], first["data"]["data"]) == ("custom/one", "web1", {"a": 1})
    assert second["tag"] == "custom/two"
    assert int(second["id"]) > int(first["id"])

    pretty = rig.saltern("events", "-E", "^custom/(two|three)$", "--since", "10m", "-n", "1", "--out", "pretty").stdout
    tag, _, text = pretty.partition("\t")
    assert tag == "custom/two"
    assert "\u001b" not in pretty
    assert {"_stamp", "data", "id", "tag"} <= set(json.loads(text))

    bad = rig.saltern("events", "--since", "soon", check=False)
    assert (bad.returncode, "write a duration" in bad.stderr) == (64, True)
    assert rig.saltern("events", "-E", "(", check=False).returncode == 64


def test_each_event_comes_once_whether_it_is_kept_or_new(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.saltern("run", "web1", "event.send", "custom/0")
    reader = subprocess.Popen(
        [*SALTERN, "events", "custom/*", "--since", "10m", "-n", "4", "--out", "json", "-c", str(rig.config)],
        stdout=subprocess.PIPE,
        text=True,
    )
    for number in range(1, 4):
        rig.saltern("run", "web1", "event.send", f"custom/{number}")
    out, _ = reader.communicate(timeout=60)
    assert [json.loads(line)["tag"] for line in out.splitlines()] == [f"custom/{number}" for number in range(4)]


def kept(rig, tag):
    """Kept events with such tags, oldest first."""
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=60) as client:
        lines = client.get("/events", params={"tag": tag, "since": 600, "follow": "false"}).text.splitlines()
    return [event for event in map(json.loads, lines) if event]


def test_salts_event_of_a_fetch_comes_once_for_a_push_when_it_is_live(make_rig):
    rig = make_rig(minions={}, fileserver_events=True)

    def updates():
        return [event["data"] for event in kept(rig, "salt/fileserver/gitfs/update")]

    rig.push("first")
    rig.wait("the event", lambda: updates() == [{"changed": True, "backend": "gitfs"}])
    rig.push("next", {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")})
    rig.wait("the next", lambda: len(updates()) == 2)
    tags = [event["tag"].rpartition("/")[2] for event in kept(rig, "s*")]
    assert [tag for tag in tags if tag in ("live", "update")] == ["live", "update"] * 2
