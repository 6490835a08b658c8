"""Roots to throw away: a small Debian made once, and for each side of a case an overlay on it in namespaces of its own.

Called by `__main__`. A root has no right to change what it shares with this machine (network, kernel parameters,
modules, clock, mounts); all of its processes and files end with it. Nothing boots in it: systemctl is there and systemd
does not run. A case may have a network of its own, which reaches others by slirp4netns, and init scripts that start
what packages bring.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SALT_VERSION = "3008.3"
_EXTENSIONS = ("saltext-dockermod==0.1.3", "docker==7.2.0", "saltext-mysql==1.1.0", "PyMySQL==1.2.0")
"""States that the formulas use and that Salt has no longer; with the libraries that they need."""
_PROJECT = Path(__file__).resolve().parents[2]
_LOCK = _PROJECT / "requirements.lock"
_EXTRAS = ("controller", "docker", "redis")
_SUITE = "bookworm"
_PACKAGES = (
    "ca-certificates", "cron", "curl", "gnupg", "iproute2", "lsb-release", "openssh-client",
    "procps", "python3", "python3-venv", "sudo", "systemd", "systemd-sysv",
)  # fmt: skip
_COMPILER = ("gcc", "libc6-dev", "python3-dev")
"""For packages of PyPI that have to be built; not there when cases run."""
_DENIED = ("net_admin", "sys_admin", "sys_boot", "sys_module", "sys_rawio", "sys_time", "syslog", "mac_admin")

_APT = """APT::Install-Recommends "false";
Binary::apt-get::APT::Keep-Downloaded-Packages "true";
Acquire::Retries "2";
"""

_SIDE = r"""
set -eu
mount -t tmpfs -o size=6g tmpfs "$WORK"
mkdir "$WORK/upper" "$WORK/work" "$WORK/root"
mount -t overlay -o "lowerdir=$BASE,upperdir=$WORK/upper,workdir=$WORK/work" overlay "$WORK/root"
R="$WORK/root"
mount -t proc proc "$R/proc"
mount --bind "$R/proc/sys" "$R/proc/sys" && mount -o remount,ro,bind "$R/proc/sys"
mount --bind /sys "$R/sys" && mount -o remount,ro,bind "$R/sys"
mount -t tmpfs -o mode=755 tmpfs "$R/dev"
for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "$R/dev/${node%:*}" c 1 "${node#*:}"; done
mkdir "$R/dev/shm" "$R/dev/pts" && chmod 1777 "$R/dev/shm"
ln -s /proc/self/fd "$R/dev/fd"; ln -s fd/0 "$R/dev/stdin"; ln -s fd/1 "$R/dev/stdout"; ln -s fd/2 "$R/dev/stderr"
mount -t tmpfs -o mode=755 tmpfs "$R/run" && mkdir -m 1777 "$R/run/lock"
mkdir -p "$R/case" "$R/project" "$R/out"
mount --bind "$CASE" "$R/case" && mount -o remount,ro,bind "$R/case"
mount -t tmpfs -o mode=755 tmpfs "$R/case/conf" && cp "$CASE/conf/minion" "$R/case/conf/"
mount --bind "$PROJECT" "$R/project" && mount -o remount,ro,bind "$R/project"
mount --bind "$OUT" "$R/out"
mount --bind "$DEBS" "$R/var/cache/apt/archives"
cat /etc/resolv.conf > "$R/etc/resolv.conf"
IN=
if [ -n "$NETWORK" ]; then
    mount -t proc proc /proc
    touch "$WORK/net" && unshare --net="$WORK/net" ip link set lo up
    slirp4netns --configure --mtu=1400 --disable-host-loopback --netns-type=path "$WORK/net" eth0 > /dev/null 2>&1 &
    until nsenter --net="$WORK/net" ip route show default | grep -q via; do sleep 0.1; done
    echo "nameserver 10.0.2.3" > "$R/etc/resolv.conf"
    IN="nsenter --net=$WORK/net"
fi
if [ -n "$DAEMONS" ]; then
    rm "$R/usr/sbin/policy-rc.d" "$R/usr/bin/systemctl" "$R/usr/sbin/runlevel"
    printf '#!/bin/sh\nexit 1\n' > "$R/usr/bin/ischroot"
    printf '#!/bin/sh\necho N 2\n' > "$R/usr/sbin/runlevel" && chmod 755 "$R/usr/sbin/runlevel"
