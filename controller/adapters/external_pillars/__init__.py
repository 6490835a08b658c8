"""External pillars that are no git tree: folders of files, answers of web servers, output of commands, secrets."""

from __future__ import annotations

from controller.adapters.external_pillars.aws import PARAMETERS, SECRETS_MANAGER
from controller.adapters.external_pillars.azure import KEY_VAULT
from controller.adapters.external_pillars.command import CommandSource
from controller.adapters.external_pillars.file_tree import FileTree
from controller.adapters.external_pillars.google import SECRET_MANAGER
from controller.adapters.external_pillars.http import HttpSource
from controller.adapters.external_pillars.named_secrets import NamedSecrets
from controller.adapters.external_pillars.vault import VaultPillar

__all__ = [
    "KEY_VAULT",
    "PARAMETERS",
    "SECRETS_MANAGER",
    "SECRET_MANAGER",
    "CommandSource",
    "FileTree",
    "HttpSource",
    "NamedSecrets",
    "VaultPillar",
]
