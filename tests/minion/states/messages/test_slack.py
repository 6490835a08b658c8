"""Messages to Slack, to a workspace of the tests."""

import threading
from http.server import ThreadingHTTPServer

import pytest
from slack_service import TOKEN, Workspace, handler_of

from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules
from minion.providers.messages.slack import channel_of


@pytest.fixture
def slack():
    workspace = Workspace()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(workspace))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    workspace.url = f"http://127.0.0.1:{server.server_port}"
    workspace.hook = f"{workspace.url}/services/T1/B1/secret"
    yield workspace
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def minion(slack):
    def made(**pillar):
        return Context(minion_id="m", make_pillar=lambda: {"slack.api_url": f"{slack.url}/api", **pillar})

    return made


def state(context, *, test=False, **arguments):
    one = Chunk(state="slack", fun="post_message", id="x", name="deployed", sls="s", arguments=arguments)
    engine = StateEngine(context.machine, test=test, functions=Modules(context))
    return run({"k": one}, engine, test=test, clock=lambda: 0.0)["k"]


GIVEN = {"channel": "general", "from_name": "Salt", "message": "Über & <done>"}


def test_a_message_is_foretold_and_sent(slack, minion):
    for pillar, more in (
        ({"slack.api_key": TOKEN}, {}),
        ({"slack": {"api_key": TOKEN}}, {"channel": "C0GENERAL9"}),
        ({}, {"api_key": TOKEN, "icon": "https://example.org/a.png", "channel": "@ada"}),
    ):
        asked = slack.questions
        foretold = state(minion(**pillar), test=True, **{**GIVEN, **more})
        assert (foretold.result, foretold.changes) == (None, {})
        assert foretold.comment == "The following message is to be sent to Slack: Über & <done>"
        assert slack.questions == asked
        sent = state(minion(**pillar), **{**GIVEN, **more})
        assert (sent.result, sent.changes, sent.comment) == (True, {}, "Sent message: deployed")
    assert [one["channel"] for one in slack.posted] == ["#general", "C0GENERAL9", "@ada"]
    assert slack.posted[0] == {"channel": "#general", "username": "Salt", "text": "Über & <done>"}
    assert slack.posted[2]["icon_url"] == "https://example.org/a.png"


def test_a_webhook(slack, minion):
    sent = state(minion(**{"slack.hook": slack.hook}), message="hello")
    assert (sent.result, sent.comment) == (True, "Sent message: deployed")
    more = {"attachment": "all of it", "short": True, "channel": "#ops", "username": "me", "icon_emoji": ":ship:"}
    assert state(minion(), message="hello", webhook=slack.hook, **more).result is True
    card = {
        "fallback": "hello", "color": "good", "pretext": "hello", "fields": [{"value": "all of it", "short": True}],
    }  # fmt: skip
    assert slack.posted == [
        {"text": "hello"},
        {"attachments": [card], "channel": "#ops", "username": "me", "icon_emoji": ":ship:"},
    ]


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({}, "Please specify api_key or webhook."),
        ({"api_key": "a", "webhook": "b"}, "Please specify only either api_key or webhook."),
        ({"api_key": "a"}, "Slack channel is missing."),
        ({"api_key": "a", "channel": "b"}, "Slack from name is missing."),
        ({"api_key": "a", "channel": "b", "from_name": "c"}, "Slack message is missing."),
        ({"webhook": "a"}, "Slack message is missing."),
    ],
)
def test_what_is_missing_is_said_beforehand(minion, arguments, comment):
    for test in (True, False):
        said = state(minion(), test=test, **arguments)
        assert (said.result, said.comment) == (False, comment)


def test_what_slack_refuses_is_said(slack, minion):
    refused = state(minion(), api_key="xoxb-wrong", **GIVEN)
    assert (refused.result, refused.comment) == (False, "Failed to send message (invalid_auth): deployed")
    assert "xoxb-wrong" not in refused.comment
    assert "(channel_not_found)" in state(minion(), api_key=TOKEN, **{**GIVEN, "channel": "#none"}).comment
    assert "(no_team)" in state(minion(), webhook=f"{slack.url}/services/other", message="x").comment
    assert "no http://" in state(minion(), webhook="file:///etc/passwd", message="x").comment
    slack.limited = True
    assert "again in 30 seconds" in state(minion(), api_key=TOKEN, **GIVEN).comment
    gone = minion(**{"slack.api_url": "http://127.0.0.1:1/api/"})
    assert "refused" in state(gone, api_key=TOKEN, **GIVEN).comment
    assert slack.posted == []


def test_the_module(slack, minion):
    call = Modules(minion(**{"slack.api_key": TOKEN, "slack.hook": slack.hook})).call
    listed = call("slack.list_rooms")
    assert (listed["res"], len(listed["message"])) == (True, 451)
    assert slack.questions == 3
    assert call("slack.find_room", ("#room-449",)) == {"id": "C000000449", "name": "room-449"}
    assert call("slack.find_room", ("none",)) is False
    assert [one["name"] for one in call("slack.list_users")["message"]] == ["ada", "bob"]
    assert call("slack.find_user", ("bob",))["id"] == "U00000002"
    assert call("slack.find_user", ("eve",)) is False
    assert call("slack.list_users", (), {"api_key": "x"}) == {"res": False, "message": "invalid_auth"}
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*a*"}}]
    assert call("slack.post_message", ("general", "hi", "me"), {"blocks": blocks}) is True
    assert slack.posted[-1]["blocks"] == blocks
    assert call("slack.post_message", ("none", "hi", "me")) == {"res": False, "message": "channel_not_found"}
    assert call("slack.call_hook", ("hi",)) is True
    assert call("slack.call_hook", ("hi",), {"identifier": f"{slack.url}/services/x"})["message"] == "no_team"
    bare = Modules(minion()).call
    for fun, words, said in (("list_users", (), "No Slack API key"), ("call_hook", ("hi",), "No Slack WebHook")):
        with pytest.raises(CallFailed, match=said):
            bare(f"slack.{fun}", words)


def test_channels_are_names_ids_and_people():
    assert [channel_of(one) for one in ("general", "#general", "@ada", "C024BE91L", "Code")] == [
        "#general", "#general", "@ada", "C024BE91L", "#Code",
    ]  # fmt: skip
