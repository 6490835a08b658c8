"""Names as parts of a path of an API. Pure."""

from __future__ import annotations

from urllib.parse import quote

from controller.forges.client import ForgeRefused


def split_project(name: str, project: str) -> str:
    """`owner/name` quoted for a path. ForgeRefused when it has another form."""
    owner, slash, rest = project.partition("/")
    if not slash or not owner or not rest or "/" in rest or {owner, rest} & {".", ".."}:
        raise ForgeRefused(f"{name}: {project!r} is no project of this forge; write it as owner/name")
    return f"{quoted(owner)}/{quoted(rest)}"


def quoted(text: str) -> str:
    """One segment of a path. A dot alone, which would lead elsewhere, is quoted, too."""
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="~")
