"""httpx without the command line that it brings: that, and what it draws with, takes a third of its import.

Used by `controller.cli.client`; httpx itself goes on without it where it cannot be imported.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None: an import of it fails

import httpx  # noqa: E402

__all__ = ["httpx"]
