"""A Docker engine of the tests: Debian's dockerd on a socket of its own, without a bridge and without a registry.

Its one image holds busybox alone.
"""

import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

BUSYBOX = next((path for path in ("/bin/busybox", "/usr/bin/busybox") if Path(path).exists()), None)
PROGRAMS = ("sh", "sleep", "cat", "echo", "env", "true", "false", "test", "ls")
IMAGE = "base:1"


class DockerServer:
    """The engine; pytest skips where it cannot run."""

    def __init__(self) -> None:
        if os.geteuid() != 0:
            pytest.skip("a Docker engine of one's own needs root")
        if shutil.which("dockerd") is None or BUSYBOX is None:
            pytest.skip("there is no dockerd, or no busybox for an image: install docker.io and busybox-static")
        docker = pytest.importorskip("docker")
        self.folder = Path(tempfile.mkdtemp(prefix="saltern-docker-"))
        self.url = f"unix://{self.folder}/sock"
        self._log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(
            ["dockerd", "--data-root", self.folder / "root", "--exec-root", self.folder / "exec", "-p",
             self.folder / "pid", "-H", self.url, "--storage-driver", "vfs", "--iptables=false", "--bridge=none"],
            stdout=self._log, stderr=self._log,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not (self.folder / "sock").exists() and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if not (self.folder / "sock").exists():
            said = (self.folder / "log").read_text()[-500:]
            self.close()
            pytest.skip(f"dockerd does not run here: {said}")
        self.client = docker.APIClient(base_url=self.url, version="auto")
        self.client.import_image_from_data(file_system(), repository="base", tag="1")

    def container(self, name: str, *, start: bool = True, image: str = IMAGE, **options: Any) -> str:
        """A container that sleeps; its ID."""
        made = self.client.create_container(image, command=["sleep", "600"], name=name, stop_signal="KILL", **options)
        if start:
            self.client.start(made["Id"])
        return str(made["Id"])

    def clean(self) -> None:
        """As at its start."""
        for one in self.client.containers(all=True):
            self.client.remove_container(one["Id"], force=True, v=True)
        for one in self.client.networks():
            if one["Name"] not in ("bridge", "host", "none"):
                self.client.remove_network(one["Id"])
        for one in self.client.volumes()["Volumes"] or ():
            self.client.remove_volume(one["Name"], force=True)
        for one in self.client.images():
            for tag in one["RepoTags"] or ():
                if tag == "<none>:<none>":
                    self.client.remove_image(one["Id"], force=True)
                elif tag != IMAGE:
                    self.client.remove_image(tag, force=True)

    def close(self) -> None:
        """End it."""
        if hasattr(self, "client"):
            self.clean()
            self.client.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)
        self._log.close()
        subprocess.run(["umount", "-R", "-q", self.folder / "exec" / "netns"], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def file_system() -> bytes:
    """The archive of a file system with busybox."""
    made = io.BytesIO()
    assert BUSYBOX is not None
    with tarfile.open(fileobj=made, mode="w") as archive:
        for folder in ("bin", "tmp", "data"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        archive.add(BUSYBOX, "bin/busybox")
        for name in PROGRAMS:
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return made.getvalue()
