"""The execution module `cabal`: packages of Haskell.

Behaviour: doc/ref/modules/all/salt.modules.cabal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import ListOfTexts, TextPairs
from minion.execution.context import Context
from minion.machine.plan import Completed
from minion.providers.haskell.cabal import cabal_of


def install(
    context: Context, pkg: str | None = None, pkgs: ListOfTexts | None = None, user: str | None = None,
    install_global: bool = False, env: TextPairs | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Install a package or several; what cabal says."""
    wanted = (pkg,) if pkg else pkgs or ()
    return _told(cabal_of(user, env).install(context.machine, wanted, install_global=install_global))


def list_(
    context: Context, pkg: str | None = None, user: str | None = None, installed: bool = False,
    env: TextPairs | None = None,
) -> dict[str, str]:  # fmt: skip
    """Packages whose names have this text, and their newest versions; with `installed` those that are installed."""
    found = cabal_of(user, env).listed(context.machine, pkg, installed=installed)
    return {name: versions[-1] for name, versions in found.items()}


def uninstall(context: Context, pkg: str, user: str | None = None, env: TextPairs | None = None) -> dict[str, Any]:
    """Have GHC forget a package; what ghc-pkg says."""
    return _told(cabal_of(user, env).uninstall(context.machine, pkg))


def update(context: Context, user: str | None = None, env: TextPairs | None = None) -> dict[str, Any]:
    """Read anew which packages there are; what cabal says."""
    return _told(cabal_of(user, env).update(context.machine))


def _told(done: Completed) -> dict[str, Any]:
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip(), "pid": done.pid}


FUNCTIONS: Mapping[str, Any] = {"install": install, "list": list_, "uninstall": uninstall, "update": update}
