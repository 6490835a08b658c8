"""pkg.list_pkgs, and what a change of packages came to: what both `module` and `debian` beside it need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.arguments import NoCache, NotSupported
from minion.execution.context import Context
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.packages import PackageManager

Changes = dict[str, dict[str, str]]
"""Package → `old` and `new` version."""


def manager_of(context: Context) -> PackageManager:
    """The package manager of this machine."""
    return package_manager(context.machine)


def list_pkgs(
    context: Context,
    versions_as_list: bool = False,
    removed: bool = False,
    purge_desired: NotSupported = False,
    use_context: NoCache = True,
    **options: Any,
) -> dict[str, Any]:
    """Every installed package with its version; with `removed`, those that left configuration files behind."""
    packages = manager_of(context).packages(context.machine).items()
    chosen = {name: one.version for name, one in sorted(packages) if one.installed is not removed}
    return {name: [one] for name, one in chosen.items()} if versions_as_list else chosen


def changes_between(before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
    """Package → its version before and after, where they differ; an empty string stands for not installed."""
    names = sorted({*before, *after})
    pairs = {name: {"old": before.get(name, ""), "new": after.get(name, "")} for name in names}
    return {name: pair for name, pair in pairs.items() if pair["old"] != pair["new"]}
