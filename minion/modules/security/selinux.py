"""The execution module `selinux`: the mode, booleans, modules of the policy, labels of files and ports.

Behaviour: doc/ref/modules/all/salt.modules.selinux. What a program of SELinux refuses is an error, with its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, Map, NumberOrText
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.security import file_contexts, ports, selinux
from minion.providers.security.file_contexts import ContextWanted
from minion.providers.security.ports import SelinuxPort
from minion.providers.security.selinux import SelinuxBoolean, SelinuxModule

_MODES = ("Enforcing", "Permissive", "Disabled")
_DONE: Mapping[str, Any] = {"retcode": 0, "stdout": "", "stderr": ""}


def selinux_fs_path(context: Context) -> str | None:
    """Where the kernel's SELinux is mounted; None where it is disabled."""
    folders = ("/sys/fs/selinux", "/selinux")
    return next((one for one in folders if context.machine.stat(f"{one}/enforce") is not None), None)


def getenforce(context: Context) -> str:
    """The mode: Enforcing, Permissive or Disabled."""
    return selinux.current_mode(context.machine)


def getconfig(context: Context) -> str | None:
    """The mode of the configuration."""
    return selinux.configured_mode(context.machine)


def setenforce(context: Context, mode: str) -> str:
    """Set the mode, of the configuration, too; the mode that it is."""
    if mode.capitalize() not in _MODES:
        raise CallFailed(f"Invalid mode {mode}")
    if context.machine.stat(selinux.CONFIG) is None:
        raise CallFailed(f"Could not read SELinux config file: there is no {selinux.CONFIG}")
    selinux.set_mode(context.machine, mode.capitalize())
    return selinux.current_mode(context.machine)


def getsebool(context: Context, boolean: str) -> dict[str, str]:
    """State, default and description of a boolean; empty where there is none."""
    found = selinux.booleans(context.machine).get(boolean)
    return {} if found is None else _boolean(found)


def setsebool(context: Context, boolean: str, value: AnyValue, persist: bool = False) -> bool:
    """Set a boolean, for the next boot, too, when `persist`."""
    return setsebools(context, {boolean: value}, persist)


def setsebools(context: Context, pairs: Map, persist: bool = False) -> bool:
    """Set several at once."""
    words = {str(name): _switch(value) for name, value in pairs.items()}
    selinux.set_booleans(context.machine, words, persist=persist)
    return True


def list_sebool(context: Context) -> dict[str, dict[str, str]]:
    """All booleans."""
    return {name: _boolean(one) for name, one in selinux.booleans(context.machine).items()}


def getsemod(context: Context, module: str) -> dict[str, Any]:
    """Whether a module is enabled; empty where there is none."""
    found = selinux.modules(context.machine).get(module)
    return {} if found is None else _module(found)


def setsemod(context: Context, module: str, state: str) -> bool:
    """Enable or disable a module."""
    verbs = {"enabled": "--enable", "disabled": "--disable"}
    if state.lower() not in verbs:
        raise CallFailed(f"Invalid state {state}")
    selinux.told(context.machine, "semodule", verbs[state.lower()], module)
    return True


def install_semod(context: Context, module_path: str) -> bool:
    """Install a module from a file of the machine or of the tree."""
    selinux.install_module(context.machine, selinux.module_file(context.machine, module_path))
    return True


def remove_semod(context: Context, module: str) -> bool:
    """Remove a module that somebody installed."""
    selinux.told(context.machine, "semodule", "--remove", module)
    return True


def list_semod(context: Context) -> dict[str, dict[str, Any]]:
    """All modules of the policy."""
    return {name: _module(one) for name, one in selinux.modules(context.machine).items()}


def filetype_id_to_string(context: Context, filetype: str = "a") -> str:
    """The kind of file of a letter, in semanage's words."""
    return ContextWanted("", filetype).title


def fcontext_get_policy(
    context: Context, name: str, filetype: str | None = None, sel_type: str | None = None,
    sel_user: str | None = None, sel_level: str | None = None,
) -> dict[str, str] | None:  # fmt: skip
    """The rule about the labels of files with this name; None where there is none."""
    for kind in [filetype] if filetype else file_contexts.FILE_TYPES:
        wanted = ContextWanted(name, kind, sel_type, sel_user, sel_level)
        found = file_contexts.rule_of(context.machine, wanted)
        if found is not None and not wanted.differences(found):
            return found.shown()
    return None


