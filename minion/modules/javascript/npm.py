"""The execution module `npm`: packages of Node.js, of a folder or of the whole machine, and npm's cache.

Behaviour: doc/ref/modules/all/salt.modules.npm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import Ignored, TextPairs, Texts
from minion.execution.context import Context
from minion.providers.npm import npm_of


def install(
    context: Context, pkg: str | None = None, pkgs: Texts = (), dir: str | None = None,  # noqa: A002  (Salt's name)
    runas: str | None = None, registry: str | None = None, env: TextPairs | None = None, dry_run: bool = False,
    silent: Annotated[Any, Ignored("what npm tells is read either way")] = True,
) -> dict[str, Any]:  # fmt: skip
    """Install packages, or without any what the folder's package.json names; what npm tells."""
    npm = npm_of(dir, runas, env, registry)
    return npm.install(context.machine, (pkg,) if pkg else pkgs, *(["--dry-run"] if dry_run else []))


def uninstall(
    context: Context, pkg: str, dir: str | None = None, runas: str | None = None, env: TextPairs | None = None  # noqa: A002
) -> bool:  # fmt: skip
    """Remove a package."""
    npm_of(dir, runas, env).uninstall(context.machine, pkg)
    return True


def list_(
    context: Context, pkg: str | None = None, dir: str | None = None, runas: str | None = None,  # noqa: A002
    env: TextPairs | None = None, depth: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Packages that are there, with what npm tells of them; those that fit a name and a version."""
    return npm_of(dir, runas, env).listed(context.machine, pkg, depth)


def cache_clean(
    context: Context, path: str | None = None, runas: str | None = None, env: TextPairs | None = None,
    force: bool = False,
) -> bool:  # fmt: skip
    """Remove a key from npm's cache, or without one all: that needs `force`."""
    npm_of(None, runas, env).clean(context.machine, (path,) if path else (), force=force)
    return True


def cache_list(
    context: Context, path: str | None = None, runas: str | None = None, env: TextPairs | None = None
) -> str:
    """Keys of what npm's cache has, one in a line: all, or those of a package."""
    return "\n".join(npm_of(None, runas, env).cached(context.machine, path))


def cache_path(context: Context, runas: str | None = None, env: TextPairs | None = None) -> str:
    """Where npm's cache is."""
    return npm_of(None, runas, env).cache_folder(context.machine)


FUNCTIONS: Mapping[str, Any] = {
    "cache_clean": cache_clean,
    "cache_list": cache_list,
    "cache_path": cache_path,
    "install": install,
    "list": list_,
    "uninstall": uninstall,
}
