"""Returners that tell people and logs: syslog, mail, Slack, and any address that takes JSON. Nothing is read back.

Source: salt/returners/syslog_return.py, and smtp and slack_webhook of Salt's extensions.
"""

from __future__ import annotations

import json
import os
import re
import smtplib
import socket
import ssl
import syslog as levels
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from typing import Any

from minion.returners.errors import ReturnerError
from minion.returners.http import request
from minion.returners.options import options_of, times

_SYSLOG = {"level": "LOG_INFO", "facility": "LOG_USER", "tag": "salt-minion", "address": "/dev/log", "options": ()}
_SMTP = {
    "from": None,
    "to": None,
    "host": None,
    "port": 25,
    "tls": False,
    "ssl": False,
    "username": None,
    "password": "",
    "subject": "Salt: {id}: {fun} {outcome}",
    "fields": "id,fun,fun_args,success",
    "timeout": 20,
}
_SLACK = {
    "webhook": None,
    "success_title": "{id} | Succeeded",
    "failure_title": "{id} | Failed",
    "author_icon": "",
    "show_tasks": False,
}
_WEBHOOK = {"url": None, "headers": None, "username": "", "password": "", "timeout": 20, "verify_ssl": True}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "slack_webhook": _SLACK,
    "smtp": _SMTP,
    "syslog": _SYSLOG,
    "webhook": _WEBHOOK,
}
_NEEDED = {"slack_webhook": ("webhook",), "smtp": ("from", "to", "host"), "webhook": ("url",)}
_DATAGRAM = 64 * 1024
"""Bytes of a message of syslog: what does not fit is cut."""
_MOST_TEXT = 100_000
"""Characters of a return in a mail."""


def syslog(opts: Mapping[str, Any], ret: Mapping[str, Any]) -> None:
    """Write a return to the system's log as JSON."""
    _log(opts, ret, json.dumps(ret, default=str))


