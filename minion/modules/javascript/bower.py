"""The execution module `bower`: packages of a project.

Behaviour: doc/ref/modules/all/salt.modules.bower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import TextPairs, Texts
from minion.execution.context import Context
from minion.providers.bower import bower_of


def install(
    context: Context, pkg: str | None, dir: str, pkgs: Texts = (), runas: str | None = None,  # noqa: A002
    env: TextPairs | None = None,
) -> bool:  # fmt: skip
    """Install packages, or without any what the folder's bower.json names; whether that changed anything."""
    return bool(bower_of(dir, runas, env).tell(context.machine, "install", (pkg,) if pkg else pkgs))


def uninstall(
    context: Context, pkg: str, dir: str, runas: str | None = None, env: TextPairs | None = None  # noqa: A002
) -> bool:  # fmt: skip
    """Remove a package; whether it was there."""
    return bool(bower_of(dir, runas, env).tell(context.machine, "uninstall", (pkg,)))


def list_(context: Context, dir: str, runas: str | None = None, env: TextPairs | None = None) -> dict[str, Any]:  # noqa: A002
    """Packages of a folder, with what bower tells of them."""
    return bower_of(dir, runas, env).listed(context.machine)


def prune(context: Context, dir: str, runas: str | None = None, env: TextPairs | None = None) -> dict[str, Any]:  # noqa: A002
    """Remove packages that the folder's bower.json does not name; those that were removed."""
    return bower_of(dir, runas, env).tell(context.machine, "prune")


FUNCTIONS: Mapping[str, Any] = {"install": install, "list": list_, "prune": prune, "uninstall": uninstall}
