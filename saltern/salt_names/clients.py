"""`salt.client`, `salt.runner` and `salt.wheel`: the clients of `saltern.client`, with Salt's default paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltern import client
from saltern.salt_names.configurations import own_path

RunnerClient = client.RunnerClient
Runner = client.RunnerClient
WheelClient = client.WheelClient
Wheel = client.WheelClient


class LocalClient(client.LocalClient):
    """See `saltern.client.LocalClient`; paths are Salt's (`salt.config`)."""

    def __init__(self, c_path: str = "", mopts: Mapping[str, Any] | None = None, *more: Any, **ignored: Any) -> None:
        super().__init__(own_path(c_path), mopts, **ignored)


class Caller(client.Caller):
    """See `saltern.client.Caller`; paths are Salt's (`salt.config`)."""

    def __init__(self, c_path: str = "", mopts: Mapping[str, Any] | None = None) -> None:
        super().__init__(own_path(c_path), mopts)


def get_local_client(c_path: str = "", mopts: Mapping[str, Any] | None = None, **ignored: Any) -> LocalClient:
    """A `LocalClient`."""
    return LocalClient(c_path, mopts, **ignored)
