"""The execution module `sysrc`: variables of FreeBSD's rc.conf.

Behaviour: saltext.freebsd.modules.sysrc.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Scalar
from minion.execution.context import Context
from minion.providers import sysrc
from minion.providers.sysrc import RcFiles


def get(
    context: Context,
    name: str | None = None,
    includeDefaults: bool = False,  # noqa: N803  (Salt's name)
    file: str | None = None,
    jail: str | None = None,
) -> Any:
    """File → variable → value: of one variable or of all; null where there is no such one."""
    return sysrc.variables(context.machine, RcFiles(file, jail), name, defaults=includeDefaults)


def set_(context: Context, name: str, value: Scalar, file: str | None = None, jail: str | None = None) -> Any:
    """Set a variable; what it is now."""
    files = RcFiles(file, jail)
    sysrc.assign(context.machine, files, name, sysrc.value_of(value))
    return sysrc.variables(context.machine, files, name)


def remove(context: Context, name: str, file: str | None = None, jail: str | None = None) -> str:
    """Remove a variable."""
    sysrc.remove(context.machine, RcFiles(file, jail), name)
    return f"{name} removed"


FUNCTIONS: Mapping[str, Any] = {"get": get, "remove": remove, "set": set_}