fi
hostname opinion
printf '127.0.0.1 localhost\n127.0.1.1 opinion.example.net opinion\n' > "$R/etc/hosts"
if [ -n "$ENGINE" ]; then touch "$R/run/docker.sock" && mount --bind "$ENGINE" "$R/run/docker.sock"; fi
step() {
    name="$1"; shift
    timeout -k 5 "$SECONDS_EACH" $IN chroot "$R" setpriv --bounding-set "$DENIED" --inh-caps=-all -- \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 "$@" \
        > "$OUT/$name.json" 2> "$OUT/$name.err" < /dev/null && code=0 || code=$?
    echo "$code" > "$OUT/$name.rc"
}
snapshot() { (cd "$PROJECT" && "$PYTHON" -m tools.second_opinion.snapshot "$WORK/upper" "$BASE" > "$OUT/files.json"); }
"""

SALTERN = ("env", "PYTHONPATH=/project", "/opt/saltern/bin/python", "-m", "saltern", "call")
SALT = ("/opt/salt/bin/salt-call",)


def base(cache: Path) -> Path:
    """The folder of the small Debian with both programs' virtualenvs; made where the cache has none for this lock file.

    Takes some minutes, once: packages of Debian and of PyPI are fetched.
    """
    recipe = (_LOCK.read_text(), _wanted(), SALT_VERSION, _EXTENSIONS, _SUITE, _PACKAGES, _APT)
    root = cache / f"base-{hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]}"
    if (root / ".made").exists():
        return root
    if shutil.which("debootstrap") is None:
        raise SystemExit("making a root needs debootstrap: apt-get install debootstrap")
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    include = f"--include={','.join(_PACKAGES)}"
    subprocess.run(["debootstrap", "--variant=minbase", include, _SUITE, root], check=True)
    _furnish(root)
    (root / ".made").touch()
    return root


def _furnish(root: Path) -> None:
    """What the cases need of the base: no service is started by a package, and both programs are there."""
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    (root / "etc/apt/apt.conf.d/90opinion").write_text(_APT)
    (root / "etc/dpkg/dpkg.cfg.d/opinion").write_text("force-unsafe-io\n")
    (root / "etc/apt/sources.list.d/opinion.list").write_text(
        f"deb http://deb.debian.org/debian {_SUITE}-updates main\n"
        f"deb http://deb.debian.org/debian-security {_SUITE}-security main\n"
    )
    for shared in ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf"):
        if Path(shared).exists():
            shutil.copyfile(shared, root / shared.lstrip("/"))
    pins = [line.removesuffix(" \\") for line in _LOCK.read_text().splitlines() if re.match(r"\S+==", line)]
    (root / "tmp/pins").write_text("\n".join(pins))
    _inside(root, "apt-get", "update")
    _inside(root, "apt-get", "-q", "-y", "install", *_COMPILER)
    for name, wanted in (
        ("salt", (f"salt=={SALT_VERSION}", *_EXTENSIONS, "mako", "python-gnupg")),
        ("saltern", ("-c", "/tmp/pins", *_wanted())),  # noqa: S108 - a folder of the root
    ):
        _inside(root, "python3", "-m", "venv", f"/opt/{name}")
        _inside(root, f"/opt/{name}/bin/pip", "install", "-q", *wanted)
    _inside(root, "apt-get", "-q", "-y", "purge", "--auto-remove", *_COMPILER)
    (root / "etc/resolv.conf").write_text("")


def _wanted() -> tuple[str, ...]:
    """What Saltern needs, without what its development does: some of that wants a newer Python than the root's."""
    project = tomllib.loads((_PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return (*project["dependencies"], *(one for name in _EXTRAS for one in extras[name]))


def _inside(root: Path, *command: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
    kept["DEBIAN_FRONTEND"] = "noninteractive"
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", **kept}
    subprocess.run(["chroot", root, *command], check=True, env=environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """What a side's root is made of."""

    base: Path
    case: Path
    """The folder of the tree, its pillar and its configuration."""
    debs: Path
    """Where packages are kept for the next root."""
    daemons: bool = False
    """It has no systemctl: init scripts start what packages bring, and states of services use them."""
    network: bool = False
    """The root has a network of its own, and may change it."""
    engine: str = ""
    """The socket of a Docker engine outside of the root, which is its engine."""


def run_side(root: Root, out: Path, steps: Sequence[tuple[str, Sequence[str]]], seconds: int) -> None:
    """Carry out steps, each a name and a command, one after the other in one fresh root.

    A step without a command keeps what the root has beyond its base, as files.json. Of each other, `out` has NAME.json
    (what it printed), NAME.err and NAME.rc (the exit code; 124 after `seconds`). The folder of the configuration may be
    written to, as on any machine.
    """
    if root.network and shutil.which("slirp4netns") is None:
        raise SystemExit("a network of the root's own needs slirp4netns: apt-get install slirp4netns")
    lines = [_SIDE, *(f"step {name} {' '.join(command)}" if command else "snapshot" for name, command in steps)]
    work = out / "root"
    work.mkdir()
    denied = [one for one in _DENIED if not (root.network and one == "net_admin")]
    environment = {
        **os.environ,
        "WORK": str(work), "BASE": str(root.base), "CASE": str(root.case), "OUT": str(out), "DEBS": str(root.debs),
        "PROJECT": str(_PROJECT), "PYTHON": sys.executable, "SECONDS_EACH": str(seconds),
        "DENIED": ",".join(f"-{one}" for one in denied),
        "DAEMONS": "yes" if root.daemons else "", "NETWORK": "yes" if root.network else "", "ENGINE": root.engine,
    }  # fmt: skip
    namespaces = ["--mount", "--pid", "--fork", "--uts", "--ipc", "--kill-child", "--propagation", "private"]
    done = subprocess.run(
        ["setpriv", "--pdeathsig", "KILL", "unshare", *namespaces, "bash", "-c", "\n".join(lines)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"a root could not be made: {done.stderr.strip()}")
    work.rmdir()
