"""What the wheels `file_roots` and `pillar_roots` have in common: files of a tree, as the live revision has them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from controller.runners import tree_files
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from gitfs.source import Trees
from highstate.types import Files


def wheel_of(chosen: Callable[[Trees], Files]) -> dict[str, Callable[..., Any]]:
    """The functions of a wheel that shows the files `chosen` of what is live. Nothing is written."""

    def files(context: RunnerContext) -> Files:
        if (trees := context.ports.live.trees) is None:
            raise ControllerCallFailed("there is no live revision yet; `saltern remote list` says why")
        return chosen(trees)

    async def find(context: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
        """The file at a path: `txt` or `bin`; an empty list when there is none."""
        return await asyncio.to_thread(tree_files.find, files(context), path, saltenv)

    async def list_env(context: RunnerContext, saltenv: str = "base") -> dict[str, Any]:
        """The files of a saltenv: a folder is a mapping, a file `f`."""
        return await asyncio.to_thread(tree_files.tree, files(context), saltenv)

    async def list_roots(context: RunnerContext) -> dict[str, list[dict[str, Any]]]:
        """The files of all saltenvs."""
        return await asyncio.to_thread(tree_files.roots, files(context))

    async def read(context: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
        """The text of the file at a path; an empty list when there is none, or no text in it."""
        return await asyncio.to_thread(tree_files.read, files(context), path, saltenv)

    return {"find": find, "list_env": list_env, "list_roots": list_roots, "read": read}
