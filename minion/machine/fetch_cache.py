"""What was fetched from the web before: asked for again only with `If-None-Match` and `If-Modified-Since`.

Called by `minion.machine.fetch`. It lies in the minion's cache, for root alone. A plan that fetches writes here, and
nowhere else on the machine; what is kept changes no plan, since the server says each time whether it is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LARGEST = 256 * 1024 * 1024
"""Bytes of a file that are kept."""

MOST = 64
"""Files that are kept; the ones that were not asked for longest go."""

_ASKED_BY = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


@dataclass(frozen=True, slots=True)
class WebCache:
    """A folder with what URLs gave."""

    folder: Path

    def body(self, url: str) -> bytes | None:
        """What the URL gave, None when it is not kept or not as it was."""
        try:
            data = self._place(url).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data).hexdigest() != self._noted(url).get("sha256"):
            return None
        os.utime(self._place(url))
        return data

    def conditions(self, url: str) -> dict[str, str]:
        """The headers of a request that is answered only when there is something new."""
        noted = self._noted(url)
        return {header: noted[key] for key, header in _ASKED_BY.items() if key in noted}

    def keep(self, url: str, data: bytes, headers: Mapping[str, str]) -> None:
        """Keep what the URL gave; a cache that cannot be written is none."""
        if len(data) > LARGEST:
            return
        noted = {key: value for key in _ASKED_BY if (value := headers.get(key))}
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(self._place(url), data)
            _replace(self._note(url), json.dumps({**noted, "sha256": hashlib.sha256(data).hexdigest()}).encode())
            for old in list(self._oldest_first())[:-MOST]:
                old.unlink(missing_ok=True)
                old.with_suffix(".json").unlink(missing_ok=True)

    def _noted(self, url: str) -> dict[str, str]:
        try:
            found = json.loads(self._note(url).read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    def _place(self, url: str) -> Path:
        return self.folder / f"{hashlib.sha256(url.encode()).hexdigest()}.body"

    def _note(self, url: str) -> Path:
        return self._place(url).with_suffix(".json")

    def _oldest_first(self) -> Iterator[Path]:
        yield from sorted(self.folder.glob("*.body"), key=lambda path: path.stat().st_mtime)


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    fresh.replace(path)
