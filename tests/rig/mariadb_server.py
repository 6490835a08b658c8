"""A real MariaDB server on a socket of its own, without a network."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def is_there() -> bool:
    """Whether this machine has the programs."""
    return all(map(shutil.which, ("mariadbd", "mariadb-install-db")))


class MariadbServer:
    """`socket` is where it answers root, who needs no password."""

    def __init__(self) -> None:
        base = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="saltern-my-", dir=base))
        self.socket = str(self._folder / "s")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        data, size = f"--datadir={self._folder}/data", "--innodb-log-file-size=4M"
        install = ["mariadb-install-db", "--no-defaults", data, size, "--user=root", "--skip-test-db"]
        subprocess.run([*install, "--auth-root-authentication-method=normal"], check=True, **quiet)
        self._server = subprocess.Popen(
            ["mariadbd", "--no-defaults", data, size, "--user=root", f"--socket={self.socket}", "--skip-networking"],
            **quiet,
        )
        end = time.monotonic() + 60
        while not Path(self.socket).exists():
            assert time.monotonic() < end, "MariaDB does not answer"
            time.sleep(0.02)

    def close(self) -> None:
        """End it and remove its folder."""
        self._server.kill()
        self._server.wait()
        shutil.rmtree(self._folder)
