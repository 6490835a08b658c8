"""What a controller gives a target's Python over ssh (`python3 -c`), before anything of ours is there.

Sent as text by `controller.ssh.visit`, so it needs nothing but the standard library of Python 3.11, and takes
everything else from its input. It says which Python this is, gets the worker (a tar of modules, named by its SHA-256)
where that is not kept here yet, and goes on with `minion.visit.bridge_end` out of it.

Both ways go messages with their length before them (4 bytes, big endian); the first one from here has `MARK` before it,
since the target's shell may have printed something.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import stat
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NoReturn

MARK = b"\0saltern-ssh 1\0"
MOST_HEADER = 1 << 20
"""Bytes."""
MOST_WORKER = 256 << 20


class ControllerEnd:
    """The other end: standard input, and what was standard output."""

    def __init__(self) -> None:
        self.fd = os.dup(1)
        os.dup2(2, 1)  # what somebody prints is no message

    def say(self, **message: Any) -> None:
        """Send a message."""
        data = json.dumps(message).encode()
        self.write(len(data).to_bytes(4, "big") + data)

    def write(self, data: bytes) -> None:
        """Send bytes."""
        while data:
            data = data[os.write(self.fd, data) :]

    def refuse(self, text: str) -> NoReturn:
        """Say what is wrong, and end."""
        self.say(error=text)
        sys.exit(1)

    def message(self, most: int) -> bytes:
        """What it sends next."""
        length = int.from_bytes(self._read(4), "big")
        if length > most:
            self.refuse(f"a message of {length} bytes")
        return self._read(length)

    def _read(self, length: int) -> bytes:
        parts = []
        while length:
            part = os.read(0, min(length, 1 << 16))
            if not part:
                sys.exit(0)  # it has gone
            parts.append(part)
            length -= len(part)
        return b"".join(parts)


def main() -> None:
    """Serve one visit."""
    controller = ControllerEnd()
    os.umask(0o077)
    controller.write(MARK)
    controller.say(
        python=list(sys.version_info[:2]),
        magic=importlib.util.MAGIC_NUMBER.hex(),
        machine=platform.machine(),
        libc=platform.libc_ver()[0],
    )
    header = json.loads(controller.message(MOST_HEADER))
    base = Path(header["folder"] or _usual_folder())
    mine = base / "minions" / header["id"]
    if header["wipe"]:
        _wipe(base, mine)
        controller.say(wiped=True)
        sys.exit(0)
    workers = base / "workers"
    for folder in (base, workers):
        _own(folder, controller)
    worker = workers / header["worker"]
    if not worker.is_dir():
        lock = os.open(workers / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not worker.is_dir():
            _unpack(worker, controller)
        os.close(lock)
    controller.say(need=False)
    sys.path.insert(0, str(worker))
    from minion.visit.bridge_end import serve  # out of the worker

    sys.exit(serve(header, str(mine), controller.fd))


def _usual_folder() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/saltern-ssh")
    return Path("~/.local/state/saltern-ssh").expanduser()


def _own(folder: Path, controller: ControllerEnd) -> None:
    """Make a folder that is ours alone; what others may write in could be changed under our hands."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        controller.refuse(f"{folder} is no folder of this user alone: remove it, or name another one as thin_dir")


def _unpack(worker: Path, controller: ControllerEnd) -> None:
    """Get the worker, and put it in its place whole. Those of other versions go; who runs from one has its modules."""
    controller.say(need=True)
    data = controller.message(MOST_WORKER)
    if hashlib.sha256(data).hexdigest() != worker.name:
        controller.refuse("the worker came with other bytes than it should have")
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=worker.parent))
    kept = folder / ".tar"
    kept.write_bytes(data)
    with tarfile.open(kept) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)  # noqa: S202 - its bytes are those that the controller named
    kept.unlink()
    folder.rename(worker)
    for other in worker.parent.iterdir():
        if len(other.name) == len(worker.name) and other != worker:
            shutil.rmtree(other, ignore_errors=True)


def _wipe(base: Path, mine: Path) -> None:
    """Remove a minion's files, and with the last one the worker."""
    shutil.rmtree(mine, ignore_errors=True)
    if not mine.parent.is_dir() or not any(mine.parent.iterdir()):
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
