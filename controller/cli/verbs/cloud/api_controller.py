"""The controller of whoever makes machines, over its API."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, Failure
from controller.cloud.controller_port import CloudHome
from controller.cloud.errors import CloudFailed
from controller.schema.keys import ControllerKey, KeyView, NewKeyQuestion
from controller.schema.minions import MinionPresence
from controller.schema.requests import KeysQuestion, RunnerQuestion
from controller.schema.runners import RunnerReturn


class ApiController:
    """`CloudController`. One question at a time: machines that are made together share the connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except Failure as error:
                raise CloudFailed(f"{error.message}{'; ' if error.hint else ''}{error.hint}") from error

    def home(self) -> CloudHome:
        """See `CloudController`."""
        with self._asking():
            return CloudHome(public_key=self._client.get("/keys/controller", ControllerKey).public)

    def accept(self, minion: str, public_key: str) -> None:
        """See `CloudController`."""
        with self._asking():
            self._client.post("/keys/add", NewKeyQuestion(minion=minion, public_key=public_key), KeyView)

    def has_key(self, minion: str) -> bool:
        """See `CloudController`."""
        with self._asking():
            return bool(self._keys(minion))

    def forget(self, minion: str) -> None:
        """See `CloudController`."""
        with self._asking():
            own = tuple(key.fingerprint for key in self._keys(minion) if key.role == "minion")
            if own:
                self._client.post("/keys/delete", KeysQuestion(names=own), tuple[KeyView, ...])

    def _keys(self, minion: str) -> list[KeyView]:
        return [key for key in self._client.get("/keys", tuple[KeyView, ...]) if key.minion == minion]

    def is_connected(self, minion: str) -> bool:
        """See `CloudController`."""
        with self._asking():
            try:
                views = self._client.get(
                    "/minions/presence", tuple[MinionPresence, ...], expression=minion, kind="list"
                )
            except Failure as error:
                if error.code == NO_TARGET:
                    return False  # it has never been there
                raise
        return any(view.connected for view in views)

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        """See `CloudController`."""
        question = RunnerQuestion(fun="event.send", args=(tag, dict(data)))
        with self._asking():
            for item in self._client.stream("/runner", question):
                if isinstance(item, RunnerReturn):
                    return
