"""A real InfluxDB server of version 1 on a port of its own."""

import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from rig import free_ports

_CONFIGURATION = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
[http]
  bind-address = "127.0.0.1:{port}"
  auth-enabled = {auth}
  log-enabled = false
[monitor]
  store-enabled = false
"""


class InfluxdbServer:
    """`port` is where it answers. `auth`: whether it asks for passwords; then `root` with `root` may do everything."""

    def __init__(self, *, auth: bool) -> None:
        base = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="saltern-influx-", dir=base))
        self.port, rpc = free_ports(2)
        configuration = self._folder / "influxdb.conf"
        text = _CONFIGURATION.format(folder=self._folder, port=self.port, rpc=rpc, auth=str(auth).lower())
        configuration.write_text(text)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._server = subprocess.Popen([shutil.which("influxd"), "-config", str(configuration)], **quiet)
        end = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < end, "InfluxDB does not answer"
            time.sleep(0.05)
        if auth:  # the first user is made without a password
            body = b"q=CREATE USER root WITH PASSWORD 'root' WITH ALL PRIVILEGES"
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/query", body, timeout=30).close()

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=10).close()
        except OSError:
            return False
        return True

    def close(self) -> None:
        """End it and remove its folder."""
        self._server.kill()
        self._server.wait()
        shutil.rmtree(self._folder)
