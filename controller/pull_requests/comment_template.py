"""The tree's own wording of the comment: a file beside `saltern.yaml` of the live tree. Called for each look."""

from __future__ import annotations

from controller.report.templates import TEMPLATE_CHARACTERS
from gitfs.errors import GitfsError
from gitfs.tree.snapshot import Snapshot

COMMENT_TEMPLATE = "saltern-comment.jinja"


def read_template(files: Snapshot) -> str:
    """Its text, cut where it is too long to be used at all; empty where there is none, or it cannot be read."""
    try:
        return files.read(COMMENT_TEMPLATE).decode("utf-8-sig", "replace")[: TEMPLATE_CHARACTERS + 1]
    except (FileNotFoundError, GitfsError):
        return ""
