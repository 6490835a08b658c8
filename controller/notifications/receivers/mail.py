"""E-mail: one message to all recipients, over SMTP with STARTTLS, TLS, or neither on this machine.

RFC 5321, RFC 3207 (STARTTLS), RFC 4954 (AUTH). The Message-ID is that of the notification, by which programs for mail
know one that comes twice; those of a group refer to the same thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import email.message
import email.policy
import email.utils
import smtplib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from controller.config.limits import NotificationLimits
from controller.config.notifications import MailOptions
from controller.notifications.notice import Message
from controller.notifications.receivers.chat import revealed_secret
from controller.notifications.receivers.plain_text import clean, one_line
from controller.notifications.receivers.receiver import Rejected, TryLater
from options.limits import CountRefusal

log = structlog.get_logger("saltern.notifications")
_PRIORITY = {"critical": "1", "warning": "3", "info": "5"}
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MailReceiver:
    """Somebody with an address."""

    name: str
    options: MailOptions
    ca_file: str
    limits: NotificationLimits
    refused: CountRefusal

    async def send(self, message: Message) -> None:
        """See `Receiver`."""
        password = ""
        if self.options.password:
            password = await revealed_secret(self.options.password, f"{self.name}: the password")
        sending = _Sending(self.options, self.ca_file, self.limits.call_seconds)
        work = asyncio.ensure_future(asyncio.to_thread(sending.run, self.mail_of(message), password))
        try:
            async with asyncio.timeout(self.limits.call_seconds):
                refused = await asyncio.shield(work)
        except TimeoutError:
            self.refused("call-seconds")
            while not work.done():  # a server that sends a little now and then would keep the thread
                sending.end()
                await asyncio.wait({work}, timeout=0.2)
            work.exception()
            text = f"{self.options.host} did not take it within {self.limits.call_seconds:g} s"
            raise TryLater(text) from None
        if refused:
            log.warning("mail: recipients refused", receiver=self.name, recipients=refused)

    def mail_of(self, message: Message) -> email.message.EmailMessage:
        """The mail. Its headers are single lines, whatever the texts are."""
        mail = email.message.EmailMessage(policy=email.policy.SMTP)
        domain = self.options.sender.rpartition("@")[2].rstrip(">").strip() or "localhost"
        mail["From"] = self.options.sender
        mail["To"] = ", ".join(self.options.to)
        mail["Subject"] = one_line(message.title, 200)
        mail["Date"] = email.utils.format_datetime(datetime.datetime.fromtimestamp(message.at, datetime.UTC))
        mail["Message-ID"] = f"<{message.id}@{domain}>"
        mail["References"] = f"<{message.group}@{domain}>"
        mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody answers it by a program
        mail["X-Priority"] = _PRIORITY[message.severity]
        text = clean(message.text) + (f"\n\n{message.url}" if message.url else "")
        mail.set_content(text + "\n", charset="utf-8", cte="quoted-printable")
        return mail


class _Client(smtplib.SMTP):
    """Tells of itself before it connects: it reads the greeting of the server while it is made."""

    def __init__(self, *arguments: Any, begins: Callable[[smtplib.SMTP], None], **options: Any) -> None:
        self._begins = begins
        super().__init__(*arguments, **options)

    def connect(self, *arguments: Any, **options: Any) -> tuple[int, bytes]:
        """See `smtplib.SMTP`."""
        self._begins(self)
        return super().connect(*arguments, **options)


class _EncryptedClient(_Client, smtplib.SMTP_SSL):
    """The same over TLS."""


class _Sending:
    """One mail on its way, in a thread; another thread may end it."""

    def __init__(self, options: MailOptions, ca_file: str, seconds: float) -> None:
        self._options = options
        self._ca_file = ca_file
        self._seconds = seconds
        self._client: smtplib.SMTP | None = None

    def end(self) -> None:
        """Close the connection under the thread."""
        sock = getattr(self._client, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def run(self, mail: email.message.EmailMessage, password: str) -> list[str]:
        """Send it; the recipients that were refused, where there are others. Raises NotTaken."""
        host = self._options.host
        try:
            with self._connected() as client:
                if self._options.user:
                    client.login(self._options.user, password)
                return sorted(client.send_message(mail))
        except smtplib.SMTPDataError as error:
            kind = Rejected if error.smtp_code >= 500 else TryLater
            raise kind(f"{host} answered {error.smtp_code}: {_said(error.smtp_error)}") from None
        except smtplib.SMTPAuthenticationError as error:
            raise TryLater(f"{host} refuses user and password ({error.smtp_code})") from None
        except smtplib.SMTPRecipientsRefused as error:
            why = "; ".join(f"{name}: {code} {_said(text)}" for name, (code, text) in sorted(error.recipients.items()))
            raise TryLater(one_line(f"{host} refuses all recipients: {why}", _SHOWN)) from None
        except smtplib.SMTPResponseException as error:
            raise TryLater(f"{host} answered {error.smtp_code}: {_said(error.smtp_error)}") from None
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise TryLater(f"{host}: {one_line(str(error) or type(error).__name__, _SHOWN)}") from None

    def _begins(self, client: smtplib.SMTP) -> None:
        self._client = client

    def _connected(self) -> smtplib.SMTP:
        options = self._options
        if options.tls == "tls":
            context = ssl.create_default_context(cafile=self._ca_file or None)
            client: smtplib.SMTP = _EncryptedClient(
                options.host, options.port_number, timeout=self._seconds, context=context, begins=self._begins
            )
        else:
            client = _Client(options.host, options.port_number, timeout=self._seconds, begins=self._begins)
        if options.tls == "starttls":
            client.starttls(context=ssl.create_default_context(cafile=self._ca_file or None))
        return client


def _said(text: bytes | str) -> str:
    return one_line(text.decode(errors="replace") if isinstance(text, bytes) else text, _SHOWN)
