"""What a controller gives a target's Python over ssh (`python3 -c`), before anything of ours is there.

Sent as text by `controller.ssh.visit`, so it needs nothing but the standard library of Python 3.11, and takes
everything else from its input. It says which Python this is, gets the worker (a tar of modules, named by its SHA-256)
where that is not kept here yet, and goes on with `minion.visit.bridge_end` out of it.

Both ways go messages with their length before them (4 bytes, big endian); the first one from here has `MARK` before it,
since the target's shell may have printed something.
"""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import json
import os
import platform
import shutil
import stat
import sys
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
        if os.isatty(2):  # a terminal has one way back alone, which is for messages
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
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
    gc.disable()  # until all is imported: collecting meanwhile finds nothing, and takes a tenth of that time
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
    worker = base / "workers" / header["worker"]
    try:
        if header["wipe"]:
            public = _public_key(mine)
            _wipe(base, mine, controller)
            controller.say(wiped=True, public=public)
            sys.exit(0)
        for folder in (base, worker.parent):
            _own(folder, controller)
        if not worker.is_dir():
            _make(worker, controller)
    except OSError as error:
        controller.refuse(f"{error.strerror}: {error.filename or base}: mend that, or name another folder as thin_dir")
    controller.say(need=False)
    sys.path.insert(0, str(worker))
    from minion.visit.bridge_end import serve  # out of the worker

    code = serve(header, str(mine), controller.fd)
    sys.stderr.flush()
    os._exit(code)  # nothing is left to be done, and Python would take apart what it has imported


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


def _make(worker: Path, controller: ControllerEnd) -> None:
    """Have the worker there; one visit at a time gets it."""
    lock = os.open(worker.parent / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not worker.is_dir():
        for left in worker.parent.glob(".new-*"):  # by a visit that was killed, or had no space
            shutil.rmtree(left, ignore_errors=True)
        try:
            _unpack(worker, controller)
        finally:
            for left in worker.parent.glob(".new-*"):
                shutil.rmtree(left, ignore_errors=True)
    os.close(lock)


def _unpack(worker: Path, controller: ControllerEnd) -> None:
    """Get the worker, and put it in its place whole. Those of other versions go; who runs from one has its modules."""
    import hashlib  # later visits do without these
    import tarfile
    import tempfile

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


def _public_key(mine: Path) -> str:
    """The minion's, as `wire.keys` writes it; empty: it has none."""
    try:
        with (mine / "pki" / "minion.key").open(encoding="ascii", errors="replace") as file:
            lines = file.read(4096).splitlines()
    except OSError:
        return ""
    return next((line.removeprefix("public: ") for line in lines if line.startswith("public: ")), "")


def _wipe(base: Path, mine: Path, controller: ControllerEnd) -> None:
    """Remove a minion's files, and with the last one the worker; somebody else's folder holds anything."""
    if not os.path.lexists(base):
        return
    _own(base, controller)
    shutil.rmtree(mine, ignore_errors=True)
    if not mine.parent.is_dir() or not any(mine.parent.iterdir()):
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
