"""Files of a live tree as the wheels `file_roots` and `pillar_roots` show them, by `salt://PATH`: none has a root.

Looks into git in a thread.
"""

from __future__ import annotations

from typing import Any

from controller.runners.errors import ControllerCallFailed
from highstate.types import Files

ROOT = "salt://"
MOST_BYTES = 4 * 1024 * 1024
"""Of a file that is shown."""


def find(files: Files, path: str, saltenv: str) -> list[dict[str, str]]:
    """The file at a path: `txt` or `bin`; an empty list when there is none."""
    found = _content(files, path, saltenv)
    return [] if found is None else [{f"{ROOT}{path}": "bin" if _text(found) is None else "txt"}]


def read(files: Files, path: str, saltenv: str) -> list[dict[str, str]]:
    """The text of the file at a path; an empty list when there is none, or no text in it."""
    found = _content(files, path, saltenv)
    text = None if found is None else _text(found)
    return [] if text is None else [{f"{ROOT}{path}": text}]


def tree(files: Files, saltenv: str) -> dict[str, Any]:
    """All files of a saltenv: a folder is a mapping, a file `f`."""
    root: dict[str, Any] = {}
    for path in files.list("", saltenv):
        *folders, name = path.split("/")
        place = root
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = "f"
    return {ROOT: root} if root else {}


def roots(files: Files) -> dict[str, list[dict[str, Any]]]:
    """The same of all saltenvs."""
    return {saltenv: [tree(files, saltenv)] for saltenv in files.saltenvs()}


def _content(files: Files, path: str, saltenv: str) -> bytes | None:
    try:
        if files.oid(path, saltenv) is None:
            return None
        found = files.read(path, saltenv)
    except (FileNotFoundError, ValueError):
        return None
    if len(found) > MOST_BYTES:
        raise ControllerCallFailed(f"{path} has more than {MOST_BYTES} bytes; `saltern cat` shows it")
    return found


def _text(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
