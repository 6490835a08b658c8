"""The words of a message: those that it has by itself, or those of a template of saltern.yaml. Pure.

Templates write plain text. Each receiver escapes it for its service, so that no name of a minion and no subject of a
commit becomes a mention or markup there.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from controller.notifications.grouping import Flush
from controller.notifications.notice import Message, Notice, worst
from controller.policy.notifications import KINDS, NotificationTemplate
from controller.report.templates import TemplateFailed, render_bounded

_TITLE = 300
_NAMED = 3
"""Subjects that a title names."""
_BEFORE = {"trigger": "", "acknowledge": "Acknowledged: ", "resolve": "Resolved: "}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordBounds:
    """What a message may hold."""

    shown: int
    """Notices that it names."""
    characters: int
    """Of its text."""


def worded(
    flush: Flush,
    template: NotificationTemplate | None,
    commits: Mapping[str, str],
    bounds: WordBounds,
    url: str,
) -> tuple[Message, str]:
    """The message of what is due, and why its template was not used; empty where it was.

    Args:
        flush: what is due.
        template: of the policy; None: the message has its own words.
        commits: remote -> commit of the revision that it is about.
        bounds: of what it holds.
        url: where people look on.
    """
    severities = {one.severity for one in flush.firing or flush.resolved}
    message = Message(
        id=flush.id,
        receiver=flush.group.receiver,
        group=flush.group.key,
        action=flush.action,
        severity=worst(severities),
        labels=dict(flush.group.labels),
        title=_title(flush),
        text=_text(flush, bounds.shown)[: bounds.characters],
        revision=revision_of(flush),
        commits=commits,
        firing=flush.firing[: bounds.shown],
        resolved=flush.resolved[: bounds.shown],
        counts=(len(flush.firing), len(flush.resolved)),
        at=flush.at,
        url=url,
    )
    if template is None:
        return message, ""
    try:
        return _in_words_of(template, message, bounds.characters), ""
    except TemplateFailed as error:
        return message, str(error)


def revision_of(flush: Flush) -> str:
    """The revision that all of it is about; empty where it is about several, or none."""
    labels = {one.revision for one in flush.firing or flush.resolved}
    return labels.pop() if len(labels) == 1 else ""


def _in_words_of(template: NotificationTemplate, message: Message, most: int) -> Message:
    plain = msgspec.to_builtins(message)
    for part in ("firing", "resolved"):
        for one, notice in zip(plain[part], getattr(message, part), strict=True):
            one["severity"] = notice.severity
    title = render_bounded(template.title, plain, _TITLE * 4) if template.title else message.title
    text = render_bounded(template.text, plain, most) if template.text else message.text
    return msgspec.structs.replace(message, title=title[:_TITLE], text=text)


def _title(flush: Flush) -> str:
    notices = flush.firing or flush.resolved
    before = _BEFORE[flush.action]
    if len(notices) == 1:
        return f"{before}{notices[0].title}"[:_TITLE]
    kinds = sorted({one.kind for one in notices})
    named = ", ".join(one.subject for one in notices[:_NAMED])
    more = f" and {len(notices) - _NAMED} more" if len(notices) > _NAMED else ""
    what = KINDS[kinds[0]].about if len(kinds) == 1 else ", ".join(kinds)
    return f"{before}{len(notices)} x {what}: {named}{more}"[:_TITLE]


def _text(flush: Flush, shown: int) -> str:
    lines = _lines(flush.firing, shown)
    if flush.firing and flush.resolved:
        lines.append("Over:")
    return "\n".join([*lines, *_lines(flush.resolved, shown)])


def _lines(notices: Sequence[Notice], shown: int) -> list[str]:
    lines = []
    for one in notices[:shown]:
        since = datetime.datetime.fromtimestamp(one.since, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        revision = f", revision {one.revision}" if one.revision else ""
        lines.append(f"- {one.title} ({one.severity}, since {since}{revision})")
        lines += [f"  {line}" for line in one.text.splitlines()]
    if len(notices) > shown:
        lines.append(f"and {len(notices) - shown} more")
    return lines
