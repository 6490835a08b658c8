"""The runner `cloud`: machines of clouds, by `saltern cloud` in a process of its own.

There the libraries of the clouds are loaded, accounts and ssh are waited for, and what it does is asked of this
controller by its API. Functions and arguments are those of Salt's runner.
Behaviour: https://docs.saltproject.io/en/3006/ref/runners/all/salt.runners.cloud.html
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from controller.access.principals import OF_MINION
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from minion.arguments.types import AnyValue

_QUERIES = {"list_nodes": "-Q", "list_nodes_full": "-F", "list_nodes_select": "-S"}
_END_SECONDS = 5.0
_SOCKET = "SALTERN_SOCKET"
_OF_MINIONS = frozenset(
    {
        *("image", "size", "location", "availability_zone", "tag", "grains", "deploy", "enable_cloud_grains"),
        *("keyname", "securitygroup", "securitygroupid", "userdata", "ebs_optimized", "ssh_username", "ssh_interface"),
        *("wait_for_ip_timeout", "ssh_connect_timeout", "deploy_timeout", "wait_for_minion"),
    }
)
"""Options that a minion that asks may choose: none names a file of the controller, where one is sent, what logs in
there, or rights in the account (`iam_profile`, and whatever `create` may give)."""
_MOST_OF_MINION = 10
"""Machines of one call of a minion."""


async def list_sizes(context: RunnerContext, provider: str = "all") -> Any:
    """The sizes of a provider, or of all."""
    return await _asked(context, "--list-sizes", provider)


async def list_images(context: RunnerContext, provider: str = "all") -> Any:
    """The images of a provider, or of all."""
    return await _asked(context, "--list-images", provider)


async def list_locations(context: RunnerContext, provider: str = "all") -> Any:
    """The locations of a provider, or of all."""
    return await _asked(context, "--list-locations", provider)


async def query(context: RunnerContext, query_type: str = "list_nodes") -> Any:
    """The machines of all accounts."""
    if query_type not in _QUERIES:
        raise ControllerCallFailed(f"query_type is one of {', '.join(_QUERIES)}, not {query_type!r}")
    return await _asked(context, _QUERIES[query_type])


async def full_query(context: RunnerContext, query_type: str = "list_nodes_full") -> Any:
    """The machines of all accounts, with all that the clouds say of them."""
    return await query(context, query_type)


async def select_query(context: RunnerContext, query_type: str = "list_nodes_select") -> Any:
    """The machines of all accounts, with what `query.selection` names."""
    return await query(context, query_type)


async def profile(context: RunnerContext, prof: str, instances: AnyValue, **kwargs: AnyValue) -> Any:
    """Make machines by a profile; `kwargs` are in place of what it says."""
    names = _of_minion(context, kwargs, _names(instances))
    return await _asked(context, "-p", prof, "--overrides", "-", "--", *names, data=kwargs)


async def create(context: RunnerContext, provider: str, instances: AnyValue, **kwargs: AnyValue) -> Any:
    """Make machines of a provider, without a profile; `kwargs` say how."""
    names = _of_minion(context, kwargs, _names(instances))
    return await _asked(context, "--provider", provider, "--overrides", "-", "--", *names, data=kwargs)


async def map_run(context: RunnerContext, path: str, parallel: bool = False) -> Any:
    """Make what a map on this machine names and is not there."""
    _of_minion(context, {"path": path}, ())
    return await _asked(context, "-m", path, *(["-P"] if parallel else []))


async def destroy(context: RunnerContext, instances: AnyValue) -> Any:
    """Destroy machines, and forget their keys."""
    return await _asked(context, "-d", "--", *_names(instances))


async def action(context: RunnerContext, func: str, instances: AnyValue) -> Any:
    """`reboot`, `start`, `stop` or `show_instance` machines."""
    return await _asked(context, "-a", func, "--", *_names(instances))


def _of_minion(context: RunnerContext, given: Mapping[str, Any], names: Sequence[str]) -> Sequence[str]:
    """The names, when a minion that asks may give these options for so many machines. ControllerCallFailed."""
    if context.user.startswith(OF_MINION):
        if found := sorted(given.keys() - _OF_MINIONS):
            raise ControllerCallFailed(
                f"a minion may not give {', '.join(found)}: say it in the profile, on the controller"
            )
        if len(names) > _MOST_OF_MINION:
            raise ControllerCallFailed(f"a minion may have {_MOST_OF_MINION} machines made at a time, not {len(names)}")
    return names


def _names(instances: Any) -> Sequence[str]:
    """Names as a list, or as a text with commas."""
    names = instances.split(",") if isinstance(instances, str) else instances
    if not isinstance(names, list) or not names or not all(isinstance(each, str) and each for each in names):
        raise ControllerCallFailed("instances are names of machines: a list, or a text with commas")
    return [each.strip() for each in names]


async def _asked(context: RunnerContext, *words: str, data: Mapping[str, Any] | None = None) -> Any:
    settings = context.ports.settings
    environment = {key: os.environ[key] for key in ("PATH", "LANG", "PYTHONPATH", "HOME") if key in os.environ}
    # Nobody else on this machine is to wait for the libraries of clouds to be loaded.
    verb = [
        "nice",
        "-n",
        "10",
        sys.executable,
        "-P",
        "-m",
        "saltern",
        "cloud",
        "-c",
        str(settings.config_dir),
        "-y",
        "--out",
        "json",
    ]
    if context.user.startswith(OF_MINION):
        verb.append("--for-minion")
    process = await asyncio.create_subprocess_exec(
        *verb,
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**environment, _SOCKET: str(settings.socket)},
        process_group=0,
    )
    try:
        answer, said = await process.communicate(json.dumps(data or {}, default=str).encode())
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await _end_of(process)
        raise
    try:
        return json.loads(answer)
    except ValueError:
        last = " ".join(said.decode(errors="replace").split())[-1000:]
        raise ControllerCallFailed(last or f"saltern cloud ended with {process.returncode}") from None


async def _end_of(process: asyncio.subprocess.Process) -> None:
    """Wait until it has said what it leaves behind, though not for long."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            await process.communicate()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


FUNCTIONS = {
    "action": action,
    "create": create,
    "destroy": destroy,
    "full_query": full_query,
    "list_images": list_images,
    "list_locations": list_locations,
    "list_sizes": list_sizes,
    "map_run": map_run,
    "profile": profile,
    "query": query,
    "select_query": select_query,
}
