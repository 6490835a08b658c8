"""The execution module `pecl`: extensions of PHP.

Behaviour: doc/ref/modules/all/salt.modules.pecl. What pecl does not do is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Texts
from minion.execution.context import Context
from minion.providers import pecl


def install(
    context: Context, pecls: Texts, defaults: bool = False, force: bool = False, preferred_state: str = "stable"
) -> bool:
    """Install extensions. With `defaults` questions are answered by what they offer."""
    pecl.install(context.machine, pecls, defaults=defaults, force=force, preferred_state=preferred_state)
    return True


def uninstall(context: Context, pecls: Texts) -> str:
    """Remove extensions; what pecl says."""
    return pecl.uninstall(context.machine, pecls)


def update(context: Context, pecls: Texts) -> str:
    """Bring extensions to their newest versions; what pecl says."""
    return pecl.upgrade(context.machine, pecls)


def list_(context: Context, channel: str | None = None) -> dict[str, list[str]]:
    """Extensions that are installed, with version and stability."""
    return pecl.listed(context.machine, channel)


FUNCTIONS: Mapping[str, Any] = {"install": install, "list": list_, "uninstall": uninstall, "update": update}
