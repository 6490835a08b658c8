"""Prometheus, Alertmanager and node_exporter with the files of ops/prometheus, on the loopback alone."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import yaml
from git_servers import locked, wait_for
from rig import free_ports

OPS = Path(__file__).parents[2] / "ops" / "prometheus"


PACKAGES = {
    "prometheus": ("prometheus", "prometheus"),
    "promtool": ("promtool", "prometheus"),
    "alertmanager": ("prometheus-alertmanager", "prometheus-alertmanager"),
    "amtool": ("amtool", "prometheus-alertmanager"),
    "node_exporter": ("prometheus-node-exporter", "prometheus-node-exporter"),
}
"""Program -> its name in Debian, and the package that has it."""


def find_program(name: str, cache: Path) -> str | None:
    """That of this machine, or Debian's, unpacked below `cache` without being installed; None where neither is.

    Args:
        name: one of `PACKAGES`.
        cache: a folder that is kept.
    """
    debian, package = PACKAGES[name]
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
        alerts = self._ask("alerts")["alerts"]
        return {each["labels"]["alertname"]: each for each in alerts if each["state"] == "firing"}

    def query(self, expr: str) -> list[dict[str, Any]]:
        """What a query gives now: label -> value, and the value, of each series."""
        found: list[dict[str, Any]] = self._ask("query", query=expr)["result"]
        return found

    def exemplars(self, expr: str) -> list[dict[str, Any]]:
        """Series of an expression, each with the exemplars of the last hour."""
        answer: Any = self._ask("query_exemplars", query=expr, start="0", end="9999999999")
        return list(answer)

    def scraped(self) -> bool:
        """Whether it has the metrics of all that it scrapes; not before it has read its own log."""
        if httpx.get(f"http://127.0.0.1:{self._port}/-/ready", timeout=30).is_error:
            return False
        return bool(self.query("up == 1")) and not self.query("up == 0")

    def _ask(self, what: str, **parameters: str) -> Any:
        address = f"http://127.0.0.1:{self._port}/api/v1/{what}"
        return httpx.get(address, params=parameters, timeout=30).raise_for_status().json()["data"]


@contextlib.contextmanager
def prometheus(
    program: str,
    folder: Path,
    controller: str,
    *,
    minions: Sequence[str] = (),
    alertmanager: str = "",
    at_once: bool = False,
) -> Iterator[Prometheus]:
    """Prometheus with our configuration, but for addresses and how often it looks.

    Args:
        program: see `find_program`.
        folder: an empty one, for its files.
        controller: host and port of its metrics.
        minions: host and port of their node_exporters.
        alertmanager: host and port of it; empty: there is none.
        at_once: alerts fire without waiting (`for`), whose times promtool tests.
    """
    (port,) = free_ports(1)
    config = yaml.safe_load((OPS / "prometheus.yml").read_text().replace("15s", "1s"))
    targets = {"saltern": [controller], "saltern-minions": list(minions)}
    for scrape in config["scrape_configs"]:
        scrape["static_configs"][0]["targets"] = targets[scrape["job_name"]]
    config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [alertmanager] if alertmanager else []
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    for rules in ("recording.yml", "alerts.yml"):
        text = (OPS / rules).read_text()
        (folder / rules).write_text(re.sub(r"(?m)^ +for: .*\n", "", text) if at_once else text)
    words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    words += ["--enable-feature=exemplar-storage", f"--web.listen-address=127.0.0.1:{port}"]
    with _running([program, *words], folder, port):
        yield Prometheus(port)


@contextlib.contextmanager
def node_exporter(program: str, folder: Path, textfiles: Path) -> Iterator[str]:
    """node_exporter with its textfile collector alone; host and port.

    Args:
        program: see `find_program`.
        folder: for its log.
        textfiles: where files of metrics are.
    """
    (port,) = free_ports(1)
    words = ["--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={textfiles}"]
    with _running([program, *words, f"--web.listen-address=127.0.0.1:{port}"], folder, port):
        yield f"127.0.0.1:{port}"


class Receiver:
    """What Alertmanager's webhooks deliver to."""

    def __init__(self) -> None:
        self._told: list[tuple[str, dict[str, Any]]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver._told.append((self.path.strip("/"), json.loads(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def told(self, status: str) -> dict[str, tuple[str, dict[str, Any]]]:
        """Name of each alert that came as `firing` or `resolved` -> the receiver, and the newest such."""
        return {
            alert["labels"]["alertname"]: (receiver, alert)
            for receiver, message in list(self._told)
            for alert in message["alerts"]
            if alert["status"] == status
        }


@contextlib.contextmanager
def alertmanager(program: str, folder: Path, receiver: Receiver) -> Iterator[str]:
    """Alertmanager with our configuration, but for the receivers' address and its waits; host and port.

    Args:
        program: see `find_program`.
        folder: an empty one, for its files.
        receiver: is delivered to.
    """
    (port,) = free_ports(1)
    text = (OPS / "alertmanager.yml").read_text().replace("127.0.0.1:9099", f"127.0.0.1:{receiver.port}")
    text = re.sub(r"(group_wait|group_interval): \w+", r"\1: 1s", text)
    (folder / "alertmanager.yml").write_text(text)
    words = [f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/data", "--cluster.listen-address="]
    command = [*_with_templates(program), program, *words, f"--web.listen-address=127.0.0.1:{port}"]
    with _running(command, folder, port):
        yield f"127.0.0.1:{port}"


def _with_templates(program: str) -> list[str]:
    """What starts Debian's Alertmanager that is not installed: it reads its templates in /usr/share."""
    if Path("/usr/share/prometheus/alertmanager/default.tmpl").exists():
        return []
    mounted = f'mount --bind "{Path(program).parents[1]}/share" /usr/share && exec "$@"'
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *as_root, "--mount", "--propagation", "private", "sh", "-c", mounted, "sh"]


def can_start(alertmanager: str) -> bool:
    """Whether this machine lets Alertmanager be started that is not installed: it needs a mount namespace."""
    command = [*_with_templates(alertmanager), "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def _running(words: list[str], folder: Path, port: int) -> Iterator[None]:
    """A server, until the end of the block; its port is open by then."""
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(port, server)
        yield
    finally:
        server.terminate()
        server.wait()
