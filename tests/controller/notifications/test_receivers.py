"""Each receiver against an HTTP server: the published shape of its payload, hostile texts, and what answers come to."""

import hashlib
import hmac
import json
import socket

import pytest
from notification_services import HOSTILE, message

from controller.config.limits import NotificationLimits
from controller.config.notifications import MatrixOptions, OpsgenieOptions, PagerDutyOptions
from controller.forges.client import CheckState, ForgeUnavailable
from controller.notifications.receivers.chat import DiscordReceiver, SlackReceiver, TeamsReceiver
from controller.notifications.receivers.commit_status import CommitStatusReceiver
from controller.notifications.receivers.http_caller import HttpCaller, retry_after
from controller.notifications.receivers.matrix import MatrixReceiver
from controller.notifications.receivers.pagers import OpsgenieReceiver, PagerDutyReceiver
from controller.notifications.receivers.receiver import Rejected, TryLater
from controller.notifications.receivers.webhook import WebhookReceiver


async def sent(receiver, service, **more):
    await receiver.send(message(**more))
    method, path, headers, body = service.asked[-1]
    return method, path, {name.lower(): value for name, value in headers.items()}, json.loads(body)


async def test_slack_takes_plain_text(service, http):
    """https://docs.slack.dev/reference/block-kit/blocks/header-block, .../section-block: 150 and 3000 characters."""
    chat = SlackReceiver(name="chat", url=f"{service.url}/services/T0/B0/secret", http=http)
    _, path, headers, body = await sent(chat, service, text="x" * 7000)
    assert (path, headers["content-type"]) == ("/services/T0/B0/secret", "application/json")
    assert set(body) <= {"text", "blocks", "unfurl_links"}
    assert not {"<", ">"} & set(body["text"])
    assert "&lt;!here&gt;" in body["text"]
    header, *sections = body["blocks"]
    assert (header["type"], len(header["text"]["text"]) <= 150) == ("header", True)
    assert [len(one["text"]["text"]) for one in sections if one["type"] == "section"] == [3000, 3000, 1000]
    texts = [one.get("text") or one["elements"][0] for one in body["blocks"]]
    assert {one["type"] for one in texts} == {"plain_text"}


