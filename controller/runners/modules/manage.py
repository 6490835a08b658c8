"""The runner `manage`: which minions are there. The controller knows who is connected, so that nobody is asked."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

from controller.runners import fleet
from controller.runners.context import RunnerContext
from controller.schema.minions import stock_agent
from minion.arguments.types import AnyValue, Ignored, Unsupported

_WAIT = Ignored("nobody is asked: the controller knows who is connected")
Seconds = Annotated[AnyValue, _WAIT]
Subset = list[Any] | None
SALT_MINIONS = "Salt minion"
"""Beside the names of groups that Salt has."""
ShowIp = Annotated[bool, Unsupported("take the grain ipv4: saltern run TARGET grains.get ipv4")]


async def status(
    context: RunnerContext,
    output: Annotated[bool, Ignored("the value is always shown")] = True,
    tgt: AnyValue = "*",
    tgt_type: str = "glob",
    timeout: Seconds = None,
    gather_job_timeout: Seconds = None,
) -> dict[str, list[str]]:
    """Minions that are connected (`up`) and that are not (`down`)."""
    known = await fleet.select(context, tgt, tgt_type)
    up = [minion for minion in known if context.ports.sessions.session(minion) is not None]
    return {"up": up, "down": [minion for minion in known if minion not in set(up)]}


async def up(
    context: RunnerContext,
    tgt: AnyValue = "*",
    tgt_type: str = "glob",
    timeout: Seconds = None,
    gather_job_timeout: Seconds = None,
) -> list[str]:
    """Minions that are connected."""
    return (await status(context, tgt=tgt, tgt_type=tgt_type))["up"]


async def down(
    context: RunnerContext,
    removekeys: bool = False,
    tgt: AnyValue = "*",
    tgt_type: str = "glob",
    timeout: Seconds = None,
    gather_job_timeout: Seconds = None,
) -> list[str]:
    """Minions that are not connected; with `removekeys` their keys are deleted."""
    found = (await status(context, tgt=tgt, tgt_type=tgt_type))["down"]
    if removekeys and found:
        await context.ports.keys.delete(found, context.user)
    return found


async def present(context: RunnerContext, subset: Subset = None, show_ip: ShowIp = False) -> list[str]:
    """Minions that are connected, or those of `subset`."""
    return [minion for minion in _accepted(context, subset) if context.ports.sessions.session(minion) is not None]


async def not_present(context: RunnerContext, subset: Subset = None, show_ip: ShowIp = False) -> list[str]:
    """Minions that are not connected, or those of `subset`."""
    return [minion for minion in _accepted(context, subset) if context.ports.sessions.session(minion) is None]


async def versions(context: RunnerContext) -> dict[str, Any]:
    """The versions of the controller and, by how they compare with it, of the minions; of stock minions Salt's."""
    own = _own_version()
    found: dict[str, Any] = {"Master": own}
    for minion, returned in sorted((await fleet.call(context, "*", "test.version")).items()):
        said = returned.value if returned.answered and returned.ok else False
        session = context.ports.sessions.session(minion)
        if session is not None and stock_agent(session.agent):
            compared = SALT_MINIONS  # its version is one of Salt's
        else:
            compared = _label(str(said), own) if said else "Minion offline"
        found.setdefault(compared, {})[minion] = said
    return found


def _label(version: str, own: str) -> str:
    if version == own:
        return "Up to date"
    return "Minion requires update" if _key(version) < _key(own) else "Minion newer than master"


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _own_version() -> str:
    try:
        return version("saltern")
    except PackageNotFoundError:  # a checkout
        return "0"


def _accepted(context: RunnerContext, subset: Subset) -> list[str]:
    accepted = sorted(context.ports.store.keys.accepted_ids())
    return accepted if subset is None else [minion for minion in accepted if minion in subset]


FUNCTIONS = {
    **dict.fromkeys(("alived", "allowed", "joined", "list_state", "present", "reaped"), present),
    **dict.fromkeys(
        ("list_not_state", "not_alived", "not_allowed", "not_joined", "not_present", "not_reaped"), not_present
    ),
    "down": down,
    "status": status,
    "up": up,
    "versions": versions,
}
