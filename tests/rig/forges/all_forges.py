"""Each kind of forge: its fake, and settings with access to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from forges.azure_devops import FakeAzureDevOps
from forges.bitbucket import FakeBitbucket
from forges.bitbucket_datacenter import FakeBitbucketDataCenter
from forges.gitea import FakeGitea
from forges.github import FakeGitHub
from forges.gitlab import FakeGitLab
from forges.server import FakeForge

from controller.forges.registry import forge_of
from controller.forges.settings import ForgeSettings
from options.convert import kinds_of


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
    """As a configuration would have it. `more`: other options, those of the kind, too."""
    given = {"name": "fake", "kind": fake.kind, "api": fake.api, **fake.access, **more}
    options = forge_of(fake.kind).options
    own = {name: given.pop(name) for name in kinds_of(options) if name in given}
    return ForgeSettings(**given, own=options(**own))


def access_lines(fake: FakeForge) -> list[str]:
    """The same as lines of the option `forges`, below `- `."""
    given = {"name": "fake", "kind": fake.kind, "api": fake.api, **fake.access}
    return [f"{name}: {json.dumps(value)}" for name, value in given.items()]
