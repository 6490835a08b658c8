"""Forges: how each of them authenticates a webhook, identifies a delivery and names the repository.

A forge is a module here with `FORGE`, and its place in `FORGES`. Nothing that a payload names is
fetched: it is only compared with the remotes that are configured.
"""

from controller.forges.azure_devops import FORGE as AZURE_DEVOPS
from controller.forges.bitbucket import FORGE as BITBUCKET
from controller.forges.forge import Forge
from controller.forges.generic import FORGE as GENERIC
from controller.forges.gitea import FORGE as GITEA
from controller.forges.github import FORGE as GITHUB
from controller.forges.gitlab import FORGE as GITLAB

FORGES: tuple[Forge, ...] = (GITHUB, GITEA, GITLAB, BITBUCKET, AZURE_DEVOPS, GENERIC)
"""All of them; a webhook is checked against each, because its origin is not known reliably."""

__all__ = ["FORGES", "Forge"]
