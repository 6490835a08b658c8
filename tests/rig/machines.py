"""Machines of a test: overlays of a root, in namespaces that end with it. What systemd would start is started here."""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from rig import PATIENCE

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FRESH_ROOT = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$3,upperdir=$1/upper,workdir=$1/work" "$1/root"
for each in proc dev sys; do mount --rbind "/$each" "$1/root/$each"; done
for each in tmp run; do mount -t tmpfs tmpfs "$1/root/$each"; done
mkdir "$1/root/tmp/wheels"
mount --bind "$2" "$1/root/tmp/wheels"
"""


class Machine:
    """A fresh root with files that are to be installed below /tmp/wheels.

    Args:
        namespace: a process in the mount and network namespaces that all machines of a test have together.
        folder: where it is mounted; made.
        wheels: folder with those files.
        base: root that lies below.
        units: where the units are.
    """

    def __init__(
        self, namespace: int, folder: Path, wheels: Path, base: Path = Path("/"), units: str = "/etc/systemd/system"
    ) -> None:
        self._enter = ["nsenter", "-t", str(namespace), "-m", "-n"]
        self._root = folder / "root"
        self._units = units
        folder.mkdir()
        subprocess.run([*self._enter, "sh", "-c", FRESH_ROOT, "sh", folder, wheels, base], check=True)
        of_others = "/opt/saltern /etc/saltern /var/{lib,cache,log}/saltern /usr/local/bin/saltern"
        self.run(f"useradd --help >/dev/null; bash -c 'rm -rf {of_others}'")

    def command(self, words: list[str]) -> list[str]:
        """What runs the words in this root, with the environment that systemd gives."""
        return [*self._enter, "env", "-i", f"PATH={PATH}", "chroot", str(self._root), *words]

    def run(self, line: str, check: bool = True, **variables: str) -> str:
        """What a line for the shell printed; it has to succeed."""
        settings = [f"{name}={value}" for name, value in variables.items()]
        words = self.command(["env", *settings, "sh", "-c", f"cd /tmp/wheels && {line}"])
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        if done.returncode and "shared libraries" in said:
            said += self.rights()
        assert not check or done.returncode == 0, f"{line}\n{said}"
        return said

    def rights(self) -> str:
        """Who may read the system's libraries in this root."""
        look = "ls -ldn / /usr /usr/lib /lib/*-linux-gnu /lib/*-linux-gnu/lib[cm].so.6 /etc/ld.so.cache; id"
        done = subprocess.run(self.command(["sh", "-c", look]), capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        self.run(f"mkdir -p {shlex.quote(str(Path(path).parent))} && printf %s {shlex.quote(text)} > {path}")

    def start(self, unit: str) -> subprocess.Popen[bytes]:
        """The service of a unit, as systemd starts it."""
        said = configparser.RawConfigParser(strict=False, interpolation=None, dict_type=dict)
        said.optionxform = str  # type: ignore[assignment, method-assign]
        text = self.run(f"cat {self._units}/{unit}.service")
        said.read_string(text)
        service = said["Service"]
        user = service.get("User", "root")
        for kind, top in (("State", "/var/lib"), ("Cache", "/var/cache"), ("Runtime", "/run")):
            for name in service.get(f"{kind}Directory", "").split():
                mode = service[f"{kind}DirectoryMode"]
                self.run(f"install -d -m {mode} -o {user} -g {user} {top}/{name}")
        for line in re.findall(r"^ExecStartPre=(.+)$", text, re.MULTILINE):
            self.run(line[1:] if line.startswith("+") else f"{as_user(user)} {line}")
        words = shlex.split(f"{as_user(user)} {service['ExecStart']}")
        return subprocess.Popen(self.command(["env", "-C", "/", f"HOME={home(self, user)}", *words]))


def as_user(user: str) -> str:
    """Words before a command."""
    return f"setpriv --reuid {user} --regid {user} --clear-groups --no-new-privs"


def home(machine: Machine, user: str) -> str:
    """Folder of a user."""
    return machine.run(f"getent passwd {user} | cut -d: -f6").strip()


def waited(look: Callable[[], str], what: str) -> str:
    """What `look` gives when it is no error any more."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        said: str = look()
        if said and not re.match(r"saltern: |cat: ", said):
            return said
        time.sleep(0.1)
    raise AssertionError(f"{what}: {look()}")
