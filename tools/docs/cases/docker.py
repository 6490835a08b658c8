"""Cases of the states of containers: on a Docker engine of their own, Debian's dockerd, with an image of busybox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, Case, serving

_URL = f"unix://{BESIDE}/sock"
_DOCKER = f"docker -H {_URL}"
_ENGINE = serving(
    f"dockerd --data-root {BESIDE}/root --exec-root {BESIDE}/exec -p {BESIDE}/docker.pid -H {_URL} "
    "--storage-driver vfs --iptables=false --bridge=none",
    f"{_DOCKER} version",
)
_IMAGE = (
    f"mkdir -p {BESIDE}/fs/bin && cp $(command -v busybox) {BESIDE}/fs/bin/busybox && cd {BESIDE}/fs/bin && "
    "for one in sh sleep echo true false; do ln -s busybox $one; done",
    f"tar -C {BESIDE}/fs -c . | {_DOCKER} import - base:1",
)
_ENDED = (
    f"{_DOCKER} rm -f $({_DOCKER} ps -aq); kill $(cat {BESIDE}/docker.pid); "
    f"n=0; while [ -e {BESIDE}/docker.pid ] && [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.1; done; "
    f"umount -R -q {BESIDE}/exec/netns; umount -l $(realpath {BESIDE})/root"
)


def _docker(fun: str, name: str, *commands: str, **arguments: Any) -> Case:
    """A case on an engine that has carried out these commands."""
    return Case(
        acts_always=fun == "container.run",
        fun=f"docker_{fun}",
        name=name,
        arguments=arguments,
        opts={"docker.url": _URL},
        environment={"DOCKER_HOST": _URL},
        before=(_ENGINE, *_IMAGE, *(f"{_DOCKER} {command}" for command in commands)),
        after=(_ENDED,),
        needs=("docker.io", "busybox-static"),
    )


_SLEEPS = {"image": "base:1", "command": "sleep 600", "stop_signal": "KILL", "network_mode": "none"}
_RUNS = "run -d --name case --network none --stop-signal KILL %s base:1 sleep 600"

CASES: tuple[Case, ...] = (
    _docker("image.present", "base", "save -o {top}/image base:1", "rmi base:1", load="{top}/image", tag="1"),
    _docker("image.present", "base:1"),
    _docker("image.absent", "base:1"),
    _docker("volume.present", "case", driver="local"),
    _docker("volume.present", "case", "volume create case"),
    _docker("volume.absent", "case", "volume create case"),
    _docker("container.running", "case", **_SLEEPS, environment=[{"A": "1"}]),
    _docker("container.running", "case", _RUNS % "-e A=1", **_SLEEPS, environment=[{"A": "1"}]),
    _docker("container.running", "case", _RUNS % "-e A=1", **_SLEEPS, environment=[{"A": "2"}]),
    _docker("container.stopped", "case", _RUNS % ""),
    _docker("container.absent", "case", _RUNS % "", force=True),
    _docker("container.run", "case", image="base:1", command="true", network_mode="none", replace=True),
)
WITHOUT: Mapping[str, str] = {
    f"docker_network.{fun}": "needs a Docker engine with networks; tried on a real one, Debian's dockerd"
    for fun in ("absent", "present")
}
"""State functions that no case can run, and why."""
