"""The execution module `quota`: disk quotas of file systems.

Behaviour: doc/ref/modules/all/salt.modules.quota. What a program refuses is an error, with its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.storage import quotas


def report(context: Context, mount: str) -> dict[str, Any]:
    """What users and groups have used and may use of a file system."""
    found = {}
    for kind, title in (("user", "User"), ("group", "Group")):
        one = quotas.report(context.machine, mount, kind)
        graces = {"Block Grace Time": [one.block_grace], "Inode Grace Time": [one.inode_grace]}
        found[f"{title} Quotas"] = {f"{title}s": one.rows, **graces}
    return {mount: found}


def set_(context: Context, device: str, **kwargs: Any) -> dict[str, dict[str, str]]:
    """Set limits of `user` or `group`: block-soft-limit, block-hard-limit, file-soft-limit, file-hard-limit."""
    whom = [kind for kind in ("user", "group") if kind in kwargs]
    if len(whom) != 1:
        raise CallFailed("Please specify a user or group, not both." if whom else "A valid user or group was not found")
    limits = {key: str(value) for key, value in kwargs.items() if key != whom[0]}
    if strange := [
        f"{key}={value}" for key, value in limits.items() if key not in quotas.LIMITS or not value.isdigit()
    ]:
        raise CallFailed(f"These are no limits: {', '.join(strange)}")
    name = str(kwargs[whom[0]])
    return {f"{whom[0].capitalize()}: {name}": quotas.limit(context.machine, device, whom[0], name, limits)}


def stats(context: Context) -> dict[str, str]:
    """What the kernel counts of quotas."""
    return quotas.stats(context.machine)


def on(context: Context, device: str) -> bool:
    """Turn quotas on."""
    quotas.turn(context.machine, device, "on")
    return True


def off(context: Context, device: str) -> bool:
    """Turn quotas off."""
    quotas.turn(context.machine, device, "off")
    return True


def get_mode(context: Context, device: str) -> dict[str, Any]:
    """Whether quotas of users and groups are on."""
    found = quotas.quota_mode(context.machine, device)
    return {device: "Not found"} if found is None else {found.mount: {"device": found.device, **found.kinds}}


FUNCTIONS: Mapping[str, Any] = {
    "get_mode": get_mode,
    "off": off,
    "on": on,
    "report": report,
    "set": set_,
    "stats": stats,
}
