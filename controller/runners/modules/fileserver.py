"""The runner `fileserver`: the trees as the live revision has them. Looks into git; nothing lies in a cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from highstate.types import Files
from minion.arguments.types import AnyValue, Ignored

_Value = TypeVar("_Value")
Backend = Annotated[AnyValue, Ignored("remotes and roots are one tree")]


async def envs(
    context: RunnerContext, backend: Backend = None, sources: Annotated[bool, Ignored("one source")] = False
) -> list[str]:
    """The saltenvs."""
    return await _ask(context, lambda files: sorted(files.saltenvs()))


async def file_list(context: RunnerContext, saltenv: str = "base", backend: Backend = None) -> list[str]:
    """The files of a saltenv."""
    return await _ask(context, lambda files: sorted(files.list("", saltenv)))


async def symlink_list(context: RunnerContext, saltenv: str = "base", backend: Backend = None) -> dict[str, str]:
    """The symlinks of a saltenv, with where they lead."""
    return await _ask(context, lambda files: dict(files.links("", saltenv)))


async def dir_list(context: RunnerContext, saltenv: str = "base", backend: Backend = None) -> list[str]:
    """The folders of a saltenv."""
    return await _ask(context, lambda files: _folders(files, saltenv))


async def empty_dir_list(context: RunnerContext, saltenv: str = "base", backend: Backend = None) -> list[str]:
    """Folders without files: git has none."""
    return []


async def update(context: RunnerContext, backend: Backend = None, **kwargs: Any) -> bool:
    """Fetch the remotes, all or the one named by `remote`."""
    remote = kwargs.get("remotes") or kwargs.get("remote")
    wanted = remote if isinstance(remote, list) else [remote]
    count = sum(context.ports.fetch(None if each is None else str(each), context.user) for each in wanted)
    if not count:
        raise ControllerCallFailed("no such remote; `saltern remote list` shows all remotes")
    return True


async def clear_cache(context: RunnerContext, backend: Backend = None) -> str:
    """Nothing to clear: files are read from git."""
    return "No cache was cleared"


async def clear_file_list_cache(
    context: RunnerContext, saltenv: AnyValue = None, backend: Backend = None
) -> dict[str, list[str]]:
    """Nothing to clear: lists are those of the live revision."""
    return {}


async def clear_lock(context: RunnerContext, backend: Backend = None, remote: AnyValue = None) -> str:
    """Nothing to clear: a fetch that was killed leaves no lock behind."""
    return "No locks were removed"


async def _ask(context: RunnerContext, ask: Callable[[Files], _Value]) -> _Value:
    """An answer of the live tree, found in a thread."""
    trees = context.ports.live.trees
    if trees is None:
        raise ControllerCallFailed("there is no live revision yet; `saltern remote list` says why")
    return await asyncio.to_thread(ask, trees.files)


def _folders(files: Files, saltenv: str) -> list[str]:
    found = {str(parent) for path in files.list("", saltenv) for parent in PurePosixPath(path).parents}
    return sorted(found - {"."})


FUNCTIONS = {
    "clear_cache": clear_cache,
    "clear_file_list_cache": clear_file_list_cache,
    "clear_lock": clear_lock,
    "dir_list": dir_list,
    "empty_dir_list": empty_dir_list,
    "envs": envs,
    "file_list": file_list,
    "symlink_list": symlink_list,
    "update": update,
}
