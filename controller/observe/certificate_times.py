"""When certificates and keys that lie in files end, or were made. Read again once a minute at most."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

LOOK_SECONDS = 60.0


class FileTimes:
    """A time of each of some files.

    Args:
        files: name -> file; those that cannot be read have no time.
        time_of: seconds since the epoch, of a file; OSError or ValueError where it has none.
        clock: seconds, for how old an answer may be.
    """

    def __init__(self, files: Mapping[str, Path], time_of: Callable[[Path], float], clock: Callable[[], float]) -> None:
        self._files = files
        self._time_of = time_of
        self._clock = clock
        self._looked = -math.inf
        self._found: dict[str, float] = {}

    def times(self) -> Mapping[str, float]:
        """Name -> time."""
        now = self._clock()
        if now - self._looked >= LOOK_SECONDS:
            self._looked, self._found = now, {}
            for name, file in self._files.items():
                try:
                    self._found[name] = self._time_of(file)
                except (OSError, ValueError):
                    continue  # what cannot be read is told of where it is used
        return self._found


def certificate_end(file: Path) -> float:
    """When the first of the certificates in a PEM file that ends ends: a chain is worth no more than that."""
    from cryptography import x509  # takes memory that a controller without TLS need not have

    found = x509.load_pem_x509_certificates(file.read_bytes())
    return min(each.not_valid_after_utc.timestamp() for each in found)


def written_at(file: Path) -> float:
    """When a file was written, as a key is once."""
    return file.stat().st_mtime
