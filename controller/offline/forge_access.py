"""Access to forges, proved without a controller. Called by `saltern forge`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from controller.adapters.secrets.vault_reader import vault_reader
from controller.config.forges import ForgeProject, projects_of, withhold_secrets
from controller.config.settings import ControllerSettings
from controller.forges.client import ForgeClient
from controller.forges.clients import client_of
from controller.schema.forges import ForgeAccessView, ForgeProjectView


def forge_projects(settings: ControllerSettings) -> Sequence[ForgeProjectView]:
    """The projects of the forges of a configuration, in the order of the remotes."""
    forges = {each.name: each for each in settings.forges}
    return [
        ForgeProjectView(
            forge=each.forge,
            kind=forges[each.forge].kind,
            project=each.project,
            remotes=each.remotes,
            api=forges[each.forge].api,
        )
        for each in _projects(settings)
    ]


def prove_access(settings: ControllerSettings, wanted: Sequence[ForgeProjectView]) -> Sequence[ForgeAccessView]:
    """What the controller may do in these projects, one line for each access."""
    return asyncio.run(_prove(settings, wanted))


async def _prove(settings: ControllerSettings, wanted: Sequence[ForgeProjectView]) -> list[ForgeAccessView]:
    names = {each.forge for each in wanted}
    ready = withhold_secrets(settings.forges, vault_reader(settings.ports.vault))
    clients = {each.name: client_of(each, settings.limits.forge) for each in ready if each.name in names}
    try:
        return [line for each in wanted for line in await _lines(clients[each.forge], each)]
    finally:
        for client in clients.values():
            await client.close()


async def _lines(client: ForgeClient, project: ForgeProjectView) -> list[ForgeAccessView]:
    return [
        ForgeAccessView(forge=project.forge, project=project.project, access=each.what, ok=each.ok, detail=each.detail)
        for each in await client.check_access(project.project)
    ]


def _projects(settings: ControllerSettings) -> Sequence[ForgeProject]:
    git = settings.trees.git()
    remotes = {each.name: each.url for each in (*git.file_remotes, *git.pillar_remotes)}
    return projects_of(settings.forges, remotes)
