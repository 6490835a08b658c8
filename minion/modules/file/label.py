"""file.*, as far as it is about SELinux's labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.providers.security import file_contexts
from minion.providers.security.file_contexts import ContextWanted
from minion.providers.security.selinux import told, words


def get_selinux_context(context: Context, path: str) -> str:
    """The label of a path."""
    done = context.machine.query(["stat", "-c", "%C", "--", path])
    label = done.stdout.strip()
    return label if done.returncode == 0 and label != "?" else f"No selinux context information is available for {path}"


def set_selinux_context(
    context: Context,
    path: str,
    user: str | None = None,
    role: str | None = None,
    type: str | None = None,  # noqa: A002  (Salt's name)
    range: str | None = None,  # noqa: A002  (Salt's name)
    persist: bool = False,
) -> str | bool:
    """Give a path another label, or parts of it; with `persist` the policy has the rule, too."""
    given = [*words("-u", user), *words("-r", role), *words("-t", type), *words("-l", range)]
    if not given:
        return False
    if persist:
        wanted = ContextWanted(path, "a", type, user, range)
        file_contexts.put(context.machine, wanted, change=file_contexts.rule_of(context.machine, wanted) is not None)
    told(context.machine, "chcon", *given, "--", path)
    return get_selinux_context(context, path)


def restorecon(context: Context, path: str, recursive: bool = False) -> bool:
    """Give a path the label that the policy has for it."""
    file_contexts.relabel(context.machine, path, recursive=recursive)
    return True


FUNCTIONS: Mapping[str, Any] = {
    "get_selinux_context": get_selinux_context,
    "restorecon": restorecon,
    "set_selinux_context": set_selinux_context,
}
