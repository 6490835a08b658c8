"""A RabbitMQ broker of its own node name, folders and ports, started as the packages start it.

As root it runs as the user `rabbitmq`, as Debian's programs expect it; else as the user of the tests.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from rig import free_ports

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
HOME = "/var/lib/rabbitmq"


class RabbitmqServer:
    """`environment` is what the programs need to reach it."""

    def __init__(self, name: str, epmd: int) -> None:
        self.node = f"{name}@localhost"
        self.folder = Path(tempfile.mkdtemp(prefix="saltern-rabbit-"))
        self.environment = {
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "none"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_NODE_PORT": str(free_ports(1)[0]),
            "RABBITMQ_DIST_PORT": str(free_ports(1)[0]),
            "ERL_EPMD_PORT": str(epmd),
        }
        as_user = ["setpriv", "--reuid=rabbitmq", "--regid=rabbitmq", "--clear-groups"] if os.geteuid() == 0 else []
        if as_user:
            shutil.chown(self.folder, "rabbitmq", "rabbitmq")
        self.out = (self.folder / "out").open("w")
        self.process = subprocess.Popen(
            [*as_user, str(PROGRAM)], stdout=self.out, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, **self.environment, **({"HOME": HOME} if as_user else {})},
        )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + 120
        while "completed with" not in (said := (self.folder / "out").read_text()):
            assert self.process.poll() is None, said
            assert time.monotonic() < end, f"RabbitMQ does not start: {said}"
            time.sleep(0.1)

    def close(self) -> None:
        """End it; its port mapper goes by `end_epmd`."""
        self.process.terminate()
        self.process.wait(60)
        self.out.close()
        shutil.rmtree(self.folder)


def end_epmd(epmd: int) -> None:
    """End the port mapper that the first broker started."""
    subprocess.run(["epmd", "-port", str(epmd), "-kill"], check=False, capture_output=True)
