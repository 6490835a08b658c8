"""The execution module `event`: events to the controller.

They go where `Context.fire` takes them: in a run to the run's own, in `saltern call` to the agent of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.commands import Words
from minion.arguments.types import AnyValue, Map
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed


def send(
    context: Context,
    tag: str,
    data: AnyValue = None,
    preload: Map | None = None,
    with_env: NotSupported = False,
    with_grains: bool | Words = False,
    with_pillar: bool | Words = False,
    with_env_opts: NotSupported = None,
    **more: Any,
) -> bool:
    """An event with this tag and data. CallFailed when it cannot be sent."""
    body: dict[str, Any] = {
        **(preload or {}),
        **(data if isinstance(data, dict) else {}),
    }
    if data is not None and not isinstance(data, dict):
        body["data"] = data
    body |= {key: value for key, value in more.items() if not key.startswith("__")}
    if with_grains:
        body["grains"] = _chosen(context.grains, with_grains)
    if with_pillar:
        body["pillar"] = _chosen(context.pillar, with_pillar)
    if context.fire is None:
        raise CallFailed(f"event {tag} not sent: functions that are asked for a template or the mine send none")
    if refusal := context.fire(tag, body):
        raise CallFailed(f"event {tag} not sent: {refusal}")
    return True


def fire_master(context: Context, data: AnyValue, tag: str, preload: Map | None = None) -> bool:
    """The same, with the arguments the other way round."""
    return send(context, tag, data, preload)


def _chosen(values: Mapping[str, Any], keys: bool | Words) -> dict[str, Any]:
    return {key: values[key] for key in (keys if isinstance(keys, list) else values) if key in values}


FUNCTIONS: Mapping[str, Any] = {"fire": fire_master, "fire_master": fire_master, "send": send}
