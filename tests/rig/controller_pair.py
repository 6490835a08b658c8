"""Two controllers of one remote, and a minion that has both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from rig import Rig

TREE = Path(__file__).parents[1] / "scenarios/tree"
EXAMPLES = Path(__file__).parents[2] / "examples/several-controllers"
MINIONS = {"web1": {"roles": ["web"]}}
HOSTS = ("127.0.0.1", "127.0.0.2")


class Pair:
    """Two controllers of one remote, on the same ports of two addresses; the minions are those of the first rig."""

    def __init__(
        self,
        folder: Path,
        example: str = "minion.conf",
        server: Any = None,
        *,
        tree: Path = TREE,
        minions: Mapping[str, Mapping[str, Any]] = MINIONS,
    ) -> None:
        self.server = server
        self.first = Rig(folder / "1", minions, tree, forked=True)
        self.second = Rig(folder / "2", {}, tree, forked=True)
        self._example = example

    def up(self) -> None:
        """Start all; no key is accepted."""
        self.first.make_remote()
        self.second.directory.mkdir()
        publish, request = self.first.wire_ports
        self.second.remote = self.first.remote
        if self.server is not None:
            self.second.remote = f"http://127.0.0.1:{self.server.port}/{self.first.remote.name}"
            self.second.configure(gitfs_update_interval=3600, git_pillar_update_interval=3600)
        self.second.configure(interface=HOSTS[1], publish_port=publish, ret_port=request)
        self.first.start_controller()
        self.second.start_controller()
        self.first.configure_minions()
        for minion in self.first.minions:
            self._configure(self.first.directory / minion / "minion")
            self.first.start_minion(minion)

    def _configure(self, path: Path) -> None:
        """The example, with the addresses and keys of these controllers."""
        keys = dict(zip(HOSTS, (self.first.controller_key, self.second.controller_key), strict=True))
        example = yaml.safe_load((EXAMPLES / self._example).read_text())
        given = yaml.safe_load(path.read_text()) | example | {"master": [*HOSTS], "controller_key": keys}
        given |= {"master_alive_interval": 1, "master_failback_interval": 1} if "master_type" in example else {}
        path.write_text(yaml.safe_dump(given))

    def connected(self, rig: Rig) -> bool:
        """Whether the minion is connected to the controller of a rig."""
        return bool(rig.status().get("web1", {}).get("connected", False))

    def wait_connected(self, rig: Rig) -> None:
        """Wait until it is."""
        rig.wait("web1 to be connected", lambda: self.connected(rig))
