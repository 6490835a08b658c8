"""A real salt-master of a test, with folders of its own: what a fleet has before it moves.

Salt is that of a virtualenv of `stock_minions.salt_venvs`; nothing of it is imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil


class SaltMaster:
    """A master and its commands.

    Args:
        venv: with salt-master.
        folder: of all its files; made.
        tree: has the folders `states` and `pillar`.
        ports: `publish_port` and `ret_port`, on 127.0.0.1.
    """

    def __init__(self, venv: Path, folder: Path, tree: Path, ports: tuple[int, int]) -> None:
        self._venv = venv
        self.folder = folder
        self.config = folder / "etc"
        self.publish_port, self.ret_port = ports
        self._process: subprocess.Popen[bytes] | None = None
        self.config.mkdir(parents=True)
        (self.config / "master").write_text(
            json.dumps(
                {
                    "interface": "127.0.0.1",
                    "publish_port": self.publish_port,
                    "ret_port": self.ret_port,
                    "root_dir": str(folder),
                    "pki_dir": str(folder / "pki"),
                    "user": "root" if os.geteuid() == 0 else os.environ.get("USER", ""),
                    "auto_accept": True,
                    "worker_threads": 3,
                    "file_roots": {"base": [str(tree / "states")]},
                    "pillar_roots": {"base": [str(tree / "pillar")]},
                    "timeout": 30,
                }
            )
        )

    def __enter__(self) -> SaltMaster:
        with (self.folder / "master.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._venv / "bin/salt-master"), "-c", str(self.config), "-l", "info"],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while not self.key.exists():
            assert time.monotonic() < deadline, (self.folder / "master.log").read_text(errors="replace")[-3000:]
            time.sleep(0.1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            processes = [self._process, *psutil.Process(self._process.pid).children(recursive=True)]
            for each in processes:
                each.kill()
            self._process.wait()

    @property
    def key(self) -> Path:
        """Its private key."""
        return self.folder / "pki/master.pem"

    def salt(self, *words: str) -> dict[str, Any]:
        """What `salt` returns: minion -> value; nothing where none answers."""
        program = [str(self._venv / "bin/salt"), "-c", str(self.config), "--out", "json", "--static", *words]
        done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)
        try:
            found = json.loads(done.stdout or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}
