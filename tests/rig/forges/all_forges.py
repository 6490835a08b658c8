"""Each kind of forge: its fake, and settings with access to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forges.azure_devops import FakeAzureDevOps
from forges.bitbucket import FakeBitbucket
from forges.bitbucket_datacenter import FakeBitbucketDataCenter
from forges.gitea import FakeGitea
from forges.github import FakeGitHub
from forges.gitlab import FakeGitLab
from forges.server import FakeForge

from controller.config.forges import ForgeSettings


def github() -> FakeForge:
    return FakeGitHub()


def github_app() -> FakeForge:
    return FakeGitHub(app=True)


FAKES: dict[str, Callable[[], FakeForge]] = {
    "github": github,
    "github-app": github_app,
    "gitea": FakeGitea,
    "gitlab": FakeGitLab,
    "bitbucket": FakeBitbucket,
    "bitbucket-datacenter": FakeBitbucketDataCenter,
    "azure-devops": FakeAzureDevOps,
}


NEEDS_ADMIN = ("gitea", "bitbucket")
"""Forges that tell who may write to administrators alone."""


def settings_of(fake: FakeForge, **more: Any) -> ForgeSettings:
    """As a configuration would have it."""
    access: dict[str, Any] = {"token": fake.token}
    if isinstance(fake, FakeGitHub) and fake.is_app:
        access = {"app_id": "7", "private_key": fake.private_key}
    given = {"name": "fake", "kind": fake.kind, "api": fake.api, **access, **more}
    return ForgeSettings(**given)


def access_lines(fake: FakeForge) -> list[str]:
    """The same as lines of the option `forges`, below `- `."""
    settings = settings_of(fake)
    lines = [f"name: {settings.name}", f"kind: {settings.kind}", f"api: {settings.api}"]
    if settings.app_id:
        key = "\n        ".join(str(settings.private_key).splitlines())
        lines += [f"app_id: {settings.app_id}", f"private_key: |\n        {key}"]
    else:
        lines.append(f"token: {settings.token}")
    return lines
