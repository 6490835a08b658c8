"""What the program that compiles is: another one may make other documents of the same trees."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

_ROOMS = ("controller.compilation", "extmods", "highstate", "matching", "wire")
"""Packages whose code decides what a document is."""
_LIBRARIES = ("Jinja2", "Mako", "MarkupSafe", "PyYAML", "msgspec", "saltern")


def program_digest() -> str:
    """Of the code as it is installed: names, sizes and times of its files, and versions of libraries.

    Called in a thread: it looks at some hundreds of files.
    """
    lines = [sys.version, *(f"{name} {_version(name)}" for name in _LIBRARIES), *_files()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _files() -> Iterator[str]:
    for room in _ROOMS:
        folder = Path(str(resources.files(room)))
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".txt", ".so"):
                found = path.stat()
                yield f"{room} {path.relative_to(folder)} {found.st_size} {found.st_mtime_ns}"