def fcontext_add_policy(
    context: Context, name: str, filetype: str | None = None, sel_type: str | None = None,
    sel_user: str | None = None, sel_level: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Add a rule about the labels of files, or change the one that there is."""
    wanted = ContextWanted(name, filetype or "a", sel_type, sel_user, sel_level)
    file_contexts.put(context.machine, wanted, change=file_contexts.rule_of(context.machine, wanted) is not None)
    return dict(_DONE)


def fcontext_delete_policy(
    context: Context, name: str, filetype: str | None = None, sel_type: str | None = None,
    sel_user: str | None = None, sel_level: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Take a rule about the labels of files away that somebody added."""
    file_contexts.remove(context.machine, ContextWanted(name, filetype or "a", sel_type, sel_user, sel_level))
    return dict(_DONE)


def fcontext_policy_is_applied(context: Context, name: str, recursive: bool = False) -> str:
    """What restorecon would change; empty where the labels are as the policy has them."""
    wrong = file_contexts.mislabelled(context.machine, name, recursive=recursive, whole=False)
    return "\n".join(f"Would relabel {path} from {old} to {new}" for path, (old, new) in wrong.items())


def fcontext_apply_policy(context: Context, name: str, recursive: bool = False) -> dict[str, Any]:
    """Give files the labels that the policy has for them; what was another."""
    wrong = file_contexts.mislabelled(context.machine, name, recursive=recursive, whole=True)
    file_contexts.relabel(context.machine, name, recursive=recursive)
    return {**_DONE, "changes": {path: file_contexts.changed_parts(*both) for path, both in wrong.items()}}


def port_get_policy(
    context: Context, name: str, sel_type: str | None = None, protocol: str | None = None,
    port: NumberOrText | None = None,
) -> dict[str, str] | None:  # fmt: skip
    """The rule that names this port, with all ports of the type; None where there is none."""
    found = ports.rules_of(context.machine, SelinuxPort.of(name, protocol, port))
    return next((one._asdict() for one in found if sel_type in (None, one.sel_type)), None)


def port_add_policy(
    context: Context, name: str, sel_type: str | None = None, protocol: str | None = None,
    port: NumberOrText | None = None, sel_range: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Give a port a type."""
    if not sel_type:
        raise CallFailed("SELinux Type is required to add a policy")
    ports.put(context.machine, SelinuxPort.of(name, protocol, port), sel_type, sel_range, change=False)
    return dict(_DONE)


def port_modify_policy(
    context: Context, name: str, sel_type: str | None = None, protocol: str | None = None,
    port: NumberOrText | None = None, sel_range: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Give a port another type or range."""
    ports.put(context.machine, SelinuxPort.of(name, protocol, port), sel_type or "", sel_range, change=True)
    return dict(_DONE)


def port_delete_policy(
    context: Context, name: str, protocol: str | None = None, port: NumberOrText | None = None
) -> dict[str, Any]:  # fmt: skip
    """Take the rule of a port away that somebody added."""
    ports.remove(context.machine, SelinuxPort.of(name, protocol, port))
    return dict(_DONE)


def _boolean(one: SelinuxBoolean) -> dict[str, str]:
    return {"State": one.state, "Default": one.default, "Description": one.description}


def _module(one: SelinuxModule) -> dict[str, Any]:
    return {"Enabled": one.enabled, "Version": None}


def _switch(value: Any) -> str:
    word = str(value).lower()
    if word not in ("on", "off", "1", "0", "true", "false"):
        raise CallFailed(f"{value} is no value of a boolean: on or off")
    return word


FUNCTIONS: Mapping[str, Any] = {
    "fcontext_add_policy": fcontext_add_policy,
    "fcontext_apply_policy": fcontext_apply_policy,
    "fcontext_delete_policy": fcontext_delete_policy,
    "fcontext_get_policy": fcontext_get_policy,
    "fcontext_policy_is_applied": fcontext_policy_is_applied,
    "filetype_id_to_string": filetype_id_to_string,
    "getconfig": getconfig,
    "getenforce": getenforce,
    "getsebool": getsebool,
    "getsemod": getsemod,
    "install_semod": install_semod,
    "list_sebool": list_sebool,
    "list_semod": list_semod,
    "port_add_policy": port_add_policy,
    "port_delete_policy": port_delete_policy,
    "port_get_policy": port_get_policy,
    "port_modify_policy": port_modify_policy,
    "remove_semod": remove_semod,
    "selinux_fs_path": selinux_fs_path,
    "setenforce": setenforce,
    "setsebool": setsebool,
    "setsebools": setsebools,
    "setsemod": setsemod,
}
