"""`saltern ssh` to fifty machines, beside real salt-ssh in the same run.

The machines are fifty ids of a roster at a real sshd of this machine. What is sent once (the worker, Salt's thin) is
there already: figures are of the second time and later ones. Salt is that of the virtualenv SALT_VENV; without one it
is installed into .cache/oracle once. As root.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from rig import Rig
from ssh_server import SshServer

from tools.bench.figures import Figure
from tools.oracle.__main__ import salt_venv

MACHINES = int(os.environ.get("MACHINES", "50"))
TIMES = int(os.environ.get("TIMES", "3"))
AT_ONCE = 10
"""Connections by the program ssh; more of them are no faster."""
_STATE = "{place}:\n  file.managed:\n    - contents: as it shall be\n    - makedirs: True\n"
_CALLS: Mapping[str, tuple[str, ...]] = {"test.ping": ("test.ping",), "state.apply": ("state.apply", "files")}

# What this machine's root has in its .bashrc is not measured: with pyenv it is more than all the rest.
_WITHOUT_BASHRC = (
    "unshare",
    "--mount",
    "sh",
    "-c",
    'touch ~/.bashrc; mount --bind /dev/null ~/.bashrc; exec "$@"',
    "sh",
)


def measure() -> Iterator[Figure]:
    """Seconds until the command line has printed what all machines returned."""
    if os.geteuid() != 0:
        raise SystemExit("bench ssh: it starts a sshd that root comes in by: run it as root")
    with tempfile.TemporaryDirectory(prefix="saltern-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        states = "".join(_STATE.format(place=folder / "made" / str(number)) for number in range(5))
        for path, text in {"states/top.sls": "{}\n", "states/files.sls": states, "pillar/top.sls": "{}\n"}.items():
            (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / path).write_text(text)
        # salt-ssh copies by scp, which asks for sftp: without it, it tries for ever.
        with SshServer(folder / "sshd", "Subsystem sftp internal-sftp", before=_WITHOUT_BASHRC) as sshd:
            ours = _timed_ours(folder, sshd)
            salts = _timed_salts(folder, sshd)
            bare = [_bare(folder / "key", sshd) for _ in range(TIMES)]
        yield Figure(metric=f"true by the program ssh on {MACHINES} machines", unit="s", samples=bare)
        for fun, samples in ours.items():
            salt = statistics.median(salts[fun])
            yield Figure(
                metric=f"{fun} over ssh on {MACHINES} machines",
                unit="s",
                samples=samples,
                reference=salt,
                reference_of="salt-ssh",
                target=salt / 3,
            )


def _timed_ours(folder: Path, sshd: SshServer) -> dict[str, list[float]]:
    (folder / "ours").mkdir()
    with Rig(folder / "ours", {}, folder / "tree") as rig:
        rig.up()
        commit = rig.push("five files")
        rig.wait("the tree", lambda: commit in str(rig.remotes()))
        (rig.config / "roster").write_text(_roster(sshd, folder / "worker"))
        rig.saltern("ssh", "*", "--raw", "true", check=False)  # makes the key pair
        public = rig.directory / "c/etc/saltern/pki/controller/ssh" / "salt-ssh.rsa.pub"
        sshd.authorized_keys.write_text(public.read_text())
        rig.saltern("ssh", "*", "-i", "test.ping")

        def call(words: tuple[str, ...]) -> Any:
            return json.loads(rig.saltern("ssh", "*", *words, "--out", "json", "--static").stdout)

        return _timed(call)


def _timed_salts(folder: Path, sshd: SshServer) -> dict[str, list[float]]:
    program = salt_venv(None) / "bin" / "salt-ssh"
    etc = folder / "salt"
    etc.mkdir()
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with sshd.authorized_keys.open("a") as keys:
        keys.write(key.with_suffix(".pub").read_text())
    settings = {
        "root_dir": str(etc / "root"),
        "file_roots": {"base": [str(folder / "tree/states")]},
        "pillar_roots": {"base": [str(folder / "tree/pillar")]},
        "log_level": "quiet",
        "ssh_max_procs": MACHINES,
    }
    (etc / "master").write_text(json.dumps(settings))  # JSON is YAML
    (etc / "roster").write_text(_roster(sshd, folder / "thin", priv=str(key)))

    def call(words: tuple[str, ...]) -> Any:
        options = ["-c", etc, "--roster-file", etc / "roster", "-i", "--out", "json", "--static"]
        command = [program, *options, "*", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"salt-ssh {words}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(done.stdout)

    call(("test.ping",))  # the thin is sent
    return _timed(call)


def _bare(key: Path, sshd: SshServer) -> float:
    """Seconds that the connections take by themselves: nothing is begun at the other end."""
    options = ["-F", "none", "-i", str(key), "-p", str(sshd.port), "-o", "StrictHostKeyChecking=no"]
    command = ["ssh", *options, "-o", "UserKnownHostsFile=/dev/null", "root@127.0.0.1", "true"]
    began = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in pool.map(lambda _: subprocess.run(command, capture_output=True, check=False), range(MACHINES)):
            done.check_returncode()
    return time.perf_counter() - began


def _roster(sshd: SshServer, worker: Path, **more: str) -> str:
    """Args:
    worker: folder in which each machine has its own: runs of salt-ssh that share one put out each other's states.
    more: other fields of each machine.
    """
    entry = {"host": "127.0.0.1", "port": sshd.port, "user": "root", **more}
    # Where python3 is a script of the shell (pyenv's), salt-ssh 3008 ends for want of variables.
    entry["set_path"] = f"{sys.base_prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return yaml.safe_dump({f"m{n:03}": {**entry, "thin_dir": f"{worker}/m{n:03}"} for n in range(MACHINES)})


def _timed(call: Callable[[tuple[str, ...]], Any]) -> dict[str, list[float]]:
    """Samples by function; the first time of each does not count."""
    found: dict[str, list[float]] = {}
    for fun, words in _CALLS.items():
        for number in range(TIMES + 1):
            began = time.perf_counter()
            answer = call(words)
            took = time.perf_counter() - began
            if len(answer) != MACHINES or not all(answer.values()):
                raise RuntimeError(f"{fun}: {str(answer)[:2000]}")
            if number:
                found.setdefault(fun, []).append(took)
    return found
