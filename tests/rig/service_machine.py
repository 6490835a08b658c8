"""A machine whose services are init scripts: files of its own in a mount namespace, everything else this machine's.

What is written below /etc, /opt, /usr/local, /var/cache, /var/log and /run stays in it, and its processes end with it.
"""

from __future__ import annotations

import contextlib
import shlex
import signal
import subprocess
from pathlib import Path
from types import TracebackType

import psutil

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OWN = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
for each in etc usr/local var/lib/dpkg var/lib/apt; do
  mkdir -p "$1/$each/upper" "$1/$each/work"
  mount -t overlay overlay -o "lowerdir=/$each,upperdir=$1/$each/upper,workdir=$1/$each/work" "/$each"
done
for each in opt var/cache var/log run; do mkdir -p "/$each"; mount -t tmpfs tmpfs "/$each"; done
rm -rf /etc/salt /etc/saltern /etc/init.d/salt* /usr/local/bin/saltern /etc/systemd/system/saltern*
mkdir -p /etc/salt
echo ready
exec sleep infinity
"""
_SERVICE = """\
#!/bin/sh
### BEGIN INIT INFO
# Provides:          {name}
# Required-Start:    $remote_fs
# Required-Stop:     $remote_fs
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
### END INIT INFO
file=/run/{name}.pid
up() {{ pid=$(cat $file 2>/dev/null) && kill -0 "$pid" 2>/dev/null; }}
case "$1" in
  start) up || {{ setsid {command} </dev/null >>/var/log/{name}.out 2>&1 & echo $! >$file; }} ;;
  stop) if up; then kill "$pid"; n=0; while up && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done; ! up; fi ;;
  status) up ;;
esac
"""


_SYSTEMCTL = """\
#!/bin/sh
echo "$*" >>/run/systemctl.calls
for unit; do :; done
units=/etc/systemd/system file=/run/${unit%.service}.pid
up() { pid=$(cat $file 2>/dev/null) && kill -0 "$pid" 2>/dev/null; }
case "$1" in
  daemon-reload) ;;
  cat) test -f $units/$unit ;;
  is-active) up ;;
  enable)
    /usr/bin/systemctl -q --root=/ enable $unit || exit
    line=$(sed -n 's/^ExecStart=//p' $units/$unit)
    up || { setsid $line </dev/null >>/var/log/${unit%.service}.log 2>&1 & echo $! >$file; } ;;
  disable)
    /usr/bin/systemctl -q --root=/ disable $unit || exit
    if up; then kill "$pid"; n=0; while up && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done; ! up; fi ;;
  *) exit 64 ;;
esac
"""
"""`systemctl` where no systemd runs: it keeps what it is asked for; the real one makes and removes links of units."""


class ServiceMachine:
    """One of them; as root.

    Args:
        folder: of what is mounted; made.
        systemd: its services are units, which a `systemctl` starts that is a script.
    """

    def __init__(self, folder: Path, *, systemd: bool = False) -> None:
        self._systemd = systemd
        folder.mkdir(parents=True)
        self._first = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", _OWN, "sh", str(folder)], stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._first.stdout is not None
        assert self._first.stdout.readline() == b"ready\n"
        self._namespace = Path(f"/proc/{self._first.pid}/ns/mnt").readlink()
        if systemd:
            self.write("/usr/local/bin/systemctl", _SYSTEMCTL, "755")
            self.run("mkdir -p /run/systemd/system")

    def __enter__(self) -> ServiceMachine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._first.wait()
        assert self._first.stdout is not None
        self._first.stdout.close()

    def processes(self, word: str = "") -> list[psutil.Process]:
        """Its processes that have this word in their command line."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                own = Path(f"/proc/{process.pid}/ns/mnt").readlink() == self._namespace
                if own and word in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def memory(self, service: str) -> int:
        """Bytes (proportional set size) of what the pid file of a service names, and of what it has started."""
        first = psutil.Process(int(self.run(f"cat /run/{service}.pid")))
        return sum(each.memory_full_info().pss for each in (first, *first.children(recursive=True)))

    def kill(self, service: str) -> None:
        """kill -9 of what the pid file of a service names, and of what it has started."""
        first = psutil.Process(int(self.run(f"cat /run/{service}.pid")))
        processes = [first, *first.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, 10)  # an init script takes one that is still there for a service that runs

    def run(self, line: str, *, check: bool = True) -> str:
        """What a line for the shell prints there."""
        words = [
            "nsenter",
            "-t",
            str(self._first.pid),
            "-m",
            "env",
            "-i",
            f"PATH={PATH}",
            "HOME=/root",
            "sh",
            "-c",
            line,
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def write(self, path: str, text: str, mode: str = "644") -> None:
        """Write a file."""
        self.run(f"mkdir -p {Path(path).parent} && printf %s {shlex.quote(text)} >{path} && chmod {mode} {path}")

    def add_service(self, name: str, command: str) -> None:
        """A service that is started at boot, and now."""
        if self._systemd:
            unit = f"[Service]\nExecStart={command}\n\n[Install]\nWantedBy=multi-user.target\n"
            self.write(f"/etc/systemd/system/{name}.service", unit)
            self.run(f"systemctl enable --now {name}.service >/dev/null 2>&1")
            return
        self.write(f"/etc/init.d/{name}", _SERVICE.format(name=name, command=command), "755")
        self.run(f"update-rc.d {name} defaults && /etc/init.d/{name} start >/dev/null 2>&1")

    def add_package(self, name: str, command: str) -> None:
        """A package with such a service, which its machine removes with it (`apt-get purge`)."""
        root = f"/opt/build-{name}"
        control = (
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: Test <t@example.org>\nDescription: test\n"
        )
        self.write(f"{root}/DEBIAN/control", control)
        self.write(f"{root}/DEBIAN/prerm", f"#!/bin/sh\n/etc/init.d/{name} stop\n", "755")
        self.write(f"{root}/DEBIAN/conffiles", f"/etc/init.d/{name}\n")
        self.write(f"{root}/etc/init.d/{name}", _SERVICE.format(name=name, command=command), "755")
        self.write(f"{root}/opt/{name}/program", "of the package\n")
        self.run(f"dpkg-deb -b {root} /opt/{name}.deb && rm -rf {root}")
        self.install_package(name)
        self.run(f"update-rc.d {name} defaults && /etc/init.d/{name} start >/dev/null 2>&1")

    def install_package(self, name: str) -> None:
        """Install it, again; it is not started."""
        self.run(f"dpkg -i /opt/{name}.deb")

    def runs(self, name: str) -> bool:
        """Whether a service runs, as its init script says, or `systemctl`."""
        if self._systemd:
            return self.run(f"systemctl is-active -q {name}.service && echo yes || true").strip() == "yes"
        return self.run(f"/etc/init.d/{name} status && echo yes || true").strip() == "yes"

    def starts_at_boot(self, name: str) -> bool:
        """Whether it is started in runlevel 2, or by multi-user.target."""
        if self._systemd:
            return bool(self.run(f"ls /etc/systemd/system/multi-user.target.wants/{name}.service || true").strip())
        return bool(self.run(f"ls /etc/rc2.d | grep '^S[0-9]*{name}$' || true").strip())