def syslog_events(opts: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
    """Write events there, each as JSON."""
    for event in events:
        _log(opts, None, json.dumps({"tag": event["tag"], "data": event["data"]}, default=str))


def syslog_message(opts: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """Write a message there."""
    _log(opts, message, " - ".join(str(message[key]) for key in ("title", "text") if message[key]))


def _log(opts: Mapping[str, Any], ret: Mapping[str, Any] | None, text: str) -> None:
    found = options_of("syslog", opts, _SYSLOG, ret)
    try:
        priority = getattr(levels, str(found["facility"])) | getattr(levels, str(found["level"]))
    except AttributeError as error:
        raise ReturnerError(f"syslog: there is no level or facility of this name: {error.name}") from error
    pid = f"[{os.getpid()}]" if "LOG_PID" in (found["options"] or ()) else ""
    line = f"<{priority}>{found['tag']}{pid}: {text}".encode()[:_DATAGRAM]
    address = str(found["address"])
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.settimeout(10.0)
            log.connect(address)
            log.send(line)
    except OSError as error:
        raise ReturnerError(f"syslog: {address}: {error.strerror or error}") from error


def smtp(opts: Mapping[str, Any], ret: Mapping[str, Any]) -> None:
    """Mail a return. Its Message-ID is made of jid and minion, by which the same mail is known again."""
    found = _configured("smtp", opts, ret)
    about = {**ret, "outcome": "succeeded" if ret.get("success") else "failed"}
    message = _letter(found, _filled(str(found["subject"]), about), f"{_word(ret['jid'])}.{_word(ret['id'])}")
    fields = found["fields"]
    names = fields if isinstance(fields, list | tuple) else str(fields).split(",")
    lines = [f"{name.strip()}: {ret.get(name.strip())}" for name in names if name.strip()]
    text = json.dumps(ret.get("return"), indent=2, default=str)[:_MOST_TEXT]
    message.set_content("\n".join([*lines, "", text]) + "\n")
    _mail(found, message)


def smtp_message(opts: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """Mail a message; the same one is known again by its Message-ID."""
    found = _configured("smtp", opts, message)
    letter = _letter(found, str(message["title"] or message["text"])[:200], _word(message["name"]))
    letter.set_content(str(message["text"] or message["title"]) + "\n")
    _mail(found, letter)


def _letter(found: Mapping[str, Any], subject: str, name: str) -> EmailMessage:
    letter, to = EmailMessage(), found["to"]
    letter["From"] = str(found["from"])
    letter["To"] = ", ".join(map(str, to)) if isinstance(to, list | tuple) else str(to)
    letter["Subject"] = " ".join(subject.split())
    letter["Message-ID"] = f"<{name}@saltern>"
    return letter


def _mail(found: Mapping[str, Any], message: EmailMessage) -> None:
    client = smtplib.SMTP_SSL if found["ssl"] else smtplib.SMTP
    try:
        with client(str(found["host"]), int(found["port"]), timeout=times(found["timeout"], 20.0)) as server:
            if found["tls"]:
                server.starttls(context=ssl.create_default_context())
            if found["username"]:
                server.login(str(found["username"]), str(found["password"]))
            server.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        raise ReturnerError(f"smtp: {found['host']}: {error}") from error


def _word(value: Any) -> str:
    """What may stand in the id of a mail."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", str(value))


def slack_webhook(opts: Mapping[str, Any], ret: Mapping[str, Any]) -> None:
    """Post a return to a channel, by an incoming webhook of Slack."""
    found = _configured("slack_webhook", opts, ret)
    states = ret.get("return")
    tasks = [one for one in states.values() if isinstance(one, Mapping)] if isinstance(states, Mapping) else []
    failed = [one for one in tasks if one.get("result") is False]
    good = bool(ret.get("success")) and not failed
    text = f"Function: {ret['fun']}\nJob: {ret['jid']}"
    if tasks:
        text += f"\nSucceeded: {len(tasks) - len(failed)}, failed: {len(failed)}"
    if found["show_tasks"] and failed:
        text += "".join(f"\n{one.get('__id__', one.get('name', ''))}: {one.get('comment', '')}" for one in failed[:20])
    title = _filled(str(found["success_title" if good else "failure_title"]), ret)
    card = {"color": "#272727" if good else "#b30000", "title": title, "text": text[:3000], "fallback": title}
    _post_card(found, card)


def slack_message(opts: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """Post a message to a channel."""
    title, text = str(message["title"] or ""), str(message["text"] or "")
    card = {"color": "#272727", "text": text[:3000], "fallback": (title or text)[:200]}
    _post_card(_configured("slack_webhook", opts, message), {**card, "title": title} if title else card)


def _post_card(found: Mapping[str, Any], card: Mapping[str, Any]) -> None:
    hook = str(found["webhook"])
    url = hook if "://" in hook else f"https://hooks.slack.com/services/{hook}"
    icon = {"author_icon": str(found["author_icon"])} if found["author_icon"] else {}
    request("POST", url, json.dumps({"attachments": [{**card, **icon}]}).encode())


def webhook(opts: Mapping[str, Any], ret: Mapping[str, Any]) -> None:
    """Post a return as JSON; the header Idempotency-Key has jid and minion."""
    _post(opts, ret, ret, f"{ret['jid']}/{ret['id']}")


def webhook_events(opts: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
    """Post events as a list."""
    _post(opts, None, [{"tag": event["tag"], "data": event["data"]} for event in events], str(events[0]["name"]))


def webhook_message(opts: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """Post a message as JSON: `title`, `text`, `reaction` and `event`."""
    body = {key: value for key, value in message.items() if key not in ("name", "ret_config")}
    _post(opts, message, body, str(message["name"]))


def _post(opts: Mapping[str, Any], ret: Mapping[str, Any] | None, body: Any, name: str) -> None:
    found = _configured("webhook", opts, ret)
    headers = {str(key): str(value) for key, value in (found["headers"] or {}).items()}
    request(
        "POST",
        str(found["url"]),
        json.dumps(body, default=str).encode(),
        headers={"Idempotency-Key": name, **headers},
        user=str(found["username"] or ""),
        password=str(found["password"] or ""),
        timeout=times(found["timeout"], 20.0),
        verify=bool(found["verify_ssl"]),
    )


def missing_options(name: str, opts: Mapping[str, Any], ret: Mapping[str, Any] | None) -> list[str]:
    """Options without which nothing can be sent."""
    found = options_of(name, opts, DEFAULTS[name], ret)
    return [f"{name}.{option}" for option in _NEEDED.get(name, ()) if not found[option]]


def _configured(name: str, opts: Mapping[str, Any], ret: Mapping[str, Any] | None) -> dict[str, Any]:
    if missing := missing_options(name, opts, ret):
        raise ReturnerError(f"{name}: not configured: {', '.join(missing)}")
    return options_of(name, opts, DEFAULTS[name], ret)


def _filled(form: str, values: Mapping[str, Any]) -> str:
    """A text with `{id}`, `{fun}`, `{jid}` and `{outcome}` in it, replaced once."""
    for name in ("id", "fun", "jid", "outcome"):
        form = form.replace(f"{{{name}}}", str(values.get(name, "")))
    return form
