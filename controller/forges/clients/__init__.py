"""Adapters of the port `controller.forges.client`, one for each kind of forge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from controller.config.forges import ForgeKind, ForgeSettings
from controller.config.limits import ForgeLimits
from controller.forges.client import ForgeClient
from controller.forges.clients.azure_devops import AzureDevOpsClient
from controller.forges.clients.bitbucket import BitbucketClient
from controller.forges.clients.bitbucket_datacenter import BitbucketDataCenterClient
from controller.forges.clients.gitea import GiteaClient
from controller.forges.clients.github import GitHubClient
from controller.forges.clients.gitlab import GitLabClient
from options.limits import CountRefusal, uncounted

_Making: TypeAlias = Callable[..., ForgeClient]

_CLIENTS: Mapping[ForgeKind, _Making] = {
    "github": GitHubClient,
    "gitea": GiteaClient,
    "gitlab": GitLabClient,
    "bitbucket": BitbucketClient,
    "bitbucket-datacenter": BitbucketDataCenterClient,
    "azure-devops": AzureDevOpsClient,
}


def client_of(settings: ForgeSettings, limits: ForgeLimits, *, refused: CountRefusal = uncounted) -> ForgeClient:
    """The client of a forge, not connected yet. `refused` hears the names of limits that something exceeds."""
    return _CLIENTS[settings.kind](settings, limits, refused=refused)


__all__ = ["client_of"]
