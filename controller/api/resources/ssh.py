"""Machines that are reached over ssh."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from controller.api.asked import AdminRequest, service_of
from controller.api.operations import post
from controller.schema.fleet.ssh import SshQuestion, SshRawQuestion, SshRawView, SshTargetsView, SshVisitView


@post("/ssh/targets")
async def ssh_targets(request: AdminRequest, body: SshQuestion) -> SshTargetsView:
    """Which machines of the roster a target means (`saltern ssh --preview-target`)."""
    return await service_of(request).ssh_targets(body)


@post("/ssh/visit")
async def ssh_visit(request: AdminRequest, body: SshQuestion) -> AsyncIterator[SshVisitView]:
    """Visit machines: their agents are connected until this stream is closed (`saltern ssh`)."""
    return service_of(request).ssh_visit(body)


@post("/ssh/raw")
async def ssh_raw(request: AdminRequest, body: SshRawQuestion) -> AsyncIterator[SshRawView]:
    """Have the shells of machines run a command (`saltern ssh -r`), or remove what is ours there (`-w`)."""
    return service_of(request).ssh_raw(body)


ROUTES: Final = (ssh_targets, ssh_visit, ssh_raw)
"""Its routes."""