async def test_teams_takes_a_card_without_markdown_and_mentions(service, http):
    """https://adaptivecards.io/explorer/RichTextBlock.html, https://adaptivecards.io/explorer/TextRun.html"""
    chat = TeamsReceiver(name="chat", url=f"{service.url}/workflows/1", http=http)
    _, _, _, body = await sent(chat, service, text="line\n" * 5000)
    [attachment] = body["attachments"]
    assert (body["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    card = attachment["content"]
    assert (card["type"], card["version"], "msteams" in card) == ("AdaptiveCard", "1.4", False)
    assert {one["type"] for one in card["body"]} == {"RichTextBlock"}
    assert {run["type"] for one in card["body"] for run in one["inlines"]} == {"TextRun"}
    assert len(service.asked[-1][3]) < 28 * 1024
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open", "url": "https://saltern.example.org"}]


async def test_discord_mentions_nobody(service, http):
    """https://discord.com/developers/docs/resources/channel#embed-object: 256 and 4096 characters."""
    chat = DiscordReceiver(name="chat", url=f"{service.url}/api/webhooks/1/secret", http=http)
    _, _, _, body = await sent(chat, service, text="*" * 9000)
    assert body["allowed_mentions"] == {"parse": []}
    [embed] = body["embeds"]
    assert (len(embed["title"]) <= 256, len(embed["description"]) <= 4096) == (True, True)
    assert "\\*\\*bold\\*\\*" in embed["title"]
    assert "\\@everyone" in embed["title"]


async def test_a_webhook_is_signed(service, http):
    """As docs/notifications.md has a receiver check it."""
    hook = WebhookReceiver(name="hook", url=f"{service.url}/in", secret="s3cret", http=http, clock=lambda: 1000.7)
    _, _, headers, body = await sent(hook, service)
    signed = hmac.new(b"s3cret", b"1000." + service.asked[-1][3], hashlib.sha256).hexdigest()
    assert (headers["saltern-timestamp"], headers["saltern-signature"]) == ("1000", f"v1={signed}")
    assert headers["saltern-message"] == body["id"] == "group1-0-0"
    assert (body["version"], body["status"], body["action"]) == (1, "firing", "trigger")
    assert body["firing"]["shown"][0]["severity"] == "critical"


async def test_matrix_has_a_transaction_id_and_mentions_nobody(service, http):
    """https://spec.matrix.org/v1.11/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid"""
    options = MatrixOptions(server=service.url, room="!room/1:example.org", token="t0ken")
    method, path, headers, body = await sent(MatrixReceiver(name="room", options=options, http=http), service)
    assert method == "PUT"
    assert path == "/_matrix/client/v3/rooms/%21room%2F1%3Aexample.org/send/m.room.message/group1-0-0"
    assert headers["authorization"] == "Bearer t0ken"
    assert (body["msgtype"], body["m.mentions"], "formatted_body" in body) == ("m.text", {}, False)


async def test_pagerduty_knows_an_incident_by_its_key(service, http):
    """https://developer.pagerduty.com/docs/events-api-v2/trigger-events/"""
    options = PagerDutyOptions(routing_key="k" * 32, url=f"{service.url}/v2/enqueue")
    pager = PagerDutyReceiver(name="pager", options=options, source="controller1", http=http)
    _, _, _, body = await sent(pager, service)
    assert (body["routing_key"], body["event_action"], body["dedup_key"]) == ("k" * 32, "trigger", "group1")
    payload = body["payload"]
    assert {"summary", "source", "severity"} <= set(payload)
    assert payload["severity"] in ("critical", "error", "warning", "info")
    assert (payload["source"], "\n" in payload["summary"], len(payload["summary"]) <= 1024) == ("web1", False, True)
    for action in ("acknowledge", "resolve"):
        _, _, _, body = await sent(pager, service, action=action)
        assert body == {"routing_key": "k" * 32, "event_action": action, "dedup_key": "group1"}


async def test_opsgenie_knows_an_alert_by_its_alias(service, http):
    """https://docs.opsgenie.com/docs/alert-api: create, acknowledge, close."""
    options = OpsgenieOptions(api_key="key1", url=service.url)
    pager = OpsgenieReceiver(name="pager", options=options, source="controller1", http=http)
    _, path, headers, body = await sent(pager, service)
    assert (path, headers["authorization"]) == ("/v2/alerts", "GenieKey key1")
    assert (body["alias"], body["priority"], len(body["message"]) <= 130) == ("group1", "P1", True)
    for action, act in (("acknowledge", "acknowledge"), ("resolve", "close")):
        _, path, _, body = await sent(pager, service, action=action)
        assert path == f"/v2/alerts/group1/{act}?identifierType=alias"
        assert set(body) == {"source", "user", "note"}


@pytest.mark.parametrize(
    ("status", "headers", "kind", "after"),
    [
        (429, {"retry-after": "17"}, TryLater, 17),
        (503, {"retry-after": "99999999"}, TryLater, 3600),
        (429, {"retry-after": "nan"}, TryLater, 0),
        (500, {}, TryLater, 0),
        (401, {}, TryLater, 0),
        (302, {"location": "http://127.0.0.1:1/"}, TryLater, 0),
        (400, {}, Rejected, None),
        (413, {}, Rejected, None),
    ],
)
async def test_answers(service, http, status, headers, kind, after):
    service.status, service.headers, service.body = status, headers, b"no: /services/T0/s3cret \x1b[31m"
    chat = SlackReceiver(name="chat", url=f"{service.url}/services/T0/s3cret", http=http)
    with pytest.raises(kind) as raised:
        await chat.send(message())
    assert getattr(raised.value, "after", None) == after
    assert len(service.asked) == 1, "redirects are not followed"
    assert "s3cret" not in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_retry_after_may_be_a_date():
    assert retry_after({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 100.0) == 20.0
    assert retry_after({"retry-after": "soon"}, 100.0) == 0.0


async def test_a_long_answer_is_not_read_to_its_end(service, http, refusals):
    service.body = b"x" * 1_000_000
    await SlackReceiver(name="chat", url=service.url, http=http).send(message())
    assert refusals == ["answer-bytes"]


async def test_one_that_does_not_answer_is_left_after_a_while(refusals):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        http = HttpCaller(limits=NotificationLimits(call_seconds=0.2), refused=refusals.append)
        chat = SlackReceiver(name="chat", url=f"http://127.0.0.1:{silent.getsockname()[1]}/s3cret", http=http)
        with pytest.raises(TryLater, match=r"127\.0\.0\.1 did not answer within 0\.2 s"):
            await chat.send(message())
    assert refusals == ["call-seconds"]


async def test_a_secret_that_is_not_there_is_waited_for(tmp_path, service, http):
    from gitfs.config.credentials import SecretFrom

    chat = SlackReceiver(name="chat", url=SecretFrom("file", str(tmp_path / "url")), http=http)
    with pytest.raises(TryLater, match="cannot be read"):
        await chat.send(message())
    (tmp_path / "url").write_text(f"{service.url}/x")
    await chat.send(message())
    (tmp_path / "url").write_text("ftp://example.org/s3cret")
    with pytest.raises(TryLater) as raised:
        await chat.send(message())
    assert "s3cret" not in str(raised.value)


class Forge:
    """A forge's client, as far as it is asked; the real ones are tested in tests/controller/forges."""

    def __init__(self):
        self.set, self.error = [], None

    async def set_check(self, project, head, check):
        if self.error:
            raise self.error
        self.set.append((project, head, check.name, check.state, check.title))


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, CheckState.FAILURE),
        ({"severity": "warning"}, CheckState.RUNNING),
        ({"severity": "info"}, CheckState.SUCCESS),
        ({"action": "resolve"}, CheckState.SUCCESS),
    ],
)
async def test_a_commit_has_a_status(more, state):
    forge = Forge()
    receiver = CommitStatusReceiver(name="f", context="saltern/deploy", client=forge, projects={"states": "org/s"})
    await receiver.send(message(**more, commits={"states": "a" * 40, "formulas": "b" * 40}))
    [(project, head, name, found, title)] = forge.set
    assert (project, head, name, found) == ("org/s", "a" * 40, "saltern/deploy", state)
    assert "\n" not in title
    forge.error = ForgeUnavailable("later", 7.0)
    with pytest.raises(TryLater) as raised:
        await receiver.send(message(**more))
    assert raised.value.after == 7.0
    assert HOSTILE
