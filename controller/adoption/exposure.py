"""What of a machine must not come into git: secrets, and what the compile would take for code. Pure; called by `edits`.

A minion, or whoever is on it, chooses the content of its files. What is written to git is compiled by the controller
before anybody reads it, so that it must be data in all places where it lands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from controller.adoption.refusal import NotAdopted
from controller.adoption.scalar_edit import JINJA
from highstate.redaction import NOTHING_SECRET

_ASSIGNED = re.compile(
    r"""^[\s#;"'-]*(?:(?:export|set|setenv)\s+)?["']?(?P<name>[\w.:-]{2,60})["']?\s*(?:=>|[:=])\s*(?P<value>.*)$"""
)
_HARMLESS = re.compile(r"""["']?(?:yes|no|on|off|true|false|none|null|\d{1,3}|/\S*|file:\S*|\$\S+)["']?[,;]?\Z""", re.I)
"""Values that are no secret, whatever their name is: switches, small numbers, paths, variables."""
_CODE = re.compile(r"(?:^|/)_[^/]+/|\.(?:sls|py|jinja2?|j2)\Z|(?:^|/)saltern\.yaml\Z")
"""Paths of trees that are rendered, imported or decide what runs."""


def refuse_code(path: str) -> None:
    """NotAdopted for a file of the tree that the controller reads as more than content."""
    if _CODE.search(path):
        raise NotAdopted(f"{path} is code or policy of the tree", "what a machine has is no code: change it by hand")


def refuse_exposing(old: str, new: str) -> None:
    """NotAdopted where lines that come into a text look like a secret, or like Jinja.

    Args:
        old: the text as git has it.
        new: the text that would take its place.
    """
    for line in added(old, new):
        if JINJA.search(line):
            raise NotAdopted("a new line has what Jinja would take for its own", "change it by hand")
        if looks_secret(line):
            raise NotAdopted("a new line assigns what is called a secret", "put it where secrets are kept")


def added(old: str, new: str) -> Iterable[str]:
    """The lines of a text that another one does not have."""
    known = set(old.splitlines())
    return [line for line in new.splitlines() if line not in known]


def looks_secret(line: str) -> bool:
    """Whether a line gives a value to something whose name says that it is secret: `db_password = hunter2`."""
    match = _ASSIGNED.match(line[:10_000])
    value = match["value"].strip() if match is not None else ""
    if match is None or not value or _HARMLESS.match(value):
        return False
    return bool(NOTHING_SECRET.named(match["name"], value) != value)
