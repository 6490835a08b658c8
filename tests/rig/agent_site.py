"""A controller, its gateway, and machines whose salt-minions, services of theirs, are replaced (`migrate agent`)."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from rig import SALTERN, Failed, Rig
from service_machine import ServiceMachine
from stock_minions import StockMinions

TREE = {
    "states/top.sls": "base:\n  '*':\n    - web\n",
    "states/web.sls": "{out}/{{{{ grains.id }}}}.conf:\n  file.managed:\n    - contents: {{{{ grains.role }}}} first\n",
    "pillar/top.sls": "base:\n  '*':\n    - all\n",
    "pillar/all.sls": "motto: {out}\n",
}


class AgentSite:
    """A controller, a gateway, and machines with a salt-minion each.

    Args:
        folder: of all of it.
        venv: with Salt.
        minions: ids, one a machine; what names no minion is of the first.
        package: have each salt-minion be a package of its machine.
        systemd: see `ServiceMachine`.
        come_seconds: that an agent may be away.
    """

    def __init__(
        self,
        folder: Path,
        venv: Path,
        minions: Sequence[str] = ("web1",),
        *,
        package: bool = False,
        systemd: bool = False,
        come_seconds: float = 120,
    ) -> None:
        self.out = folder / "out"
        self.out.mkdir()
        for path, text in TREE.items():
            (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / path).write_text(text.format(out=self.out))
        self.rig = Rig(folder / "rig", {}, folder / "tree", forked=True)
        self.rig.configure(limits={"replacement": {"come_seconds": come_seconds}})
        self.closing = contextlib.ExitStack()
        self.closing.callback(self.rig.stop_all)
        self.rig.up()
        self.stock = self.closing.enter_context(StockMinions(self.rig, folder / "stock"))
        self.machines = {
            minion: self.closing.enter_context(ServiceMachine(folder / f"machine-{minion}", systemd=systemd))
            for minion in minions
        }
        self.minion, *_ = minions
        self.machine = self.machines[self.minion]
        self.venv = venv
        self.package = package

    def start(self) -> None:
        """Until all are accepted and have what git says."""
        self.stock.start_gateway()
        for minion, machine in self.machines.items():
            self._start(minion, machine)
        names = set(self.machines)
        self.wait("the keys wait", lambda: names <= set(self.rig.keys("pending")))
        for minion in names:
            self.rig.saltern("key", "accept", minion)
        self.wait("they are connected", lambda: set(self.agents().values()) == {"salt"})
        self.head = self.push("first")

    def _start(self, minion: str, machine: ServiceMachine) -> None:
        settings = {
            "id": minion,
            "master": "127.0.0.1",
            "master_port": self.stock.ret_port,
            "publish_port": self.stock.publish_port,
            "acceptance_wait_time": 1,
            "random_reauth_delay": 1,
            "recon_default": 200,
            "recon_max": 1000,
            "mine_functions": {"test.ping": []},
            "grains": {"rack": "r7"},
        }
        machine.write("/etc/salt/minion", json.dumps(settings))
        machine.write("/etc/salt/grains", "role: web\n")
        command = f"{self.venv}/bin/salt-minion -c /etc/salt -l info"
        if self.package:
            machine.add_package("salt-minion", command)
        else:
            machine.add_service("salt-minion", command)

    def wait(self, what: str, condition: Callable[[], Any], patience: float = 180.0) -> Any:
        """As `StockMinions.wait`, with what the machines and the controller said."""

        def text() -> str:
            line = "tail -n 30 /var/log/salt-minion.out /var/log/saltern-minion.log"
            logs = "\n".join(each.run(line, check=False) for each in self.machines.values())
            return f"{what}\n{logs}\n{self.rig.log('controller')}"

        try:
            return self.stock.wait(what, condition, patience)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{text()}") from None

    def push(self, message: str, changes: Mapping[str, tuple[str, str]] | None = None) -> str:
        """Push, and wait until all have applied it; the commit."""
        head = self.rig.push(message, changes)
        self.rig.wait_applied(head, list(self.machines), patience=180)
        return head

    def agent(self, minion: str = "") -> str:
        """What agent is connected; empty: none."""
        minion = minion or self.minion
        found = self.rig.ask("/minions/presence")
        return next((row["agent"] for row in found if row["minion"] == minion and row["connected"]), "")

    def agents(self) -> dict[str, str]:
        """The kind of agent that answers for each minion; empty: none."""
        return {minion: self.agent(minion).partition(" ")[0] for minion in self.machines}

    def migrate(self, *words: str, code: int = 0, target: str = "") -> str:
        """What `saltern migrate agent` says, which has to end with this code."""
        done = self.rig.saltern("migrate", "agent", target or self.minion, *words, check=False)
        assert done.returncode == code, done.stdout + done.stderr + self.rig.log("controller", 60)
        return done.stdout + done.stderr

    def begin(self, *words: str) -> threading.Thread:
        """Ask for it, and wait for nothing."""
        thread = threading.Thread(target=lambda: self.rig.saltern("migrate", "agent", self.minion, *words, check=False))
        thread.start()
        return thread

    def asking(self, *words: str, target: str = "") -> subprocess.Popen[str]:
        """`saltern migrate agent`, a process to end."""
        return subprocess.Popen(
            [*SALTERN, "migrate", "agent", target or self.minion, *words, "-c", str(self.rig.config)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def steps(self) -> dict[str, str]:
        """How far each is; empty: the controller does not answer."""
        try:
            return {row["minion"]: row["step"] for row in self.rig.ask("/agents/replacements")}
        except (httpx.TransportError, Failed):
            return {}

    def step(self) -> str:
        """How far that of the first minion is; empty: the controller does not answer."""
        return self.steps().get(self.minion, "")

    def settle(self, to: str) -> None:
        """Wait until it has ended, and ask again where it has failed; whoever answers meanwhile is one."""
        words = ("--to", "salt") if to == "salt" else ()
        for _ in range(3):
            self.wait("it ends", lambda: self.step() in ("done", "failed"))
            assert self.rig.keys("accepted") == [self.minion]
            self.wait("an agent answers", self.agent)
            if self.agent().startswith(f"{to} ") and self.step() == "done":
                return
            self.rig.saltern("migrate", "agent", self.minion, *words, check=False)
        raise AssertionError(self.rig.ask("/agents/replacements"))

    def kill(self, victim: str) -> None:
        """kill -9, and start it as its machine would."""
        if victim == "controller":
            self.rig.kill("controller", children=True)
            self.rig.start_controller()
        elif victim == "gateway":
            self.stock.stop("gateway", signal.SIGKILL)
            self.stock.start_gateway()
        else:
            self.machine.kill(victim)
            self.machine.run(f"/etc/init.d/{victim} start >/dev/null 2>&1")
