"""What is seen on this machine and of its controller, without a judgement. Changes nothing; each look has a bound."""

from __future__ import annotations

import os
import resource
import stat
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import zmq

from wire.address import endpoint
from wire.codec import decode_to_minion
from wire.errors import WireError
from wire.keys import KeyPair
from wire.messages import Heartbeat

SYSTEMCTL_SECONDS = 10.0
_WATCHED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_DISCONNECTED
"""Never EVENT_HANDSHAKE_FAILED_PROTOCOL: see `wire.client`."""

_BROKEN_HANDSHAKES = 3
"""So many in a row are no chance; libzmq dials again after 0.1 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLook:
    """What a file is."""

    mode: int = 0
    """Permissions."""
    uid: int = 0
    is_file: bool = True
    is_link: bool = False
    error: str = ""
    """Why nothing could be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakeLook:
    """How a handshake with CURVE ended."""

    proved: bool
    """The other side has the secret key of the public one that was expected."""
    accepted: bool = False
    """It takes our key."""
    controller_time: float | None = None
    """Seconds since the epoch, as a heartbeat said."""
    heard_at: float = 0.0
    """The same by the clock of this machine."""


def look_at_file(path: Path) -> FileLook | None:
    """What a file is; None where there is none."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return FileLook(error=error.strerror or str(error))
    mode = found.st_mode
    return FileLook(mode=stat.S_IMODE(mode), uid=found.st_uid, is_file=stat.S_ISREG(mode), is_link=stat.S_ISLNK(mode))


def configuration_files(config_dir: Path, name: str) -> dict[Path, FileLook | None]:
    """What a folder of configuration, `name` in it and `name`.d/*.conf are; of links, what they lead to."""
    folder = config_dir / f"{name}.d"
    paths = (config_dir, config_dir / name, folder, *sorted(folder.glob("*.conf")))
    return {path: look_at_file(path.resolve()) for path in paths}


def free_space(folder: Path) -> tuple[int | None, int | None]:
    """Bytes and inodes that are free where a folder is, or will be made."""
    for each in (folder, *folder.parents):
        try:
            found = os.statvfs(each)
        except FileNotFoundError:
            continue
        except OSError:
            return None, None
        return found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None
    return None, None


def random_is_ready() -> bool:
    """Whether getrandom(2) would not wait."""
    try:
        os.getrandom(1, os.GRND_NONBLOCK)
    except BlockingIOError:
        return False
    return True


def inotify_limits() -> tuple[int | None, int | None]:
    """Watches and instances that a user may have."""
    folder = Path("/proc/sys/fs/inotify")
    return _number(folder / "max_user_watches"), _number(folder / "max_user_instances")


def descriptor_limit(pid: int | None = None) -> int:
    """Descriptors that a process may have; of this one where none is named, or nobody may look."""
    try:
        return resource.prlimit(pid or 0, resource.RLIMIT_NOFILE)[0]
    except (OSError, ValueError):
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def unit_state(unit: str, run: Path = Path("/run/systemd/system"), systemctl: str = "systemctl") -> str | None:
    """What systemd says of a unit; None where it does not run."""
    if not run.is_dir():
        return None
    try:
        done = subprocess.run(
            [systemctl, "is-active", unit], capture_output=True, text=True, timeout=SYSTEMCTL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip()[:50]


def shake_hands(host: str, port: int, controller_key: str, keys: KeyPair | None, seconds: float) -> HandshakeLook:
    """See whether a port of a controller proves its key.

    Args:
        host: name or address.
        port: `ret_port`; with `keys`, `publish_port`, where accepted keys alone come in and heartbeats are heard.
        controller_key: that is expected, in Z85.
        keys: of this minion; None: a pair that is made for this.
        seconds: that it may take.
    """
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    end = time.monotonic() + seconds
    try:
        opened = context.socket(zmq.DEALER if keys is None else zmq.SUB)
        public, secret = zmq.curve_keypair() if keys is None else (keys.public.encode(), keys.secret.encode())
        opened.set(zmq.CURVE_SERVERKEY, controller_key.encode("ascii"))
        opened.set(zmq.CURVE_PUBLICKEY, public)
        opened.set(zmq.CURVE_SECRETKEY, secret)
        opened.set(zmq.MAXMSGSIZE, 65536)
        opened.set(zmq.IPV6, int(":" in host))
        if keys is not None:
            opened.set(zmq.SUBSCRIBE, b"")
        monitor = opened.get_monitor_socket(_WATCHED)
        opened.connect(endpoint(host, port))
        event = _event(monitor, end)
        opened.disable_monitor()
        if event is None:
            return HandshakeLook(proved=False)
        if event != zmq.EVENT_HANDSHAKE_SUCCEEDED or keys is None:
            return HandshakeLook(proved=True, accepted=event == zmq.EVENT_HANDSHAKE_SUCCEEDED)
        said, at = _heartbeat(opened, end)
        return HandshakeLook(proved=True, accepted=True, controller_time=said, heard_at=at)
    finally:
        context.destroy(linger=0)


def _event(monitor: zmq.Socket[bytes], end: float) -> int | None:
    """How the handshake ended; None: it did not, or broke off again and again, as with another key."""
    for _ in range(_BROKEN_HANDSHAKES):
        if not monitor.poll(max(0, int(1000 * (end - time.monotonic())))):
            return None
        event = int(struct.unpack("=Hi", monitor.recv_multipart()[0])[0])
        if event != zmq.EVENT_DISCONNECTED:
            return event
    return None


def _heartbeat(opened: zmq.Socket[bytes], end: float) -> tuple[float | None, float]:
    while opened.poll(max(0, int(1000 * (end - time.monotonic())))):
        frames = opened.recv_multipart()
        try:
            message = decode_to_minion(frames[-1])
        except WireError:
            continue
        if isinstance(message, Heartbeat):
            return message.time, time.time()
    return None, 0.0


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
