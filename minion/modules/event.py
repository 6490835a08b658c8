"""The execution module `event`: events to the controller.

They go where `Context.fire` takes them; a masterless call has nobody to send them to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.arguments import NotSupported
from minion.execution.context import Context


def send(
    context: Context, tag: str, data: Any = None, preload: Any = None, with_env: NotSupported = False,
    with_grains: Any = False, with_pillar: Any = False, with_env_opts: NotSupported = None, **more: Any,
) -> bool:  # fmt: skip
    """An event with this tag and data; whether it was taken."""
    body: dict[str, Any] = {
        **(preload if isinstance(preload, dict) else {}),
        **(data if isinstance(data, dict) else {}),
    }
    if data is not None and not isinstance(data, dict):
        body["data"] = data
    body |= {key: value for key, value in more.items() if not key.startswith("__")}
    if with_grains:
        body["grains"] = _chosen(context.grains, with_grains)
    if with_pillar:
        body["pillar"] = _chosen(context.pillar, with_pillar)
    return context.fire is not None and context.fire(tag, body)


def fire_master(context: Context, data: Any, tag: str, preload: Any = None) -> bool:
    """The same, with the arguments the other way round."""
    return send(context, tag, data, preload)


def _chosen(values: Mapping[str, Any], keys: Any) -> dict[str, Any]:
    return {key: values[key] for key in (keys if isinstance(keys, list) else values) if key in values}


FUNCTIONS: Mapping[str, Any] = {"fire": fire_master, "fire_master": fire_master, "send": send}
