"""A small file system that a test fills, for what happens when a disk is full. Mounts are root's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 64 MiB."""
    place.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "none", str(place)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no mounts here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> None:
    """Take all space that there is."""
    with (place / "ballast").open("ab", buffering=0) as ballast:
        for size in (1024 * 1024, 4096, 1):
            with pytest.raises(OSError, match="No space left"):
                while True:
                    ballast.write(b"x" * size)
