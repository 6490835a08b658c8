"""syslog-ng's programs, its configuration file, and whether it runs.

Called by the state and the execution module `syslog_ng`. Behaviour: doc/ref/modules/all/salt.modules.syslog_ng.
"""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from minion.arguments.types import NumberOrText, Owner
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_FILE = "/etc/syslog-ng/syslog-ng.conf"
_SECONDS = 30


class StartOptions(NamedTuple):
    """What the daemon is started with."""

    user: Owner | None = None
    group: Owner | None = None
    chroot: str | None = None
    caps: str | None = None
    no_caps: bool = False
    pidfile: str | None = None
    enable_core: bool = False
    fd_limit: NumberOrText | None = None
    verbose: bool = False
    debug: bool = False
    trace: bool = False
    yydebug: bool = False
    persist_file: str | None = None
    control: str | None = None
    worker_threads: NumberOrText | None = None

    def words(self) -> list[str]:
        """As the program takes them."""
        values = {
            "user": self.user,
            "group": self.group,
            "chroot": self.chroot,
            "caps": self.caps,
            "pidfile": self.pidfile,
            "fd-limit": self.fd_limit,
            "persist-file": self.persist_file,
            "control": self.control,
            "worker-threads": self.worker_threads,
        }
        signs = {
            "no-caps": self.no_caps,
            "enable-core": self.enable_core,
            "verbose": self.verbose,
            "debug": self.debug,
            "trace": self.trace,
            "yydebug": self.yydebug,
        }
        return [
            *(f"--{name}={value}" for name, value in values.items() if value is not None),
            *(f"--{name}" for name, given in signs.items() if given),
        ]


def config_file(machine: Reader) -> str:
    """The option `syslog_ng.config_file`."""
    return str(configured(machine, "syslog_ng.config_file", _FILE))


def asked(machine: Reader, argv: Sequence[str], folder: str | None = None) -> Completed:
    """What a program that only looks says. StateFailed where there is none."""
    done = machine.query(_found(machine, argv, folder))
    if done.returncode == 127:
        raise StateFailed(f"There is no {argv[0]} program: install syslog-ng")
    return done


def pids(machine: Reader) -> list[int]:
    """The processes of the daemon."""
    done = machine.query(["pgrep", "-x", "syslog-ng"])
    if done.returncode > 1:
        raise StateFailed(f"pgrep cannot be asked for syslog-ng: {done.stderr.strip() or 'it is not there'}")
    return [int(one) for one in done.stdout.split()]


def start_command(machine: Reader, options: StartOptions) -> list[str]:
    """The command that starts the daemon with these options."""
    return _found(machine, ["syslog-ng", *options.words(), f"--cfgfile={config_file(machine)}"])


def start(machine: Machine, command: Sequence[str]) -> None:
    """Start the daemon. Raises StateFailed, with what it says."""
    _need(machine.run(command))
    _until(lambda: bool(pids(machine)), "syslog-ng does not run, although it was started")


def stop(machine: Machine, running: Sequence[int]) -> None:
    """End the daemon's processes, and wait for that. Raises StateFailed."""
    machine.run(["kill", "-TERM", *map(str, running)])
    _until(lambda: not set(running) & set(pids(machine)), "syslog-ng did not end")


def reload(machine: Machine) -> str:
    """Have the daemon read its configuration anew; what it says. Raises StateFailed."""
    return _need(machine.run(_found(machine, ["syslog-ng-ctl", "reload"]))).stdout.strip()


def with_statement(machine: Reader, text: str) -> bytes | None:
    """The content of the configuration file with a statement at its end; None where it has the statement already."""
    path = config_file(machine)
    found = machine.read(path) if machine.stat(path) is not None else b""
    wanted = text.strip("\n").encode()
    if re.search(rb"(?:^|\n)" + re.escape(wanted) + rb"(?:\n|$)", found):
        return None
    return found + (b"\n" if found and not found.endswith(b"\n") else b"") + text.encode() + b"\n\n"


def _until(done: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + _SECONDS
    while not done():
        if time.monotonic() > end:
            raise StateFailed(otherwise)
        time.sleep(0.1)


def _found(machine: Reader, argv: Sequence[str], folder: str | None = None) -> list[str]:
    """The program in a folder, or in that of the option `syslog_ng.binary_path`, or on the path."""
    first = folder or configured(machine, "syslog_ng.binary_path", None)
    return [posixpath.join(str(first), argv[0]), *argv[1:]] if first else list(argv)


def _need(done: Completed) -> Completed:
    if done.returncode == 127:
        raise StateFailed("syslog-ng's programs are not there: install syslog-ng")
    if done.returncode != 0:
        raise StateFailed((done.stderr or done.stdout).strip() or f"it ended with {done.returncode}")
    return done
