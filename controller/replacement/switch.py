"""What is done on a machine whose agent is replaced, by whichever agent answers there, as root.

Sent as text by `controller.replacement.machine_steps`, with a call of `main` behind it, so it needs nothing but the
standard library of Python 3.11. It says what it found or did in one line of JSON behind `MARK`. Each step may be asked
for again, wherever it was cut off.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MARK = "saltern-switch: "
SECONDS = 180.0
"""For one call of the service manager, or of a package manager."""
BEGUN_SECONDS = 2.0
"""For a service that was started to be seen."""
ENDED_SECONDS = 30.0
"""For processes to end that a stopped service has left."""
UNITS = Path("/etc/systemd/system")
INIT = Path("/etc/init.d")
PROGRAM = Path("/usr/local/bin/saltern")
"""What the unit and the init script start."""
BUNDLE_NAME = "bundle.sha256"
"""A file that says which bundle was unpacked beside it."""
CONVERT = "from saltern import find_rooms; find_rooms(); from controller.migration.minion_files import main; main()"
INIT_SCRIPT = """\
#!/bin/sh
### BEGIN INIT INFO
# Provides:          saltern-minion
# Required-Start:    $remote_fs $network
# Required-Stop:     $remote_fs $network
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: Saltern minion
### END INIT INFO
file=/run/saltern-minion.pid
up() { pid=$(cat $file 2>/dev/null) && grep -q saltern "/proc/$pid/cmdline" 2>/dev/null; }
case "$1" in
  start)
    up || { setsid /usr/local/bin/saltern minion </dev/null >>/var/log/saltern-minion.log 2>&1 & echo $! >$file; } ;;
  stop)
    if up; then
      kill "$pid"; tries=0
      while up && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
      up && kill -9 "$pid"
      rm -f $file
    fi ;;
  restart) "$0" stop; "$0" start ;;
  status) up ;;
  *) echo "usage: $0 start|stop|restart|status" >&2; exit 2 ;;
esac
"""


class StepRefused(Exception):
    """A step is not done; `hint` says what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


class Services:
    """The service manager of this machine: systemd where it runs, otherwise init scripts."""

    def __init__(self) -> None:
        self.kind = ""
        if Path("/run/systemd/system").is_dir():
            self.kind = "systemd"
        elif INIT.is_dir() and (shutil.which("update-rc.d") or shutil.which("chkconfig")):
            self.kind = "init scripts"

    def has(self, name: str) -> bool:
        """Whether there is such a service."""
        if self.kind == "systemd":
            return run(["systemctl", "cat", f"{name}.service"])[0] == 0
        return (INIT / name).exists()

    def runs(self, name: str) -> bool:
        """Whether it runs."""
        if self.kind == "systemd":
            return run(["systemctl", "is-active", "-q", f"{name}.service"])[0] == 0
        return self.has(name) and run([str(INIT / name), "status"])[0] == 0

    def start(self, name: str) -> None:
        """Start it, and at each boot. StepRefused."""
        if self.kind == "systemd":
            self._must(["systemctl", "daemon-reload"])
            self._must(["systemctl", "enable", "--now", f"{name}.service"])
        else:
            self._boot(name, True)
            self._must([str(INIT / name), "start"])
        # While a process becomes another program, its command line may be empty for a moment.
        limit = time.monotonic() + BEGUN_SECONDS
        while not self.runs(name):
            if time.monotonic() > limit:
                raise StepRefused(f"the service {name} was started, and does not run", f"look at the log of {name}")
            time.sleep(0.1)

    def stop(self, name: str) -> None:
        """Stop it, for good; nothing where there is no such service. StepRefused."""
        if not self.has(name):
            return
        if self.kind == "systemd":
            self._must(["systemctl", "disable", "--now", f"{name}.service"])
        else:
            self._must([str(INIT / name), "stop"])
            self._boot(name, False)
        if self.runs(name):
            raise StepRefused(f"the service {name} was stopped, and still runs", "stop it by hand, and ask again")
        # A salt-minion removes its pid file first and ends later: one that is started meanwhile finds it, and ends.
        limit = time.monotonic() + ENDED_SECONDS
        while processes(name) and time.monotonic() < limit:
            time.sleep(0.1)

    def _boot(self, name: str, wanted: bool) -> None:
        if shutil.which("update-rc.d"):
            self._must(["update-rc.d", name, "defaults"])
            self._must(["update-rc.d", name, "enable" if wanted else "disable"])
        else:
            self._must(["chkconfig", name, "on" if wanted else "off"])

    def _must(self, words: list[str]) -> None:
        code, said = run(words)
        if code:
            raise StepRefused(f"{' '.join(words)} ended with {code}: {said}")


