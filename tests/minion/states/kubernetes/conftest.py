"""An API server for each file of tests, and states against it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes_api import KubernetesApi

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine


@pytest.fixture(scope="module")
def running_server() -> Iterator[KubernetesApi]:
    """The server."""
    made = KubernetesApi()
    yield made
    made.close()


@pytest.fixture
def server(running_server: KubernetesApi, monkeypatch: pytest.MonkeyPatch) -> KubernetesApi:
    """The same, as at its start."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running_server.clean()
    return running_server


class Kubernetes:
    """The states, against the server."""

    def __init__(self, converge: Callable[..., StateResult], server: KubernetesApi) -> None:
        self.files: dict[str, bytes] = {}
        self.opts: dict[str, Any] = {"kubernetes.kubeconfig": str(server.kubeconfig())}
        self._converge = converge
        self._server = server

    @property
    def machine(self) -> LocalMachine:
        """This machine, whose configuration names the server."""
        return LocalMachine(sources_port=MemoryFiles({"base": self.files}), opts=self.opts, pillar={"name": "nginx"})

    def __call__(self, fun: str, name: str, **arguments: Any) -> StateResult:
        """Planned under test, done, and planned again: under test nothing comes of it."""
        before = len(self._server.changed())
        self.once(fun, name, test=True, **arguments)
        assert self._server.changed()[before:] == []
        return self._converge(f"kubernetes.{fun}", name, machine=self.machine, **arguments)

    def once(self, fun: str, name: str, *, test: bool = False, **arguments: Any) -> StateResult:
        """Run once."""
        return self.together([(fun, name, arguments)], test=test)[0]

    def together(self, wanted: list[tuple[str, str, dict[str, Any]]], *, test: bool = False) -> list[StateResult]:
        """Several in one run, the arguments of each after the name."""
        chunks = {
            str(number): Chunk(
                state="kubernetes", fun=fun, id=str(number), name=name, sls="s", arguments=arguments, order=number
            )
            for number, (fun, name, arguments) in enumerate(wanted)
        }
        return list(run(chunks, StateEngine(self.machine, test=test), test=test, clock=lambda: 0.0).values())


@pytest.fixture
def kubernetes(converge: Callable[..., StateResult], server: KubernetesApi) -> Kubernetes:
    """kubernetes("deployment_present", name, **arguments)."""
    return Kubernetes(converge, server)
