"""External pillars that are no git tree: folders of files, answers of web servers, output of commands, secrets."""

from __future__ import annotations

from controller.adapters.external_pillars.command import CommandSource
from controller.adapters.external_pillars.file_tree import FileTree
from controller.adapters.external_pillars.http import HttpSource
from controller.adapters.external_pillars.vault import VaultPillar

__all__ = ["CommandSource", "FileTree", "HttpSource", "VaultPillar"]
