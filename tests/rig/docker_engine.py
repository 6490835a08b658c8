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
ENGINE = os.environ.get("SALTERN_DOCKER_ENGINE", "dockerd")
"""`podman`: the same tests against podman's socket (docs/containers.md says which differ)."""

PATIENCE = 180
"""Seconds until it listens, and for each answer: the first comes when all of it has started."""


def _dockerd(folder: Path, url: str) -> list[str]:
    places = ["--data-root", f"{folder}/root", "--exec-root", f"{folder}/exec", "-p", f"{folder}/pid", "-H", url]
    return ["dockerd", *places, "--storage-driver", "vfs", "--iptables=false", "--bridge=none"]


def _podman(folder: Path, url: str) -> list[str]:
    places = ["--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
    # It asks for more files and processes than every machine lets it have; crun wants cgroups of one version.
    (folder / "containers.conf").write_text(
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\nipcns = "private"\n'
        '[engine]\nruntime = "runc"\n'
    )
    podman = ["env", f"CONTAINERS_CONF={folder}/containers.conf", "podman", *places]
    return [*podman, "--cgroup-manager", "cgroupfs", "system", "service", "--time", "0", url]


_COMMANDS = {"dockerd": _dockerd, "podman": _podman}


class DockerServer:
    """The engine (`dockerd` or `podman`); pytest skips where it cannot run."""

    def __init__(self, engine: str = ENGINE) -> None:
        if os.geteuid() != 0:
            pytest.skip("a Docker engine of one's own needs root")
        if shutil.which(engine) is None or BUSYBOX is None:
            pytest.skip(f"there is no {engine}, or no busybox for an image: install docker.io and busybox-static")
        docker = pytest.importorskip("docker")
        self.folder = Path(tempfile.mkdtemp(prefix="saltern-docker-"))
        self.url = f"unix://{self.folder}/sock"
        self._log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(_COMMANDS[engine](self.folder, self.url), stdout=self._log, stderr=self._log)
        deadline = time.monotonic() + PATIENCE
        while not (self.folder / "sock").exists() and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if not (self.folder / "sock").exists():
            said = (self.folder / "log").read_text()[-500:]
            self.close()
            pytest.skip(f"{engine} does not run here: {said}")
        self.client = docker.APIClient(base_url=self.url, version="auto", timeout=PATIENCE)
        self.client.import_image_from_data(file_system(), repository="base", tag="1")
        if engine == "podman":  # which does not hear of the tag
            self.client.tag("base:latest", "base", "1")
            self.client.remove_image("base:latest", noprune=True)

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
            if one["Name"] not in ("bridge", "host", "none", "podman"):
                self.client.remove_network(one["Id"])
        for one in self.client.volumes()["Volumes"] or ():
            self.client.remove_volume(one["Name"], force=True)
        for one in self.client.images():
            for tag in one["RepoTags"] or ():
                if tag == "<none>:<none>":
                    self.client.remove_image(one["Id"], force=True)
                elif tag.removeprefix("docker.io/library/") != IMAGE:
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
