"""Mail against a real SMTP server."""

import asyncio
import email
import email.policy
import ssl

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from notification_services import message
from rig import free_ports

from controller.config.limits import NotificationLimits
from controller.config.notifications import MailOptions
from controller.notifications.receivers.mail import MailReceiver
from controller.notifications.receivers.receiver import Rejected, TryLater

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Box:
    """Takes mails, or answers as a test says."""

    def __init__(self):
        self.mails, self.answer = [], "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - aiosmtpd's
        if self.answer.startswith("250"):
            self.mails.append((envelope.rcpt_tos, envelope.content))
        return self.answer


@pytest.fixture
def box():
    return Box()


@pytest.fixture
def server(box, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)

    def check(server, session, envelope, mechanism, data):
        return AuthResult(success=(data.login, data.password) == (b"saltern", b"pass word"), handled=False)

    made = Controller(
        box,
        hostname="127.0.0.1",
        port=free_ports(1)[0],
        tls_context=context,
        require_starttls=True,
        authenticator=check,
        auth_required=True,
    )
    made.start()
    yield made
    made.stop()


def receiver(port, tmp_path, **more):
    given = {"user": "saltern", "password": "pass word", **more}
    options = MailOptions(host="localhost", port=port, sender="Saltern <s@example.org>", to=("a@example.org",), **given)
    limits = NotificationLimits(call_seconds=more.pop("call_seconds", 10.0))
    return MailReceiver(
        name="mail", options=options, ca_file=str(tmp_path / "ca.pem"), limits=limits, refused=lambda limit: None
    )


def port_of(server):
    return server.port


async def test_a_mail_with_starttls_and_a_password(server, box, tmp_path):
    await receiver(port_of(server), tmp_path).send(message())
    [(recipients, content)] = box.mails
    assert recipients == ["a@example.org"], "no header of a text adds one"
    mail = email.message_from_bytes(content, policy=email.policy.default)
    assert "Bcc" not in mail
    assert "Bcc: evil@example.org" in mail["Subject"]
    assert (mail["Message-ID"], mail["References"]) == ("<group1-0-0@example.org>", "<group1@example.org>")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "text/plain"
    assert "second line" in mail.get_content()


async def test_a_wrong_password_is_tried_later_and_not_shown(server, box, tmp_path):
    with pytest.raises(TryLater, match="refuses user and password") as raised:
        await receiver(port_of(server), tmp_path, password="another one").send(message())
    assert "another one" not in str(raised.value)
    assert box.mails == []


@pytest.mark.parametrize(("answer", "kind"), [("552 too much", Rejected), ("451 later", TryLater)])
async def test_answers(server, box, tmp_path, answer, kind):
    box.answer = answer
    with pytest.raises(kind, match=answer.partition(" ")[2]):
        await receiver(port_of(server), tmp_path).send(message())


async def test_a_certificate_that_is_not_trusted(server, box, tmp_path):
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.pem")
    with pytest.raises(TryLater, match="certificate verify failed"):
        await receiver(port_of(server), tmp_path).send(message())
    assert box.mails == []


async def test_a_server_that_sends_now_and_then_holds_nobody_for_ever(tmp_path):
    gone = asyncio.Event()

    async def drip(reader, writer):
        try:
            while True:
                writer.write(b"220-x\r\n")
                await writer.drain()
                await asyncio.sleep(0.02)
        except OSError:
            gone.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    slow = receiver(server.sockets[0].getsockname()[1], tmp_path)
    slow = MailReceiver(
        name="m", options=slow.options, ca_file="", limits=NotificationLimits(call_seconds=0.3), refused=lambda _: None
    )
    with pytest.raises(TryLater, match=r"within 0\.3 s"):
        await slow.send(message())
    await asyncio.wait_for(gone.wait(), 20)
    server.close()
