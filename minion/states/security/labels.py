"""States of SELinux's rules about files and ports, and of the labels that files have."""

from __future__ import annotations

from collections.abc import Callable

from minion.arguments.types import NumberOrText
from minion.machine.failure import StateFailed
from minion.machine.plan import NULL, Change, Machine, Plan, Reader, Value
from minion.providers.security import file_contexts, ports
from minion.providers.security.file_contexts import ContextWanted
from minion.providers.security.ports import SelinuxPort


def fcontext_policy_present(
    machine: Reader, name: str, *, sel_type: str, filetype: str = "a", sel_user: str | None = None,
    sel_level: str | None = None,
) -> Plan:  # fmt: skip
    """The policy has this rule about the labels of files. It is `fcontext_policy_applied` that sets labels."""
    wanted = ContextWanted(name, filetype, sel_type, sel_user, sel_level)
    kind, found = wanted.title, file_contexts.rule_of(machine, wanted)
    what = f'SELinux policy for "{name}"'
    old: Value = {}
    new: Value = {name: {"filetype": kind, "sel_type": sel_type}}
    if found is not None:
        differing = wanted.differences(found)
        if not differing:
            return Plan(
                comment=f'{what} already present with specified filetype "{kind}" and sel_type "{sel_type}".'
            )  # fmt: skip
        has = found.shown()
        old, new = {name: {part: has[part] for part in differing}}, {name: differing}

    def act(machine: Machine) -> None:
        try:
            file_contexts.put(machine, wanted, change=found is not None)
        except StateFailed as failed:
            raise StateFailed(f"Error adding new rule: {failed}") from failed

    return _turning(old, new, act, pending=f"{what} would be set", done=f"{what} has been set")


def fcontext_policy_absent(
    machine: Reader, name: str, *, filetype: str = "a", sel_type: str | None = None, sel_user: str | None = None,
    sel_level: str | None = None,
) -> Plan:  # fmt: skip
    """The policy has no such rule about the labels of files."""
    wanted = ContextWanted(name, filetype, sel_type, sel_user, sel_level)
    what = f'SELinux policy for "{name}"'
    found = file_contexts.rule_of(machine, wanted)
    if found is None or wanted.differences(found):
        return Plan(comment=f'{what} already absent with specified filetype "{filetype}" and sel_type "{sel_type}".')
    if file_contexts.rule_of(machine, wanted, local=True) is None:
        raise StateFailed(f"Error removing policy: the rule for {name} is of the policy itself: it cannot be removed")

    def act(machine: Machine) -> None:
        try:
            file_contexts.remove(machine, wanted)
        except StateFailed as failed:
            raise StateFailed(f"Error removing policy: {failed}") from failed

    return _turning({name: found.shown()}, {}, act, pending=f"{what} would be removed", done=f"{what} has been removed")


def fcontext_policy_applied(machine: Reader, name: str, *, recursive: bool = False) -> Plan:
    """The file or folder, with all below it when `recursive`, has the labels that the policy has for it."""
    if machine.stat(name) is None:
        raise StateFailed(f"{name} does not exist")
    if not file_contexts.mislabelled(machine, name, recursive=recursive, whole=False):
        return Plan(comment=f'SElinux policies are already applied for filespec "{name}"')
    wrong = file_contexts.mislabelled(machine, name, recursive=recursive, whole=True)

    def act(machine: Machine) -> None:
        file_contexts.relabel(machine, name, recursive=recursive)

    changes = tuple(
        Change(key=path, reported=file_contexts.changed_parts(*both), act=act if at == 0 else lambda machine: None)
        for at, (path, both) in enumerate(wrong.items())
    )
    what = f'SElinux policies of filespec "{name}"'
    return Plan(changes=changes, pending=f"{what} would be applied", done=f"{what} have been applied")


def port_policy_present(
    machine: Reader, name: str, *, sel_type: str, protocol: str | None = None, port: NumberOrText | None = None,
    sel_range: str | None = None,
) -> Plan:  # fmt: skip
    """The port has this type in the policy. `sel_range` is set with a change, and not compared."""
    wanted = SelinuxPort.of(name, protocol, port)
    found = ports.rules_of(machine, wanted)
    if any(one.sel_type == sel_type for one in found):
        return Plan(comment=_port_comment(name, "present", sel_type, protocol, port))

    def act(machine: Machine) -> None:
        try:
            ports.put(machine, wanted, sel_type, sel_range, change=bool(found))
        except StateFailed as failed:
            raise StateFailed(f"Error adding new policy: {failed}") from failed

    old = _port_shown(wanted, found[-1].sel_type) if found else None
    what = f'SELinux policy for "{name}"'
    return _turning(
        old, _port_shown(wanted, sel_type), act, pending=f"{what} would be set", done=f"{what} has been set"
    )  # fmt: skip


def port_policy_absent(
    machine: Reader, name: str, *, sel_type: str | None = None, protocol: str | None = None,
    port: NumberOrText | None = None,
) -> Plan:  # fmt: skip
    """The policy has no rule of its own about the port; with `sel_type` none that gives it this type."""
    wanted = SelinuxPort.of(name, protocol, port)
    found = [one for one in ports.rules_of(machine, wanted) if sel_type in (None, one.sel_type)]
    if not found:
        return Plan(comment=_port_comment(name, "absent", sel_type, protocol, port))
    local = [one for one in ports.rules_of(machine, wanted, local=True) if sel_type in (None, one.sel_type)]
    if not local:
        text = f"the rule for {wanted.protocol}/{wanted.port} is of the policy itself: it cannot be removed"
        raise StateFailed(f"Error deleting policy: {text}")

    def act(machine: Machine) -> None:
        try:
            ports.remove(machine, wanted)
        except StateFailed as failed:
            raise StateFailed(f"Error deleting policy: {failed}") from failed

    what = f'SELinux policy for "{name}"'
    old = _port_shown(wanted, local[0].sel_type)
    return _turning(old, None, act, pending=f"{what} would be removed", done=f"{what} has been removed")


def _port_shown(port: SelinuxPort, sel_type: str) -> Value:
    return {"sel_type": sel_type, "protocol": port.protocol, "port": port.port}


def _port_comment(name: str, what: str, sel_type: str | None, protocol: str | None, port: str | None) -> str:
    return (
        f'SELinux policy for "{name}" already {what} with specified sel_type "{sel_type}", protocol "{protocol}" '
        f'and port "{port}".'
    )


def _turning(old: Value, new: Value, act: Callable[[Machine], None], *, pending: str, done: str) -> Plan:
    """One act, shown as `old` and `new`."""
    shown = {"old": NULL if old is None else old, "new": NULL if new is None else new}
    changes = tuple(
        Change(key=key, reported=value, act=act if key == "old" else lambda machine: None)
        for key, value in shown.items()
    )
    return Plan(changes=changes, pending=pending, done=done)
