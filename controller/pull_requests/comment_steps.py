"""The comment with the report, from what stands there: made, edited, replaced, hidden. Pure; a part of `decision`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from controller.forges.client import ForgeComment
from controller.pull_requests.instructions import (
    CreateComment,
    EditComment,
    HideComment,
    Look,
    PullInstruction,
    PullRules,
    ReplaceComment,
)
from controller.pull_requests.keys import find_by_key
from controller.report.marker import parse_marker
from controller.store.pull_requests import PullRecord


def comment_steps(look: Look, rules: PullRules) -> Iterator[PullInstruction]:
    """The comment as it should be, from what stands there."""
    record, digest = look.record, body_digest(look.body, _unsaid(look))
    for comment in record.hide:
        yield HideComment(comment)
    if record.hide:
        return
    own = _own_comment(look)
    if own is not None and _is_newer(own, look.body):
        return
    if own is None and not record.comment:
        yield CreateComment(look.body, digest)
        return
    known = record.comment or (own.id if own is not None else "")
    same = record.comment == known and record.comment_digest == digest
    if same and (own is not None or record.unlisted):
        return
    if rules.comment != "update" and record.comment_head not in ("", look.pull.head) and not same:
        yield ReplaceComment(known if rules.comment == "hide-and-new" else "")
        return
    yield EditComment(known, look.body, digest)


def is_said(look: Look) -> bool:
    """Whether the comment says all that there is to say."""
    return look.record.comment_digest == body_digest(look.body, _unsaid(look))


def body_digest(body: str, unsaid: Iterable[str] = ()) -> str:
    """Equal for comments that say the same, whenever they were made and whatever commits they were made for.

    Args:
        body: of a comment.
        unsaid: texts in it that do not count.
    """
    first, _, rest = body.partition("\n")
    said = rest if parse_marker(first) is not None else body
    for text in unsaid:
        said = said.replace(text, "")
    return hashlib.sha256(said.strip().encode()).hexdigest()


def deleted(record: PullRecord) -> PullRecord:
    """The record after the forge said that our comment is gone: the next one has another key."""
    return replace(record, comment="", comment_head="", comment_digest="", unlisted=False, serial=record.serial + 1)


def shows(record: PullRecord, look: Look, comment: str, digest: str) -> PullRecord:
    """The record when a comment says what it should."""
    return replace(record, comment=comment, comment_head=look.pull.head, comment_digest=digest, unlisted=False)


def _unsaid(look: Look) -> list[str]:
    """The base's commit and the address of the report: a comment that says the same about a newer base stays."""
    base = "" if look.report is None else look.report.base[:8]
    return [text for text in (look.url, base) if text]


def _own_comment(look: Look) -> ForgeComment | None:
    known = next((each for each in look.comments if each.id == look.record.comment), None)
    return known or find_by_key(look.comments, look.keys.report(look.record.serial))


def _is_newer(own: ForgeComment, body: str) -> bool:
    """Whether what stands there was made after what we have to say, by another controller or before a restore."""
    theirs, ours = parse_marker(own.body), parse_marker(body)
    return theirs is not None and ours is not None and theirs.same_place(ours) and theirs.time > ours.time
