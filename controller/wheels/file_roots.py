"""The wheel `file_roots`: files of the state tree, as the live revision has them. Nothing is written."""

from __future__ import annotations

import asyncio
from typing import Any

from controller.runners import tree_files
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from highstate.types import Files


async def find(context: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
    """The file at a path: `txt` or `bin`; an empty list when there is none."""
    return await asyncio.to_thread(tree_files.find, _files(context), path, saltenv)


async def list_env(context: RunnerContext, saltenv: str = "base") -> dict[str, Any]:
    """The files of a saltenv: a folder is a mapping, a file `f`."""
    return await asyncio.to_thread(tree_files.tree, _files(context), saltenv)


async def list_roots(context: RunnerContext) -> dict[str, list[dict[str, Any]]]:
    """The files of all saltenvs."""
    return await asyncio.to_thread(tree_files.roots, _files(context))


async def read(context: RunnerContext, path: str, saltenv: str = "base") -> list[dict[str, str]]:
    """The text of the file at a path; an empty list when there is none, or no text in it."""
    return await asyncio.to_thread(tree_files.read, _files(context), path, saltenv)


def _files(context: RunnerContext) -> Files:
    if (trees := context.ports.live.trees) is None:
        raise ControllerCallFailed("there is no live revision yet; `saltern remote list` says why")
    return trees.files


FUNCTIONS = {"find": find, "list_env": list_env, "list_roots": list_roots, "read": read}
