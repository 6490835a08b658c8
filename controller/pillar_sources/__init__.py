"""External pillars that are no git tree: folders of files, answers of web servers, output of commands."""

from __future__ import annotations

from controller.pillar_sources.command import CommandSource
from controller.pillar_sources.file_tree import FileTree
from controller.pillar_sources.http import HttpSource

__all__ = ["CommandSource", "FileTree", "HttpSource"]
