"""The worker that a target gets: the minion's modules and the libraries that they need, as one tar, named by its bytes.

Made in a thread when the first target needs it, and kept in `cachedir/ssh`. For a target with the controller's own
Python it is what is installed here, compiled; for another Python or processor pip fetches the wheels that fit there.
"""

from __future__ import annotations

import compileall
import gzip
import hashlib
import importlib
import importlib.metadata
import io
import platform
import py_compile
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import MAGIC_NUMBER
from pathlib import Path

ROOMS = ("extmods", "highstate", "matching", "minion", "options", "reactors", "wire")
"""Packages of ours that a minion imports."""
PROGRAM_ROOMS = (*ROOMS, "controller", "gateway", "gitfs", "saltern")
"""All of ours: of an agent that stays, with every verb that a minion's machine has."""
OPTIONAL = ("cryptography",)
_PIP_SECONDS = 600.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SKIPPED = re.compile(r"(^|/)(__pycache__|tests?|[^/]*\.dist-info)(/|$)|\.(pyx|pxd|c|h|pyi|a)$")


class NoBundle(Exception):
    """There is no worker for a target; the text says why, and what can be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPython:
    """Which Python a target has."""

    version: tuple[int, int]
    magic: str
    """Hex of the magic number of its compiled modules."""
    machine: str
    """Of `uname -m`."""
    libc: str
    """`glibc`; empty: another."""

    def is_own(self) -> bool:
        """Whether what is installed here runs there."""
        return (
            self.version == sys.version_info[:2]
            and self.machine == platform.machine()
            and self.libc == platform.libc_ver()[0]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBundle:
    """A worker: a tar, compressed for the way, and its name."""

    digest: str
    """SHA-256 of the file, in hex."""
    path: Path

    def read(self) -> bytes:
        """Its bytes."""
        return self.path.read_bytes()


def make_bundle(
    python: TargetPython, cachedir: Path, *, again: bool = False, rooms: tuple[str, ...] = ROOMS
) -> WorkerBundle:
    """The worker for a Python; made where it is not kept. NoBundle: there is none for it.

    Args:
        python: the target's.
        cachedir: where workers of these rooms are kept.
        again: make it even if it is kept.
        rooms: packages of ours that it has.
    """
    cachedir.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = (
        f"{python.version[0]}{python.version[1]}-{python.machine}-{python.libc or 'other'}-{_installed_digest(rooms)}"
    )
    kept = cachedir / f"{name}.tar.gz"
    if again or not kept.exists():
        with tempfile.TemporaryDirectory(prefix=".new-", dir=cachedir) as folder:
            staged = Path(folder) / "worker"
            staged.mkdir()
            _copy_rooms(staged, rooms)
            if python.is_own():
                _copy_libraries(staged)
                if python.magic == MAGIC_NUMBER.hex():
                    _compile(staged)
            else:
                _fetch_libraries(staged, python)
            made = Path(folder) / "worker.tar.gz"
            _pack(staged, made)
            made.replace(kept)
    return WorkerBundle(digest=hashlib.sha256(kept.read_bytes()).hexdigest(), path=kept)


def _installed_digest(rooms: tuple[str, ...]) -> str:
    """Names what is installed: our own modules by size and time, libraries by their versions."""
    found = hashlib.sha256()
    for room in rooms:
        for path in sorted(_root(room).rglob("*.py")):
            at = path.stat()
            found.update(f"{room} {path.name} {at.st_size} {at.st_mtime_ns}\n".encode())
    for library in _libraries():
        found.update(f"{library.name} {library.version}\n".encode())
    return found.hexdigest()[:16]


def _root(room: str) -> Path:
    return Path(next(iter(importlib.import_module(room).__path__)))


def _libraries() -> list[importlib.metadata.Distribution]:
    """Distributions that a minion needs, with those that they need in turn."""
    found: dict[str, importlib.metadata.Distribution] = {}
    own = [each for each in importlib.metadata.requires("saltern") or () if "extra ==" not in each]
    wanted = [(each, True) for each in own] + [(each, False) for each in OPTIONAL]
    while wanted:
        requirement, needed = wanted.pop()
        name = _NAME.match(requirement)[0].lower().replace("_", "-")  # type: ignore[index]  # it begins with one
        if name in found or "extra ==" in requirement:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError as error:
            if needed:
                raise NoBundle(f"the controller itself lacks {name}") from error
            continue  # its marker says that it is not for this Python
        wanted += [(each, False) for each in found[name].requires or ()]
    return [found[name] for name in sorted(found)]


def _copy_rooms(staged: Path, rooms: tuple[str, ...]) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "rooms")  # a wheel has the others in `saltern/rooms`
    for room in rooms:
        shutil.copytree(_root(room), staged / room, ignore=ignored)
    if "saltern" in rooms:
        own = importlib.metadata.distribution("saltern")
        folder = staged / f"saltern-{own.version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(own.read_text("METADATA") or "", encoding="utf-8")


def _copy_libraries(staged: Path) -> None:
    for library in _libraries():
        for file in library.files or ():
            name = str(file)
            if name.startswith("..") or _SKIPPED.search(name):
                continue
            source = Path(str(library.locate_file(file)))
            if source.is_file():
                target = staged / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def _fetch_libraries(staged: Path, python: TargetPython) -> None:
    """Unpack the wheels that fit there."""
    if python.libc != "glibc":
        raise NoBundle(f"no libraries are to be had for the C library there ({python.machine}); glibc is needed")
    pinned = [f"{library.name}=={library.version}" for library in _libraries()]
    command = [
        sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps", "--no-compile",
        "--only-binary=:all:", "--implementation", "cp", "--python-version", ".".join(map(str, python.version)),
        *[word for tag in _platforms(python.machine) for word in ("--platform", tag)],
        "--target", str(staged), *pinned,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PIP_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoBundle(f"pip could not fetch the libraries for Python {python.version}: {error}") from error
    if done.returncode:
        version = ".".join(map(str, python.version))
        said = done.stderr.decode(errors="replace").strip()[-400:]
        raise NoBundle(f"no libraries for Python {version} on {python.machine}: {said}")


def _platforms(machine: str) -> Iterator[str]:
    yield from (f"manylinux_2_{minor}_{machine}" for minor in (34, 31, 28, 27, 24, 17))
    yield f"manylinux2014_{machine}"


def _compile(staged: Path) -> None:
    compileall.compile_dir(
        staged, quiet=2, workers=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, stripdir=staged
    )


def _pack(staged: Path, path: Path) -> None:
    """A tar whose bytes follow from its files alone."""
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for each in sorted(staged.rglob("*")):
            if each.is_file():
                info = tarfile.TarInfo(str(each.relative_to(staged)))
                data = each.read_bytes()
                info.size, info.mode, info.mtime = len(data), 0o755 if each.suffix == ".so" else 0o644, 1
                tar.addfile(info, io.BytesIO(data))
