"""Finds a Salt on this machine: the Python that imports it. Called by the command `migrate compare`.

Salt is never a dependency. It may be that of the operating system, the packages of Salt's project, which bring a Python
of their own in /opt/saltstack, or a virtualenv.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controller.migration.limits import SALT_START_SECONDS

_ONEDIR = Path("/opt/saltstack/salt/bin")
_PROGRAMS = ("salt-master", "salt-call", "salt")
_VERSION = "import salt.version, salt.state, salt.pillar; salt.state.HighState; print(salt.version.__version__)"
_FIRST_LINE = 512
"""Bytes that are read of a program for its first line."""


class SaltMissing(Exception):
    """There is no Salt; the text says where it was looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaltInstall:
    """A Salt that can be run."""

    python: Path
    version: str


def find_salt(given: Path | None = None) -> SaltInstall:
    """The Salt to compare with. Raises SaltMissing.

    Args:
        given: a virtualenv, a Python or a program of Salt's; None: what this machine has.
    """
    tried: list[str] = []
    for python in dict.fromkeys(_of(given) if given is not None else _installed()):
        version, why = _version(python)
        if version:
            return SaltInstall(python=python, version=version)
        tried.append(f"{python}: {why}")
    where = f"{given} has no Salt" if given is not None else "Salt is not installed on this machine"
    raise SaltMissing(where + (f" ({'; '.join(tried)})" if tried else ""))


def environment() -> dict[str, str]:
    """The environment for Salt's Python: nothing in it points to our modules or another configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SALT_"))}
    return {**kept, "PYTHONHASHSEED": "0"}  # the order of some requisites of Salt hangs on it


def _installed() -> Iterator[Path]:
    for name in ("python3", "python"):
        if (_ONEDIR / name).is_file():
            yield _ONEDIR / name
    for name in _PROGRAMS:
        if found := shutil.which(name):
            yield from _of_program(Path(found))
    if found := shutil.which("python3", path="/usr/bin:/usr/local/bin"):
        yield Path(found)


def _of(given: Path) -> Iterator[Path]:
    given = given.absolute()
    if given.is_dir():
        yield from (path for name in ("python3", "python") if (path := given / "bin" / name).is_file())
    elif given.name.startswith("python"):
        yield given
    else:
        yield from _of_program(given)


def _of_program(program: Path) -> Iterator[Path]:
    """The Python in the first line of a program, or the one beside it."""
    try:
        with program.open("rb") as file:
            first = file.read(_FIRST_LINE).partition(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        return
    python = Path(first[2:].strip().partition(" ")[0]) if first.startswith("#!") else Path()
    if python.name.startswith("python") and python.is_file():
        yield python
    beside = program.resolve().parent / "python3"
    if beside.is_file():
        yield beside


def _version(python: Path) -> tuple[str, str]:
    """The version of the Salt that a Python imports; else an empty text, and why there is none."""
    try:
        done = subprocess.run(
            [python, "-s", "-B", "-c", _VERSION],
            cwd="/",
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SALT_START_SECONDS,
            check=False,
        )
    except OSError as error:
        return "", f"it cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return "", f"it took more than {SALT_START_SECONDS:g} s"
    lines = done.stdout.decode("utf-8", "replace").split()
    if done.returncode == 0 and lines:
        return lines[-1][:40], ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "", said[-1][:200] if said else f"exit code {done.returncode}"
