"""The connection to a Docker engine: Docker's SDK for Python, imported where a state or function needs it.

Called by the states and the execution functions. An engine that cannot be asked is a failure with what to do.
Behaviour: doc/ref/modules/all/salt.modules.dockermod, "Docker Authentication" and the options `docker.url`,
`docker.version`.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from minion.machine.configured import configured
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Reader

CLIENT_TIMEOUT = 60.0
"""Seconds that an answer may take."""
SHUTDOWN_TIMEOUT = 10
"""Seconds that a container has to stop, where its own configuration says nothing."""
_BRINGING = re.compile(r"archive|cmd|file|module|pip|pkg|pkgrepo|service|user|docker_\w+")
"""State modules that may bring what lacks: the SDK, the engine, an image, a network."""
_NOT_FOUND = 404
_WITH_LOGINS = ("build", "pull", "push")
"""Methods that use the logins of registries, which an earlier state may have written."""
_SOCKET = "unix:///var/run/docker.sock"


class EngineRefused(StateFailed):
    """The engine answers with an error."""

    def __init__(self, status: int, explanation: str) -> None:
        super().__init__(f"Error {status}: {explanation}")
        self.status = status
        self.explanation = explanation

    @property
    def is_missing(self) -> bool:
        """Whether there is no such thing."""
        return self.status == _NOT_FOUND


class DockerEngine:
    """An engine, reached as the configuration says."""

    def __init__(
        self, machine: Reader, *, to_come: Collection[tuple[str, str]] = (), timeout: float = CLIENT_TIMEOUT
    ) -> None:
        """Raises StateFailed where there is no SDK or no engine; ContentUnknown where the run may bring them."""
        self._to_come = to_come
        try:
            import docker  # a tenth of a second, and 20 MiB
        except ImportError:
            raise self.lacking(
                "the Docker SDK for Python is not installed: install saltern[docker], or the Python package docker"
            ) from None
        self._errors = docker.errors
        if configured(machine, "docker.machine", None):
            raise StateFailed("docker.machine is not supported: give the engine's address as docker.url")
        url = str(configured(machine, "docker.url", None) or os.environ.get("DOCKER_HOST") or _SOCKET)
        if url.startswith("unix://") and machine.stat(f"/{url.removeprefix('unix://').lstrip('/')}") is None:
            raise self.lacking(f"the Docker engine at {url} does not answer: there is no such socket")
        version = configured(machine, "docker.version", None) or "auto"
        try:
            self._client = _client(url, str(version), timeout)
        except self._errors.DockerException as error:
            raise self.lacking(f"the Docker engine at {url} does not answer: {error}") from None

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """What a method of the SDK's `APIClient` returns; all of what it would yield. Each answer has an end.

        Raises:
            EngineRefused: the engine answers with an error.
            StateFailed: it does not answer, or the SDK does not take the arguments.
        """
        from minion.providers.docker.bounded_client import gathered

        try:
            if method in _WITH_LOGINS:
                self._client.reload_config()
            said = getattr(self._client, method)(*args, **kwargs)
            return list(gathered(said)) if isinstance(said, Iterator) else said
        except self._errors.APIError as error:
            raise EngineRefused(error.response.status_code, str(error.explanation)) from None
        except (self._errors.DockerException, TypeError, ValueError, OSError) as error:
            _client.cache_clear()  # an engine that comes again may be another one
            raise StateFailed(f"Unable to perform {method}: {error}") from None
        finally:
            self._client.close()  # of its connections alone: the next call makes one again

    def found(self, method: str, name: str) -> Mapping[str, Any] | None:
        """What `inspect_container`, `inspect_image`, … says of a name; None when there is no such thing."""
        try:
            seen: Mapping[str, Any] = self.call(method, name)
        except EngineRefused as error:
            if error.is_missing:
                return None
            raise
        return seen

    @functools.cached_property
    def is_podman(self) -> bool:
        """Whether it is podman that answers."""
        parts = self.call("version").get("Components") or ()
        return any("podman" in str(one.get("Name")).lower() for one in parts)

    @property
    def default_network(self) -> str:
        """The network of containers that ask for none."""
        return "podman" if self.is_podman else "bridge"

    def image_id(self, image: str) -> str | None:
        """The ID of an image; None when it is not here."""
        seen = self.found("inspect_image", image)
        return None if seen is None else str(seen["Id"])

    def state(self, name: str) -> str | None:
        """`running`, `paused` or `stopped`; None when there is no such container."""
        seen = self.found("inspect_container", name)
        return None if seen is None else state_of(seen)

    def names(self) -> list[str]:
        """Names of all containers, sorted."""
        found: Sequence[Mapping[str, Any]] = self.call("containers", all=True)
        return sorted(name.lstrip("/") for one in found for name in one.get("Names") or ())

    def lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self._to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)


@functools.lru_cache(maxsize=8)
def _client(url: str, version: str, timeout: float) -> Any:
    """The SDK's client, which asks the engine for its version; one for all states of a run."""
    from minion.providers.docker.bounded_client import BoundedClient

    made = BoundedClient(base_url=url, version=version, timeout=timeout)
    made.close()
    return made


def state_of(container: Mapping[str, Any]) -> str:
    """`running`, `paused` or `stopped`, of what the engine says of a container."""
    state = container.get("State") or {}
    if state.get("Paused"):
        return "paused"
    return "running" if state.get("Running") else "stopped"
