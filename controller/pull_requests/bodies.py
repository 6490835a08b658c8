"""The comment that should stand on a pull request now, from what is known. Pure; large reports are made in a thread."""

from __future__ import annotations

from controller.forges.client import PullState
from controller.pull_requests.instructions import Look, PullRules
from controller.pull_requests.keys import ROOM
from controller.pull_requests.wanted_previews import is_current, waits_for_maintainer, wanted_preview
from controller.report.comment import CommentOptions, comment
from controller.report.marker import marker_line, marker_of


def body_of(look: Look, rules: PullRules, *, budget: int, html: bool) -> str:
    """The comment with its marker and without its key; empty when there is nothing to say yet.

    Args:
        look: at the pull request.
        rules: of the preview.
        budget: characters that the forge takes.
        html: whether the forge hides HTML comments and folds `<details>`.
    """
    if waits_for_maintainer(look, rules):
        return _waiting(look, rules, html=html)
    if look.report is None or look.record.previewed is None:
        return ""
    is_open = look.pull.state is PullState.OPEN
    if is_open and not is_current(look.record, wanted_preview(look, rules)):
        return ""  # what stands there stays until the new report is there
    merged = look.outcome if look.pull.state is PullState.MERGED else None
    options = CommentOptions(
        budget=budget - ROOM,
        url=look.url,
        html=html,
        merged=merged,
        applied=look.applied,
        template=rules.template,
        commands=is_open,
    )
    return comment(look.report, options)


def _waiting(look: Look, rules: PullRules, *, html: bool) -> str:
    head = look.pull.head
    marker = marker_line(marker_of(rules.controller, rules.environment, head, look.record.head_at), html=html)
    return (
        f"{marker}\n**Saltern preview: waiting for a maintainer.** The commits come from another repository. When "
        "somebody with write access has looked at them, this command previews them:\n\n"
        f"```text\n /saltern preview --commit {head[:12]}\n```\n"
    ).replace("\n /saltern", "\n/saltern")
