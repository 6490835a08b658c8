"""A rig of three minions that are all behind one relay, configured as in the example."""

from __future__ import annotations

from pathlib import Path

import yaml
from rig import Rig, free_ports

from wire.keys import read_public

TREE = Path(__file__).parents[1] / "scenarios/tree"
EXAMPLE = Path(__file__).parents[2] / "examples/relay"
MINIONS = ("db1", "web1", "web2")


class RelayRig:
    """The rig of three minions, all behind one relay that is configured as in the example."""

    def __init__(self, folder: Path) -> None:
        self.rig = Rig(folder, {name: {"roles": [name[:-1]]} for name in MINIONS}, TREE, forked=True)
        (self.port,) = free_ports(1)

    def up(self) -> None:
        """Start all, with the relay and the minions accepted."""
        rig = self.rig
        rig.make_remote()
        rig.start_controller()
        folder = rig.directory / "relay"
        folder.mkdir()
        example = yaml.safe_load((EXAMPLE / "relay.conf").read_text())
        given = {
            "syndic_master": f"127.0.0.1:{rig.wire_ports[1]}",
            "controller_key": rig.controller_key,
            "interface": "127.0.0.1",
            "ret_port": self.port,
            "pki_dir": str(folder / "pki"),
        }
        (folder / "relay").write_text(yaml.safe_dump(example | given))
        self.start()
        rig.wait("the relay to ask", lambda: rig.keys("pending") == ["relay1"])
        rig.saltern("key", "accept", "relay1", "--yes")
        self.key = read_public((folder / "pki/relay.key").read_text())
        rig.configure_minions()
        for name in MINIONS:
            path = rig.directory / name / "minion"
            of_relay = {"master": f"127.0.0.1:{self.port}", "relay_key": self.key}
            example = yaml.safe_load((EXAMPLE / "minion.conf").read_text())
            path.write_text(yaml.safe_dump(example | yaml.safe_load(path.read_text()) | of_relay))
            rig.start_minion(name)
        rig.accept_all()

    def start(self) -> None:
        """Start the relay."""
        self.rig._start("relay", "relay", "-c", str(self.rig.directory / "relay"))
