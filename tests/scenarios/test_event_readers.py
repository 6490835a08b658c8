"""Events as Server-Sent Events: on the socket, and with a token over the network, resumed by `Last-Event-ID`."""

import contextlib
import json

import httpx

TOKEN = "a-token-of-readers"


def begin(client, **asked):
    """The open answer, and its frames one after another as dictionaries; comments are left out."""
    stack = contextlib.ExitStack()
    answer = stack.enter_context(client.stream("GET", "/events", **asked))

    def frames():
        frame = {}
        for line in answer.iter_lines():
            name, colon, value = line.partition(": ")
            if colon and name:
                frame[name] = value
            elif not line and frame:
                yield frame
                frame = {}

    return stack, answer, frames()


def socket_of(rig):
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    return httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=60)


def send(rig, *tags):
    for tag in tags:
        rig.saltern("run", "web1", "event.send", tag)


def test_a_reader_goes_on_where_it_was_also_after_a_restart(make_rig):
    rig = make_rig(minions={"web1": {}})
    asked = {"params": {"tag": "own/*", "since": 600}, "headers": {"accept": "text/event-stream"}}
    with socket_of(rig) as client:
        send(rig, "own/1")
        stack, answer, frames = begin(client, **asked)
        with stack:
            assert answer.headers["content-type"].startswith("text/event-stream")
            send(rig, "own/2")
            first, second = next(frames), next(frames)
    assert [json.loads(frame["data"])["tag"] for frame in (first, second)] == ["own/1", "own/2"]
    assert first["id"] == json.loads(first["data"])["id"]
    send(rig, "own/3", "other/3")
    for since in ((), ("--since", "10m")):
        kept = rig.saltern("events", "own/*", "-n", "9", "--no-follow", "--out", "json", *since).stdout
        assert [json.loads(line)["tag"] for line in kept.splitlines()] == ["own/1", "own/2", "own/3"]
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("web1", lambda: rig.status()["web1"]["connected"])
    asked["headers"]["last-event-id"] = first["id"]
    with socket_of(rig) as client:
        stack, answer, frames = begin(client, **asked)
        with stack:
            send(rig, "own/4")
            tags = [json.loads(next(frames)["data"])["tag"] for _ in range(3)]
    assert tags == ["own/2", "own/3", "own/4"], "what was sent while nobody read comes, and each once"


def test_patterns_are_globs_tags_or_regular_expressions_in_linear_time(make_rig):
    rig = make_rig(minions={"web1": {}})
    send(rig, "own/a", "own/ab", "own/b")
    with socket_of(rig) as client:

        def found(tag, match):
            asked = {"tag": tag, "match": match, "since": 600, "follow": "false"}
            lines = client.get("/events", params=asked).text.splitlines()
            return [json.loads(line) for line in lines]

        assert [one["tag"] for one in found("own/a", "exact")] == ["own/a"]
        assert [one["tag"] for one in found("own/a*", "glob")] == ["own/a", "own/ab"]
        assert [one["tag"] for one in found("^own/(b|ab)$", "regex")] == ["own/ab", "own/b"]
        assert found("own/?", "exact") == []
        (refused,) = found("(?=own)", "regex")
        assert "cannot be run in bounded time" in refused["message"]
    exact = rig.saltern("events", "own/a", "--exact", "--since", "10m", "-n", "1", "--out", "json").stdout
    assert json.loads(exact)["tag"] == "own/a"
    assert rig.saltern("events", "own/a", "-E", "-F", check=False).returncode == 64


def test_over_the_network_with_a_token_and_so_many_at_a_time(make_rig):
    rig = make_rig(minions={"web1": {}}, events_token=TOKEN, limits={"webhook": {"event_readers": 1}})
    right = {"authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=rig.http, timeout=60, trust_env=False) as client:
        for headers in ({}, {"authorization": "Bearer x"}, {"authorization": f"Basic {TOKEN}"}):
            assert client.get("/events", headers=headers).status_code == 403
        stack, answer, frames = begin(client, params={"tag": "own/*"}, headers=right)
        with stack:
            assert answer.status_code == 200
            send(rig, "own/1")
            assert json.loads(next(frames)["data"])["minion"] == "web1"
            assert client.get("/events", headers=right).status_code == 409

        def free():
            stack, answer, _ = begin(client, headers=right)
            with stack:
                return answer.status_code == 200

        rig.wait("the place of the first", free)


def test_without_a_token_nobody_reads_over_the_network(make_rig):
    rig = make_rig(minions={})
    answer = httpx.get(rig.http + "/events", headers={"authorization": "Bearer x"}, trust_env=False)
    assert (answer.status_code, answer.json()["hint"]) == (404, "set events_token")
