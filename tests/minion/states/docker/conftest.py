"""A real Docker engine for each file of tests, and states against it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from docker_engine import DockerServer

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine


@pytest.fixture(scope="module")
def running_engine() -> Iterator[DockerServer]:
    """The engine."""
    made = DockerServer()
    yield made
    made.close()


@pytest.fixture
def engine(running_engine: DockerServer) -> DockerServer:
    """The same, with nothing but its image."""
    running_engine.clean()
    return running_engine


@pytest.fixture
def reached(engine: DockerServer) -> LocalMachine:
    """This machine, whose configuration names the engine."""
    return LocalMachine(sources_port=MemoryFiles({}), opts={"docker.url": engine.url})


class Docker:
    """The states, against the engine."""

    def __init__(self, converge: Callable[..., StateResult], machine: LocalMachine) -> None:
        self._converge = converge
        self._machine = machine

    def __call__(self, fun: str, name: str, **arguments: Any) -> StateResult:
        """Planned under test, done, and planned again."""
        return self._converge(f"docker_{fun}", name, machine=self._machine, **arguments)

    def once(self, fun: str, name: str, *, test: bool = False, **arguments: Any) -> StateResult:
        """Run once."""
        return self.together([(fun, name, arguments)], test=test)[0]

    def together(self, wanted: list[tuple[str, str, dict[str, Any]]], *, test: bool = False) -> list[StateResult]:
        """Several in one run, the arguments of each after the name."""
        chunks = {}
        for number, (fun, name, arguments) in enumerate(wanted):
            module, _, bare = f"docker_{fun}".partition(".")
            chunks[str(number)] = Chunk(
                state=module, fun=bare, id=str(number), name=name, sls="s", arguments=arguments, order=number
            )
        return list(run(chunks, StateEngine(self._machine, test=test), test=test, clock=lambda: 0.0).values())


@pytest.fixture
def docker(converge: Callable[..., StateResult], reached: LocalMachine) -> Docker:
    """docker("volume.present", name, **arguments)."""
    return Docker(converge, reached)