def processes(program: str) -> set[int]:
    """Ids of the processes of a program on this machine, without those of its containers."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            # The title that a process gives itself has spaces between its words.
            words = (entry / "cmdline").read_bytes().replace(b" ", b"\0").split(b"\0")[:3]
            named = any(word.rpartition(b"/")[2] == program.encode() for word in words)
            if named and (entry / "root").samefile("/"):
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue  # it has ended, or is no process
    return found


def run(words: list[str], given: str = "") -> tuple[int, str]:
    """The code and the words of a command. What it starts may go on: it holds no pipe of ours."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
        told.write(given.encode())
        told.seek(0)
        try:
            done = subprocess.run(words, stdin=told, stdout=said, stderr=said, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StepRefused(f"{words[0]}: {error}") from error
        said.seek(0)
        return done.returncode, said.read(65536).decode("utf-8", "replace").strip()


def look(given: Mapping[str, Any]) -> dict[str, Any]:
    """What there is. Changes nothing."""
    services = Services()
    salt = Path(given["salt"])
    return {
        "python": list(sys.version_info[:2]),
        "magic": importlib.util.MAGIC_NUMBER.hex(),
        "machine": platform.machine(),
        "libc": platform.libc_ver()[0],
        "root": os.geteuid() == 0,
        "venv": importlib.util.find_spec("venv") is not None,
        "manager": services.kind,
        "services": {name: services.has(name) for name in ("salt-minion", "saltern-minion")},
        "configured": (salt / "minion").is_file() or (salt / "minion.d").is_dir(),
        "grains": (salt / "grains").is_file(),
        "program": installed(Path(given["prefix"])),
        "free": shutil.disk_usage(existing(Path(given["prefix"]))).free,
    }


def installed(prefix: Path) -> str:
    """The program that is installed by somebody else, which is taken as it is; empty: there is none."""
    found = shutil.which("saltern") or ""
    own = (prefix / BUNDLE_NAME).is_file() and Path(found).resolve().is_relative_to(prefix)
    return "" if own else found


def existing(path: Path) -> Path:
    """The next folder above that is there."""
    return path if path.is_dir() else existing(path.parent)


def install(given: Mapping[str, Any]) -> dict[str, Any]:
    """Put the new agent in place, with its configuration and its key, and start it. Its key is told."""
    prefix = Path(given["prefix"])
    bundle = Path(given["bundle"])
    program = installed(prefix)
    if not program:
        unpack(bundle, given["digest"], prefix)
        PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        link(PROGRAM, prefix / "bin/saltern")
        program = str(prefix / "bin/saltern")
    bundle.unlink(missing_ok=True)
    told = configured(program, given)
    services = Services()
    if services.kind == "systemd":
        if not services.has("saltern-minion"):
            put(UNITS / "saltern-minion.service", given["unit"], 0o644)
    elif not services.has("saltern-minion"):
        put(INIT / "saltern-minion", INIT_SCRIPT, 0o755)
    try:
        services.start("saltern-minion")
    except StepRefused:
        services.stop("saltern-minion")
        raise
    return told


def unpack(bundle: Path, digest: str, prefix: Path) -> None:
    """Make the virtual environment out of the bundle, unless it is there."""
    name = prefix / BUNDLE_NAME
    if name.is_file() and name.read_text() == digest:
        return
    if hashlib.sha256(bundle.read_bytes()).hexdigest() != digest:
        raise StepRefused(f"{bundle} is not what was sent", "ask again")
    import venv

    new, old = prefix.with_name(prefix.name + ".new"), prefix.with_name(prefix.name + ".old")
    for each in (new, old):
        shutil.rmtree(each, ignore_errors=True)
    os.umask(0o022)
    venv.EnvBuilder(symlinks=True).create(new)
    modules = new / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    with tarfile.open(bundle) as tar:
        tar.extractall(modules)  # noqa: S202 - its bytes are those that the controller named
    start = f"#!{prefix}/bin/python\nfrom saltern import main\n\nmain()\n"
    put(new / "bin/saltern", start, 0o755)
    put(new / name.name, digest, 0o644)
    if prefix.exists():
        prefix.rename(old)
    new.rename(prefix)
    shutil.rmtree(old, ignore_errors=True)


def configured(program: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the new agent's own program says of its configuration, which it writes, and its key."""
    python = Path(program).resolve().parent / "python"
    words = [str(python) if python.exists() else sys.executable, "-c", CONVERT]
    code, said = run(words, json.dumps(given["conversion"]))
    line = next((each for each in reversed(said.splitlines()) if each.startswith(MARK)), "")
    if not line:
        raise StepRefused(f"the configuration could not be written: {said[-1000:] or code}")
    told: dict[str, Any] = json.loads(line.removeprefix(MARK))
    if "why" in told:
        raise StepRefused(str(told["why"]), str(told.get("hint", "")))
    return told


def put(path: Path, text: str, mode: int) -> None:
    """Write a file as a whole."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(mode)
    draft.replace(path)


def link(path: Path, target: Path) -> None:
    """Have a link lead there."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(path)


def start(given: Mapping[str, Any]) -> dict[str, Any]:
    """Start a service, and at each boot."""
    services = Services()
    if not services.has(given["service"]):
        raise StepRefused(f"there is no service {given['service']} any more", "install it again, and ask again")
    services.start(given["service"])
    return {}


def stop(given: Mapping[str, Any]) -> dict[str, Any]:
    """Stop a service for good; with `purge` its package goes, too."""
    services = Services()
    services.stop(given["service"])
    return {"purged": purged(given["service"]) if given["purge"] else ""}


def purged(package: str) -> str:
    """Remove the package of this name; what it was, empty: it is no package here."""
    for query, remove in (
        (["dpkg", "-s", package], ["apt-get", "-y", "-q", "purge", package]),
        (["rpm", "-q", package], [shutil.which("dnf") or "yum", "-y", "-q", "remove", package]),
    ):
        if shutil.which(query[0]) and run(query)[0] == 0:
            code, said = run(remove)
            if code:
                raise StepRefused(
                    f"{' '.join(remove)} ended with {code}: {said[-500:]}", "it is stopped; remove it by hand"
                )
            return package
    return ""


STEPS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "look": look,
    "install": install,
    "start": start,
    "stop": stop,
}


def main(given: Mapping[str, Any]) -> None:
    """Do the step that is named, and say what came of it."""
    try:
        told = STEPS[given["step"]](given)
    except StepRefused as error:
        told = {"why": str(error), "hint": error.hint}
    except (OSError, ValueError, tarfile.TarError) as error:
        told = {"why": f"{type(error).__name__}: {error}"}
    print(MARK + json.dumps(told))  # noqa: T201 - it is how it answers
