"""The execution module `smtp`: mails.

Behaviour: doc/ref/modules/all/salt.modules.smtp.
"""

from __future__ import annotations

import posixpath
import smtplib
import ssl
from collections.abc import Mapping
from email.message import EmailMessage
from typing import Any

from minion.arguments.types import Texts
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.configured import configured

_SECONDS = 60


def send_msg(
    context: Context, recipient: str, message: str, subject: str = "Message from Salt", sender: str | None = None,
    server: str | None = None, use_ssl: str | bool = True, username: str | None = None, password: str | None = None,
    profile: str | None = None, attachments: Texts = (),
) -> bool:  # fmt: skip
    """Send a mail, to several with commas between them. TLS from the beginning, or with `use_ssl` false as offered.

    `profile` names the option or pillar that has `smtp.server`, `smtp.tls`, `smtp.sender`, `smtp.username` and
    `smtp.password`. The server is `host` or `host:port`; its certificate is checked.
    """
    if profile:
        found = configured(context.machine, profile, None)
        if not isinstance(found, Mapping):
            raise CallFailed(f"there is no profile {profile} in the configuration or the pillar")
        server, use_ssl = found.get("smtp.server"), found.get("smtp.tls", True)
        sender, username = found.get("smtp.sender"), found.get("smtp.username")
        password = found.get("smtp.password")
    if not server or not sender:
        raise CallFailed("a mail needs server and sender, by arguments or a profile")
    mail = _mail(context, recipient, message, subject, sender, attachments)
    try:
        with _connection(server, str(use_ssl).lower() == "true") as connection:
            if username and password:
                connection.login(username, password)
            refused = connection.send_message(mail)
    except (OSError, smtplib.SMTPException) as error:
        raise CallFailed(f"{server}: {error}") from error
    if refused:
        raise CallFailed(f"{server} refuses {', '.join(refused)}")
    return True


def _mail(
    context: Context, recipient: str, message: str, subject: str, sender: str, attachments: Texts
) -> EmailMessage:
    mail = EmailMessage()
    try:
        mail["Subject"], mail["From"], mail["To"] = subject, sender, recipient
    except ValueError as error:
        raise CallFailed(str(error)) from error
    mail.set_content(message)
    for path in attachments:
        mail.add_attachment(
            context.machine.read(path),
            maintype="application",
            subtype="octet-stream",
            filename=posixpath.basename(path),
        )
    return mail


def _connection(server: str, use_ssl: bool) -> smtplib.SMTP:
    trusted = ssl.create_default_context()
    if use_ssl:
        return smtplib.SMTP_SSL(server, timeout=_SECONDS, context=trusted)
    connection = smtplib.SMTP(server, timeout=_SECONDS)
    try:
        connection.ehlo()
        if connection.has_extn("starttls"):
            connection.starttls(context=trusted)
    except (OSError, smtplib.SMTPException):
        connection.close()
        raise
    return connection


FUNCTIONS: Mapping[str, Any] = {"send_msg": send_msg}
