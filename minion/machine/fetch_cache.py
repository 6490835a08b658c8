"""A cache of files fetched from the web, revalidated with `If-None-Match` and `If-Modified-Since` on each use.

Called by `minion.machine.fetch`. It is a folder of the minion's cache that only root can read. A plan that fetches
writes here and nowhere else on the machine. The cache changes no plan: the server decides whether an entry is current.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from minion.machine.durable_files import write_whole

LARGEST = 256 * 1024 * 1024
"""Largest file that is cached, in bytes."""

MOST = 64
"""Number of files in the cache; the least recently used are removed."""

_ASKED_BY = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


@dataclass(frozen=True, slots=True)
class WebCache:
    """A folder with the content of URLs."""

    folder: Path

    def body(self, url: str) -> bytes | None:
        """The cached content of a URL; None when there is none, or its digest does not match."""
        try:
            data = self.place(url).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data).hexdigest() != self._noted(url).get("sha256"):
            return None
        os.utime(self.place(url))
        return data

    def conditions(self, url: str) -> dict[str, str]:
        """The headers of a conditional request."""
        noted = self._noted(url)
        return {header: noted[key] for key, header in _ASKED_BY.items() if key in noted}

    def keep(self, url: str, data: bytes, headers: Mapping[str, str]) -> None:
        """Cache the content of a URL. An error of the file system is ignored."""
        if len(data) > LARGEST:
            return
        noted = {key: value for key in _ASKED_BY if (value := headers.get(key))}
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self.place(url), data)
            write_whole(self.note(url), json.dumps({**noted, "sha256": hashlib.sha256(data).hexdigest()}).encode())
            for old in list(self._oldest_first())[:-MOST]:
                old.unlink(missing_ok=True)
                old.with_suffix(".json").unlink(missing_ok=True)

    def _noted(self, url: str) -> dict[str, str]:
        try:
            found = json.loads(self.note(url).read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    def place(self, url: str) -> Path:
        """The file that the content of a URL has here, when it is cached."""
        return self.folder / f"{hashlib.sha256(url.encode()).hexdigest()}.body"

    def note(self, url: str) -> Path:
        """The file beside it, with what the server said of it."""
        return self.place(url).with_suffix(".json")

    def _oldest_first(self) -> Iterator[Path]:
        yield from sorted(self.folder.glob("*.body"), key=lambda path: path.stat().st_mtime)
