"""Mails, to a mail server of the tests."""

from email import message_from_bytes, policy

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from rig import free_ports

from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules


class Inbox:
    """Takes mails, but none for `nobody@…`."""

    def __init__(self):
        self.mails = []

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802 - aiosmtpd's
        if address.startswith("nobody"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - aiosmtpd's
        self.mails.append((envelope.rcpt_tos, message_from_bytes(envelope.content, policy=policy.default)))
        return "250 OK"


@pytest.fixture
def inbox():
    inbox = Inbox()

    def authenticate(server, session, envelope, mechanism, data):
        return AuthResult(success=data.password == b"sesame", handled=False)

    controller = Controller(
        inbox, hostname="127.0.0.1", port=free_ports(1)[0], authenticator=authenticate, auth_require_tls=False
    )  # fmt: skip
    controller.start()
    inbox.server = f"127.0.0.1:{controller.port}"
    yield inbox
    controller.stop()


@pytest.fixture
def profile(inbox):
    return {
        "smtp.server": inbox.server, "smtp.tls": False, "smtp.sender": "salt@example.org", "smtp.username": "joe",
        "smtp.password": "sesame",
    }  # fmt: skip


def context(**pillar):
    return Context(minion_id="m", make_pillar=lambda: pillar)


def state(context, *, test, **arguments):
    one = Chunk(state="smtp", fun="send_msg", id="x", name="It is done", sls="s", arguments=arguments)
    engine = StateEngine(context.machine, test=test, functions=Modules(context))
    return run({"k": one}, engine, test=test, clock=lambda: 0.0)["k"]


def test_a_mail_is_sent_and_foretold(inbox, profile, tmp_path):
    (tmp_path / "log.txt").write_bytes(b"\x00log")
    given = {"recipient": "a@example.org, b@example.org", "subject": "Über", "profile": "mine"}
    given["attachments"] = [str(tmp_path / "log.txt")]
    minion = context(mine=profile)
    foretold = state(minion, test=True, **given)
    assert (foretold.result, foretold.comment, inbox.mails) == (
        None, "Need to send message to a@example.org, b@example.org: It is done", [],
    )  # fmt: skip
    sent = state(minion, test=False, **given)
    assert (sent.result, sent.changes) == (True, {})
    assert sent.comment == (
        f"Sent message to a@example.org, b@example.org with attachments ({tmp_path}/log.txt): It is done"
    )
    [(recipients, mail)] = inbox.mails
    assert recipients == ["a@example.org", "b@example.org"]
    assert (mail["Subject"], mail["From"]) == ("Über", "salt@example.org")
    assert mail.get_body().get_content().strip() == "It is done"
    [attachment] = mail.iter_attachments()
    assert (attachment.get_filename(), attachment.get_content()) == ("log.txt", b"\x00log")


def test_what_cannot_be_sent_is_said(inbox, profile):
    given = {"recipient": "a@example.org", "subject": "x"}
    missing = state(context(), test=True, **given)
    assert (missing.result, missing.comment) == (
        False, "Missing parameter sender or profile for state smtp.send_msg",
    )  # fmt: skip
    wrong = state(context(mine={**profile, "smtp.password": "wrong"}), test=False, profile="mine", **given)
    assert wrong.comment.startswith("Unable to send message to a@example.org: It is done\n")
    assert "535" in wrong.comment
    assert "wrong" not in wrong.comment
    assert "there is no profile none" in state(context(), test=False, profile="none", **given).comment
    assert inbox.mails == []


def test_the_module(inbox):
    call = Modules(context()).call
    given = {"server": inbox.server, "sender": "salt@example.org", "use_ssl": "False"}
    assert call("smtp.send_msg", ("a@example.org", "text"), given) is True
    assert inbox.mails[0][1]["Subject"] == "Message from Salt"
    for recipient in ("nobody@example.org", "a@example.org,nobody@example.org"):
        with pytest.raises(CallFailed, match="nobody@example"):
            call("smtp.send_msg", (recipient, "text"), given)
    with pytest.raises(CallFailed, match="needs server and sender"):
        call("smtp.send_msg", ("a@example.org", "text"))
    with pytest.raises(CallFailed):
        call("smtp.send_msg", ("a@example.org", "text"), {**given, "subject": "a\nBcc: b@example.org"})
    with pytest.raises(CallFailed, match=r"127\.0\.0\.1"):
        call("smtp.send_msg", ("a@example.org", "text"), {**given, "use_ssl": True})
