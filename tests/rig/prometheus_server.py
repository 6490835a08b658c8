"""A real Prometheus on this machine with the rules of ops/prometheus, for tests of alerts. On the loopback alone."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from git_servers import locked, wait_for
from rig import free_ports

OPS = Path(__file__).parents[2] / "ops" / "prometheus"


PACKAGES = {"prometheus": "prometheus", "promtool": "prometheus", "alertmanager": "prometheus-alertmanager"}
"""Program -> Debian's package that has it."""


def find_program(name: str, cache: Path) -> str | None:
    """That of this machine, or Debian's, unpacked below `cache` without being installed; None where neither is.

    Args:
        name: one of `PACKAGES`.
        cache: a folder that is kept.
    """
    package = PACKAGES[name]
    debian = "prometheus-alertmanager" if name == "alertmanager" else name
    installed = shutil.which(name) or shutil.which(debian)
    if installed or shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return installed
    program = cache / "usr/bin" / debian
    with locked(cache):
        if not program.exists():
            subprocess.run(["apt-get", "-q", "download", package], cwd=cache, check=False, capture_output=True)
            for file in cache.glob(f"{package}_*.deb"):
                subprocess.run(["dpkg-deb", "-x", file, cache], check=False, capture_output=True)
    return str(program) if program.exists() else None


class Prometheus:
    """One that scrapes a controller."""

    def __init__(self, port: int) -> None:
        self._port = port

    def firing(self) -> dict[str, dict[str, Any]]:
        """Name -> labels and annotations of the alerts that fire."""
        answer = httpx.get(f"http://127.0.0.1:{self._port}/api/v1/alerts", timeout=30).raise_for_status().json()
        alerts = answer["data"]["alerts"]
        return {each["labels"]["alertname"]: each for each in alerts if each["state"] == "firing"}

    def scraped(self) -> bool:
        """Whether it has the controller's metrics."""
        found = httpx.get(
            f"http://127.0.0.1:{self._port}/api/v1/query", params={"query": "up == 1"}, timeout=30
        ).raise_for_status()
        return bool(found.json()["data"]["result"])


@contextlib.contextmanager
def prometheus(program: str, folder: Path, controller: str) -> Iterator[Prometheus]:
    """Prometheus with our configuration, but for the controller's address and how often it looks.

    Args:
        program: see `find_program`.
        folder: an empty one, for its files.
        controller: host and port of its metrics.
    """
    (port,) = free_ports(1)
    text = (OPS / "prometheus.yml").read_text()
    (folder / "prometheus.yml").write_text(text.replace("15s", "1s").replace("127.0.0.1:8765", controller))
    for rules in ("recording.yml", "alerts.yml"):
        shutil.copy(OPS / rules, folder)
    words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [program, *words, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, cwd=folder
        )
    try:
        wait_for(port, server)
        yield Prometheus(port)
    finally:
        server.terminate()
        server.wait()
