"""A real sshd of a test: its own port, host key and authorized keys."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rig import free_ports

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class SshServer:
    """An sshd; whoever has a key of `authorized_keys` comes in as the user of the test.

    Args:
        folder: of its files; made.
        options: lines of its configuration beside the usual ones.
        before: a command that executes it.
    """

    def __init__(self, folder: Path, *options: str, before: Sequence[str] = ()) -> None:
        assert SSHD is not None, "sshd is not installed"
        self.port = free_ports(1)[0]
        self.host_key = folder / "host_key"
        self.authorized_keys = folder / "authorized_keys"
        self._folder, self._before = folder, before
        folder.mkdir(mode=0o700)
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.host_key)]
        subprocess.run(keygen, check=True)
        self.authorized_keys.touch(mode=0o600)
        # The first line of a name counts.
        lines = [
            *options,
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {self.authorized_keys}",
            f"PidFile {folder}/pid",
            "StrictModes no",
            "PasswordAuthentication no",
            "MaxStartups 200",
            "MaxSessions 200",
            "AllowTcpForwarding no",
            "AllowStreamLocalForwarding no",
        ]
        (folder / "config").write_text("\n".join(lines) + "\n")

    def __enter__(self) -> SshServer:
        with contextlib.suppress(PermissionError):  # root's alone wants it
            Path("/run/sshd").mkdir(exist_ok=True)
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*self._before, str(SSHD), "-D", "-e", "-f", str(self._folder / "config")], stdout=log, stderr=log
            )
        deadline = time.monotonic() + 10
        while subprocess.run(["ssh-keyscan", "-p", str(self.port), "127.0.0.1"], capture_output=True).stdout == b"":
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.05)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait()

    def log(self) -> str:
        """What it says."""
        return (self._folder / "log").read_text()
