"""Real controllers of one PostgreSQL database, each on an address of its own, and minions that know some of them."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import yaml
from postgres_server import PostgresServer
from rig import Failed, Rig, free_ports

TREE = Path(__file__).parents[1] / "scenarios/tree"


class Cluster:
    """The controllers, with one key and one database.

    Args:
        folder: where everything goes.
        controllers: how many; each listens on an address of the loopback.
        minions: id -> indexes of the controllers that it knows.
        settings: more options of the controllers.
    """

    def __init__(
        self,
        folder: Path,
        controllers: int,
        minions: Mapping[str, Sequence[int]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.server = PostgresServer()
        self.known = dict(minions)
        self.hosts = tuple(f"127.0.0.{number}" for number in range(1, controllers + 1))
        self.rigs = [
            Rig(folder / str(at), {name: {"roles": ["web"]} for name in minions} if at == 0 else {}, TREE, forked=True)
            for at in range(controllers)
        ]
        publish, request = self.rigs[0].wire_ports
        self.server.new_database("saltern")
        self._ways = [folder / f"database{at}" for at in range(controllers)]
        shared = {"publish_port": publish, "ret_port": request, **(settings or {})}
        for at, (rig, pool) in enumerate(zip(self.rigs, free_ports(controllers), strict=True)):
            self.let_in(at)
            self.server.run(f"CREATE ROLE controller{at} SUPERUSER LOGIN")
            url = f"postgresql://controller{at}@/saltern?host={self._ways[at]}"
            rig.configure(**shared, store_url=url, interface=self.hosts[at], cluster_pool_port=pool)

    def up(self) -> None:
        """Start the first controller, which leads, then minions that know it; others are started with the others."""
        first = self.rigs[0]
        first.make_remote()
        first.start_controller()
        first.configure_minions()
        for name, known in self.known.items():
            path = first.directory / name / "minion"
            hosts = [self.hosts[at] for at in known]
            given = yaml.safe_load(path.read_text())
            given |= {"master": hosts[0]} if len(hosts) == 1 else {"master": hosts, "master_type": "failover"}
            path.write_text(yaml.safe_dump(given | {"master_alive_interval": 1}))
        for rig in self.rigs[1:]:
            rig.directory.mkdir()
            rig.remote = first.remote
            shutil.copytree(first.directory / "c/etc/saltern/pki", rig.directory / "c/etc/saltern/pki")

    def start_minions(self) -> None:
        """Start all minions, and accept their keys."""
        first = self.rigs[0]
        for name in self.known:
            first.start_minion(name)
        first.accept_all()

    def start_waiting(self, *indexes: int) -> None:
        """Start controllers that wait; they answer afterwards, and pass minions on."""
        for at in indexes:
            self.rigs[at].start_controller()
        for at in indexes:
            self.rigs[at].wait("minions to be passed on", partial(self._listens, at))

    def _listens(self, at: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.hosts[at], self.rigs[0].wire_ports[1])) == 0

    def cut_off(self, at: int) -> None:
        """Take the database away from one controller; the others have it."""
        self._ways[at].unlink()
        self.server.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'controller{at}'")

    def let_in(self, at: int) -> None:
        """Give it back: each controller has a way of its own to the server's socket."""
        self._ways[at].symlink_to(self.server.folder)

    def leads(self, at: int) -> bool:
        """Whether this controller says that it leads."""
        try:
            return httpx.get(f"{self.rigs[at].http}/leader", timeout=2, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def wait_leader(self, *among: int) -> tuple[int, float]:
        """Which of these leads, and the seconds until it did."""
        began = time.monotonic()
        while time.monotonic() < began + 60:
            for at in among:
                if self.leads(at):
                    return at, time.monotonic() - began
            time.sleep(0.02)
        raise Failed("none leads\n" + "\n".join(self.rigs[at].log("controller") for at in among))

    def metric(self, at: int, name: str) -> float:
        """The value of a series without labels."""
        text = httpx.get(f"{self.rigs[at].http}/metrics", timeout=10, trust_env=False).text
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} "))

    def stop(self) -> None:
        """End all."""
        for rig in self.rigs:
            rig.stop_all()
        self.server.close()
