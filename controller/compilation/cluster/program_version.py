"""Names the program that compiles: two machines whose names are equal give the same documents.

Asked once by the controller and once by each Dask worker. The number of a release is not enough: its code may have been
edited, and Jinja or YAML of another version renders something else.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import controller.compilation
import extmods
import highstate
import matching
import options

_PACKAGES = (controller.compilation, extmods, highstate, matching, options)
_LIBRARIES = ("saltern", "Jinja2", "PyYAML", "Mako", "msgspec", "jmespath", "regex", "google-re2")


@cache
def program_version() -> str:
    """Like `saltern 0.1.0, Python 3.11, 4f6c1d0e`; the last is a digest of the code and of its libraries' versions."""
    digest = hashlib.sha256()
    for name in _LIBRARIES:
        digest.update(f"{name} {_version(name)}\n".encode())
    for package in _PACKAGES:
        for folder in package.__path__:
            for file in sorted(Path(folder).rglob("*.py")):
                digest.update(f"{package.__name__} {file.relative_to(folder)}\n".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"saltern {_version('saltern')}, Python {python}, {digest.hexdigest()[:8]}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
