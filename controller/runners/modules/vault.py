"""The runner `vault`: what minions are given of the vault. They ask by `peer_run`, each for itself alone.

Behaviour: the runner of saltext-vault. Who may call runners may ask for any minion, by `minion_id`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from controller.access.principals import OF_MINION
from controller.compilation.compile_ports import vault_of
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from highstate.types import Minion

if TYPE_CHECKING:
    from controller.adapters.secrets.issuing import VaultUser
    from controller.adapters.secrets.vault import Vault

_Found = TypeVar("_Found")


async def get_config(context: RunnerContext, minion_id: str = "") -> dict[str, Any]:
    """Where the server is, and what minions are given there."""
    vault = _permitted(context, minion_id)
    server, issue = vault.settings.server, vault.settings.issue
    fields = ("url", "namespace", "verify", "connect_timeout", "read_timeout")
    return {
        "server": {name: getattr(server, name) for name in fields},
        "type": issue.kind,
        "mount": issue.approle_mount,
        "needs_secret_id": bool(issue.approle_params.get("bind_secret_id", True)),
    }


async def generate_new_token(context: RunnerContext, minion_id: str = "") -> dict[str, Any]:
    """A token with the minion's policies, wrapped as `issue: wrap` says."""
    vault = _permitted(context, minion_id)
    found = await _asked(lambda: vault.issuing.token(_who(context, minion_id), vault.settings.issue.wrap))
    return _shown(found)


async def get_role_id(context: RunnerContext, minion_id: str = "") -> dict[str, Any]:
    """The role id of the minion's AppRole, which is made where it has none; wrapped."""
    vault = _permitted(context, minion_id)
    return _shown(await _asked(lambda: vault.issuing.role_id(_who(context, minion_id), vault.settings.issue.wrap)))


async def generate_secret_id(context: RunnerContext, minion_id: str = "") -> dict[str, Any]:
    """A secret id for the minion's AppRole; wrapped."""
    vault = _permitted(context, minion_id)
    return _shown(await _asked(lambda: vault.issuing.secret_id(_who(context, minion_id), vault.settings.issue.wrap)))


async def show_policies(context: RunnerContext, minion_id: str) -> list[str]:
    """The names of the policies that a minion has."""
    vault = _permitted(context, minion_id)
    who = _who(context, minion_id)
    return list(await _asked(lambda: vault.issuing.policies(who.minion)))


async def list_approles(context: RunnerContext) -> list[str]:
    """Minions that have an AppRole."""
    vault = _of_administrators(context)
    return await _asked(vault.issuing.approles)


async def show_approle(context: RunnerContext, minion_id: str) -> dict[str, Any]:
    """What the server has of a minion's AppRole."""
    vault = _of_administrators(context)
    return dict(await _asked(lambda: vault.issuing.approle(Minion(id=minion_id))))


async def sync_approles(context: RunnerContext) -> bool:
    """Bring the AppRoles that there are to their minions' policies and `issue: approle: params`."""
    vault = _of_administrators(context)
    for name in await _asked(vault.issuing.approles):
        who = _who(context, name)
        await _asked(lambda who=who: vault.issuing.role_id(who))  # type: ignore[misc]
    return True


async def cleanup_auth(context: RunnerContext) -> dict[str, list[str]]:
    """Delete the AppRoles of minions whose keys are not accepted."""
    vault = _of_administrators(context)
    known = {each.id for each in context.ports.store.minions.all()}
    gone = [name for name in await _asked(vault.issuing.approles) if name not in known]
    for name in gone:
        await _asked(lambda name=name: vault.issuing.remove_approle(Minion(id=name)))  # type: ignore[misc]
    return {"approles": gone}


async def clear_cache(context: RunnerContext) -> bool:
    """Ask the server anew for whatever comes: tokens, policies and secrets."""
    _of_administrators(context).forget()
    return True


def _permitted(context: RunnerContext, minion_id: str) -> Vault:
    """The vault; ControllerCallFailed where none is configured, or somebody asks for another minion."""
    asking = context.user.removeprefix(OF_MINION) if context.user.startswith(OF_MINION) else ""
    if asking and minion_id not in ("", asking):
        raise ControllerCallFailed(f"{asking} may not ask for {minion_id}")
    if not asking and not minion_id:
        raise ControllerCallFailed("it needs the id of a minion: minion_id=ID")
    vault = _configured(context)
    if asking and vault.settings.issue.block_minion_requests:
        raise ControllerCallFailed("minions are given no tokens here (vault: issue: block_minion_requests)")
    return vault


def _of_administrators(context: RunnerContext) -> Vault:
    if context.user.startswith(OF_MINION):
        raise ControllerCallFailed("minions may not call this")
    return _configured(context)


def _configured(context: RunnerContext) -> Vault:
    vault = vault_of(context.ports.settings.ports)
    if vault is None:
        raise ControllerCallFailed("no vault is configured (option vault of the controller)")
    return vault


def _who(context: RunnerContext, minion_id: str) -> VaultUser:
    from controller.adapters.secrets.issuing import VaultUser

    name = minion_id or context.user.removeprefix(OF_MINION)
    grains = next((each.grains for each in context.ports.store.minions.all() if each.id == name), {})
    return VaultUser(minion=Minion(id=name, grains=grains), user=context.user, jid=context.jid)


async def _asked(ask: Callable[[], _Found]) -> _Found:
    from minion.providers.vault.api import VaultFailed

    try:
        return await asyncio.to_thread(ask)
    except VaultFailed as error:
        raise ControllerCallFailed(str(error)) from error


def _shown(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a minion needs of an answer."""
    return {key: answer[key] for key in ("auth", "data", "wrap_info") if answer.get(key)}


FUNCTIONS = {
    "cleanup_auth": cleanup_auth,
    "clear_cache": clear_cache,
    "generate_new_token": generate_new_token,
    "generate_secret_id": generate_secret_id,
    "get_config": get_config,
    "get_role_id": get_role_id,
    "list_approles": list_approles,
    "show_approle": show_approle,
    "show_policies": show_policies,
    "sync_approles": sync_approles,
}
