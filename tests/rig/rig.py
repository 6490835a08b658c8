"""A controller, minions and a git remote on this machine, in a folder of their own: for the demo, benches and tests.

Everything in it is the real thing: the `saltern` command, git, sockets on the loopback. Nothing outside of the folder
is touched; what the minions manage lies below the folder too, through the `root` grain.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import prepared
import yaml

SALTERN = (str(Path(sys.executable).with_name("saltern")),)
_GIVEN_PORTS: deque[int] = deque(maxlen=200)
"""Given last, and perhaps not in use yet."""
PATIENCE = 60.0
"""Seconds until `wait` gives up."""


class Failed(Exception):
    """Something that should have happened did not."""


class Rig:
    """One controller, its remote and its minions.

    Args:
        directory: where everything goes; made when it is not there.
        minions: id -> grains of each minion.
        tree: folder with `states` and `pillar` that is the first content of the remote.
        controller: more options for the controller's configuration.
        forked: start processes as forks of one that has imported the program, which takes less time.
    """

    def __init__(
        self,
        directory: Path,
        minions: Mapping[str, Mapping[str, Any]],
        tree: Path,
        controller: Mapping[str, Any] | None = None,
        *,
        forked: bool = False,
    ) -> None:
        self._forked = forked
        self.directory = directory
        self.minions = dict(minions)
        self.remote = directory / "remote.git"
        self.work = directory / "work"
        self.config = directory / "controller"
        self._tree = tree
        self._processes: dict[str, subprocess.Popen[bytes] | prepared.PreparedProcess] = {}
        self._ports = free_ports(3)
        self._more = dict(controller or {})
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "SALTERN_"))},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_AUTHOR_NAME": "Operator",
            "GIT_AUTHOR_EMAIL": "operator@example.org",
            "GIT_COMMITTER_NAME": "Operator",
            "GIT_COMMITTER_EMAIL": "operator@example.org",
        }

    def __enter__(self) -> Rig:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_all()

    # --- git ---

    def make_remote(self) -> None:
        """A bare repository and a clone of it with the tree in it, not pushed yet."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "--bare", "--initial-branch=main", str(self.remote), cwd=self.directory)
        self.git("init", "-q", "--initial-branch=main", str(self.work), cwd=self.directory)
        self.git("remote", "add", "origin", str(self.remote))
        shutil.copytree(self._tree, self.work, dirs_exist_ok=True)

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run git in the clone; its output."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.work,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Failed(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def push(self, message: str, changes: Mapping[str, tuple[str, str]] | None = None, *, branch: str = "main") -> str:
        """Commit (with replacements {path: (old text, new text)}) and push; the short commit."""
        for path, (old, new) in (changes or {}).items():
            file = self.work / path
            text = file.read_text()
            if old not in text:
                raise Failed(f"{path} has no {old!r}")
            file.write_text(text.replace(old, new))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        self.push_head(branch)
        return self.head()

    def push_head(self, branch: str = "main") -> None:
        """Push what is committed."""
        self.git("push", "-q", "origin", f"HEAD:{branch}")

    def head(self) -> str:
        """The short commit of the clone, as the controller labels it."""
        return self.git("rev-parse", "HEAD")[:8]

    # --- processes ---

    def up(self, before_minions: Callable[[Rig], None] = lambda _: None) -> None:
        """Remote, controller and minions, keys accepted and everyone connected; nothing is pushed yet.

        `before_minions` is called when minions are configured, and none has been started.
        """
        self.make_remote()
        self.start_controller()
        self.configure_minions()
        before_minions(self)
        for minion in self.minions:
            self.start_minion(minion)
        self.accept_all()
        self.wait(
            "all to connect",
            lambda: [each["connected"] for each in self.status().values()].count(True) == len(self.minions),
        )

    def configure(self, **controller: Any) -> None:
        """More options for the controller's configuration, from its next start on."""
        self._more |= controller

    def controller_setting(self, name: str) -> Any:
        """What the controller's configuration has for an option that was given to this rig."""
        return self._more[name]

    def start_controller(self, *, waits: bool = True) -> None:
        """Start it and wait until it answers, which one that does not lead never does."""
        publish, request, http = self._ports
        root = self.directory / "c"
        settings = {
            "interface": "127.0.0.1",
            "publish_port": publish,
            "ret_port": request,
            "http_port": http,
            "root_dir": str(root),
            "sock_dir": str(self.socket.parent),
            "gitfs_remotes": [{str(self.remote): [{"name": "states"}, {"root": "states"}, {"base": "main"}]}],
            "ext_pillar": [{"git": [{f"main {self.remote}": [{"root": "pillar"}, {"env": "base"}]}]}],
            **self._more,
        }
        self.config.mkdir(parents=True, exist_ok=True)
        (self.config / "controller").write_text(yaml.safe_dump(settings))
        self._start("controller", "controller", "-c", str(self.config))
        if waits:
            self.wait("the controller to answer", lambda: self.answers)

    @property
    def answers(self) -> bool:
        """Whether the controller can be asked."""
        port = int(self._more.get("http_port", self._ports[2]) or 0)
        with socket.socket(socket.AF_UNIX) as probe:
            if not self.socket.exists() or probe.connect_ex(str(self.socket)):
                return False
        with socket.socket() as probe:
            return not port or probe.connect_ex(("127.0.0.1", port)) == 0

    @property
    def socket(self) -> Path:
        """Where the controller answers; short, since the path of a unix socket may have 107 bytes only."""
        return self.directory / "c" / "run" / "controller.sock"

    @property
    def wire_ports(self) -> tuple[int, int]:
        """Publish and request port."""
        return self._ports[0], self._ports[1]

    @property
    def controller_key(self) -> str:
        """The controller's public key."""
        return str(self.ask("/keys/controller")["public"])

    @property
    def http(self) -> str:
        """Address of the hook and the metrics."""
        return f"http://127.0.0.1:{self._ports[2]}"

    def configure_minions(self) -> None:
        """Write the minions' configuration; the controller has to run, as they need its key."""
        key = self.controller_key
        publish, request, _ = self._ports
        for minion, grains in self.minions.items():
            folder = self.directory / minion
            folder.mkdir(exist_ok=True)
            settings = {
                "id": minion,
                "master": "127.0.0.1",
                "publish_port": publish,
                "master_port": request,
                "controller_key": key,
                "root_dir": str(folder / "agent"),
                "grains": {"root": str(self.root(minion)), **grains},
            }
            (folder / "minion").write_text(yaml.safe_dump(settings))

    def root(self, minion: str) -> Path:
        """Below which everything that this minion manages lies."""
        return self.directory / minion / "root"

    def start_minion(self, minion: str) -> None:
        """Start an agent."""
        self._start(minion, "minion", "-c", str(self.directory / minion))

    def start_stopped(self) -> None:
        """Start what a test has stopped or killed, and wait until all are connected."""
        if "controller" not in self._processes:
            self.start_controller()
        for minion in self.minions:
            if minion not in self._processes:
                self.start_minion(minion)
        self.wait("all to be there", lambda: all(each["connected"] for each in self.status().values()))

    def accept_all(self) -> None:
        """Wait until every minion has asked, then accept the keys."""
        if not self.minions:
            return
        self.wait("every minion to ask", lambda: len(self.keys("pending")) == len(self.minions))
        self._request("POST", "/keys/accept", json={"names": ["*"]})

    def keys(self, state: str) -> list[str]:
        """Ids of the keys in a state."""
        return [key["minion"] for key in self.ask("/keys") if key["state"] == state]

    def _start(self, name: str, *arguments: str, before: Sequence[str] = ()) -> None:
        """Start `saltern`; `before`: a command that executes it."""
        with (self.directory / f"{name}.log").open("ab") as log:
            if self._forked and not before:
                self._processes[name] = prepared.start(arguments, self._environment, log, log)
                return
            self._processes[name] = subprocess.Popen(
                [*before, *SALTERN, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )

    def pid(self, name: str) -> int:
        """Process id of `controller` or of a minion's agent."""
        return self._processes[name].pid

    def exit_code(self, name: str, within: float) -> int:
        """Of a process that ends within so many seconds; subprocess.TimeoutExpired when it does not."""
        return self._processes[name].wait(within)

    def kill(self, name: str, *, children: bool) -> None:
        """kill -9, of the process alone or with all that it started."""
        process = self._processes.pop(name)
        (os.killpg if children else os.kill)(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, name: str) -> None:
        """SIGTERM, and wait until the process is gone."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failed(f"{name} did not stop in 20 s") from None

    def stop_all(self) -> None:
        """End everything, minions first."""
        for name in sorted(self._processes, key=lambda name: name == "controller"):
            self._processes[name].terminate()
        for process in self._processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._processes.clear()

    def log(self, name: str, lines: int = 20) -> str:
        """The end of a process's log."""
        path = self.directory / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def long_turns(self, seconds: float = 1.0) -> list[str]:
        """Lines of the controller's log about turns of its event loop that computed for longer than this.

        The processor time of the loop's thread counts, not how long the turn took: other programs of the machine
        lengthen a turn, and compute nothing in it.
        """
        path = self.directory / "controller.log"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        stalls = [line for line in lines if 'event="event loop stalled"' in line]
        computed = {line: re.search(r" computed=([\d.]+)", line) for line in stalls}
        return [line for line, found in computed.items() if found is not None and float(found[1]) > seconds]

    # --- asking ---

    def saltern(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the command line against the controller."""
        words, environment = (*arguments, "-c", str(self.config)), {**self._environment, "NO_COLOR": "1"}
        if self._forked:
            done = prepared.run(words, environment)
        else:
            done = subprocess.run([*SALTERN, *words], env=environment, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise Failed(f"saltern {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def ask(self, path: str, **query: Any) -> Any:
        """Ask the controller by its API: what the command line does, without a process for each question."""
        return self._request("GET", path, params=query)

    def _request(self, method: str, path: str, **more: Any) -> Any:
        # Without `verify=False` the certificates of the system are read at each question, 24 ms of processor time.
        transport = httpx.HTTPTransport(uds=str(self.socket), verify=False)
        with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=30) as client:
            answer = client.request(method, path, **more)
            if answer.is_error:
                raise Failed(f"{path}: {answer.status_code} {answer.text}")
            return answer.json()

    def status(self) -> dict[str, dict[str, Any]]:
        """Status of each minion by id."""
        return {minion["minion"]: minion for minion in self.ask("/status")["minions"]}

    def remotes(self) -> list[dict[str, Any]]:
        """The git remotes as the controller sees them."""
        found: list[dict[str, Any]] = self.ask("/remotes")
        return found

    def history(self, minion: str | None = None, *, limit: int = 1000) -> list[dict[str, Any]]:
        """Runs, newest first."""
        found: list[dict[str, Any]] = self.ask("/history", limit=limit, **({"minion": minion} if minion else {}))
        return found

    def wait_applied(self, commit: str, minions: Sequence[str] | None = None, *, patience: float = PATIENCE) -> None:
        """Wait until these minions (None: all) have applied a commit and are well."""
        wanted = list(minions or self.minions)
        status: dict[str, dict[str, Any]] = {}

        def applied() -> bool:
            nonlocal status
            status = self.status()
            return all(
                name in status
                and status[name]["sync"] == "Synced"
                and status[name]["health"] == "Healthy"
                and status[name]["applied_revision"] == commit
                for name in wanted
            )

        try:
            self.wait(f"{', '.join(wanted)} to apply {commit}", applied, patience=patience)
        except Failed as error:
            found = json.dumps({name: status.get(name) for name in wanted}, default=str)
            runs = [self.history(name, limit=3) for name in wanted] if "controller ended" not in str(error) else []
            raise Failed(f"{error}\n--- status\n{found}\n--- newest runs\n{json.dumps(runs, default=str)}") from None

    def wait(self, what: str, condition: Callable[[], Any], *, patience: float = PATIENCE) -> Any:
        """Wait until a condition holds; Failed, with the ends of the logs, when it does not come to."""
        began = time.monotonic()
        while True:
            found = condition()
            if found:
                return found
            dead = [name for name, process in self._processes.items() if process.poll() is not None]
            waited = time.monotonic() - began
            if dead or waited > patience:
                why = f"{', '.join(dead)} ended" if dead else f"not within {patience:g} s"
                logs = "\n".join(f"--- {name}\n{self.log(name)}" for name in [*self._processes])
                raise Failed(f"waited for {what}: {why}\n{logs}")
            # A question takes the machine up to 15 ms of processor time, which what is waited for needs, too.
            time.sleep(min(0.1, 0.02 + waited / 20))


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody uses now, and that were not given to another part of the same test."""
    sockets: list[socket.socket] = []
    try:
        found: list[int] = []
        while len(found) < count:
            sockets.append(socket.socket())
            sockets[-1].bind(("127.0.0.1", 0))
            port = sockets[-1].getsockname()[1]
            if port not in _GIVEN_PORTS:
                found.append(port)
        _GIVEN_PORTS.extend(found)
        return found
    finally:
        for each in sockets:
            each.close()
