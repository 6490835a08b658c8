"""The state module `selinux`: the mode, booleans, modules of the policy, labels of files and ports.

Behaviour: doc/ref/states/all/salt.states.selinux.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

from minion.arguments.types import AnyValue, Reads, ToCome, Unfit, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.security import selinux
from minion.states.security.labels import (
    fcontext_policy_absent,
    fcontext_policy_applied,
    fcontext_policy_present,
    port_policy_absent,
    port_policy_present,
)

_ON, _OFF = ("1", "on", "yes", "true"), ("0", "off", "no", "false")


def as_booleans(value: Value) -> tuple[tuple[str, Value], ...]:
    """Names and values, of a mapping or a list; `...` where a name is alone."""
    if not value:
        return ()
    if isinstance(value, Mapping):
        return tuple((str(name), one) for name, one in value.items())
    if isinstance(value, str | int) or not isinstance(value, Iterable):
        raise Unfit("a list, or a mapping, of names of booleans")
    pairs: dict[str, Value] = {}
    for one in value:
        pairs.update({str(key): each for key, each in one.items()} if isinstance(one, Mapping) else {str(one): ...})
    return tuple(pairs.items())


SelinuxBooleans = Annotated[tuple[tuple[str, Value], ...], Reads(as_booleans, null=True)]


def mode(machine: Reader, name: str) -> Plan:
    """SELinux is in this mode (enforcing, permissive, disabled), after the next boot, too.

    To or from `disabled` it is the next boot that brings it.
    """
    wanted = _mode(name)
    now, later = selinux.current_mode(machine), selinux.configured_mode(machine)
    if later == wanted and (now == wanted or "Disabled" in (now, wanted)):
        more = "" if now == wanted else ", from the next boot on"
        return Plan(comment=f"SELinux is already in {wanted} mode{more}")
    if later is None and machine.stat(selinux.CONFIG) is None:
        raise StateFailed(f"Could not read SELinux config file: there is no {selinux.CONFIG}")
    old = later if now == wanted else now

    def act(machine: Machine) -> None:
        selinux.set_mode(machine, wanted)

    return Plan(
        changes=(
            Change(key="old", reported=old or "", act=act),
            Change(key="new", reported=wanted, act=lambda machine: None),
        ),
        pending=f"SELinux mode is set to be changed to {wanted}",
        done=f"SELinux has been set to {wanted} mode",
    )


def boolean(
    machine: Reader, name: str, *, value: AnyValue = None, booleans: SelinuxBooleans = (), persist: bool = False,
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The boolean, or each of `booleans`, has this value; with `persist` after the next boot, too."""
    wanted = dict(booleans) or {name: ...}
    found = selinux.booleans(machine)
    right, changes, new = [], {}, {}
    for one, given in wanted.items():
        if one not in found:
            raise selinux.lacking(f"Boolean {one} is not available", to_come)
        given = value if given is ... else given
        word = _switch(given)
        if word is None:
            raise StateFailed(f"{given} is not a valid value for the boolean {one}")
        has = found[one]
        if has.state == word and (has.default == word or not persist):
            right.append(one)
            continue
        new[one] = word
        before, after = ([has.state, has.default], [word, word]) if persist else (has.state, word)
        changes[one] = {"old": before, "new": after}
    fine = [f"The following booleans were in the correct state: {', '.join(sorted(right))}"] if right else []
    if not new:
        return Plan(comment="\n".join(fine))
    listed = ", ".join(sorted(new))

    def act(machine: Machine) -> None:
        try:
            selinux.set_booleans(machine, new, persist=persist)
        except StateFailed as failed:
            raise StateFailed(f"Failed to set the following booleans: {listed}: {failed}") from failed

    return Plan(
        changes=_together(changes, act),
        pending="\n".join([*fine, f"The following booleans would be changed: {listed}"]),
        done="\n".join([*fine, f"The following booleans have been changed: {listed}"]),
    )


def module(
    machine: Reader, name: str, *, module_state: AnyValue = "Enabled", version: str = "any", install: bool = False,
    remove: bool = False, source: str | None = None, saltenv: str = "base", to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The module of the policy is enabled, or disabled.

    With `install` it is that of the file `source`; with `remove` it is not there.
    """
    if install and remove:
        raise StateFailed("Cannot install and remove at the same time")
    if remove:
        return module_remove(machine, name)
    wanted = _enabled(module_state)
    if wanted is None:
        raise StateFailed(f"{module_state} is not a valid state for the {name} module.")
    if version != "any":
        raise StateFailed(
            f"Module version is None and does not match the desired version of {version} "
            "or you are using semodule >= 2.4"
        )
    found = selinux.modules(machine)
    steps: list[Callable[[Machine], None]] = []
    shown: dict[str, Value] = {}
    if install:
        file = selinux.module_file(machine, source or name, saltenv)
        if not (selinux.own_module(found.get(file.name)) and selinux.is_installed(machine, file)):
            steps.append(lambda machine: selinux.install_module(machine, file))
            shown["installed"] = file.name
        found = {file.name: selinux.SelinuxModule((), True), **found}
        name = file.name
    if name not in found:
        raise selinux.lacking(f"Module {name} is not available", to_come)
    if found[name].enabled != wanted:
        words = [_word(found[name].enabled), _word(wanted)]
        shown[name] = dict(zip(("old", "new"), words, strict=True))
        steps.append(lambda machine: selinux.told(machine, "semodule", f"--{'enable' if wanted else 'disable'}", name))
    if not steps:
        return Plan(comment=f"Module {name} is in the desired state")
    return Plan(
        changes=tuple(Change(key=key, reported=shown[key], act=act) for key, act in zip(shown, steps, strict=True)),
        pending=f"Module {name} is set to be {'installed' if 'installed' in shown else f'toggled to {module_state}'}",
        done=f"Module {name} has been {'installed' if 'installed' in shown else f'set to {module_state}'}",
    )


def module_install(machine: Reader, name: str, *, saltenv: str = "base") -> Plan:
    """The policy has the module of this file."""
    file = selinux.module_file(machine, name, saltenv)
    done = f"Module {name} has been installed"
    if selinux.own_module(selinux.modules(machine).get(file.name)) and selinux.is_installed(machine, file):
        return Plan(comment=f"Module {name} is installed")

    def act(machine: Machine) -> None:
        selinux.install_module(machine, file)

    change = Change(key="installed", reported=file.name, act=act)
    return Plan(changes=(change,), pending=f"Module {name} is set to be installed", done=done)


def module_remove(machine: Reader, name: str) -> Plan:
    """The policy has no such module beside its own ones."""
    found = selinux.modules(machine).get(name)
    if found is None:
        return Plan(comment=f"Module {name} is not available")
    if not selinux.own_module(found):
        raise StateFailed(f"Failed to remove module {name}: it is of the policy itself, and can be disabled")

    def act(machine: Machine) -> None:
        selinux.told(machine, "semodule", "--remove", name)

    return Plan(
        changes=(Change(key="removed", reported=name, act=act),),
        pending=f"Module {name} is set to be removed",
        done=f"Module {name} has been removed",
    )


def _together(changes: Mapping[str, Value], act: Callable[[Machine], None]) -> tuple[Change, ...]:
    return tuple(
        Change(key=key, reported=value, act=act if at == 0 else lambda machine: None)
        for at, (key, value) in enumerate(changes.items())
    )


def _mode(name: str) -> str:
    word = name.lower()
    if word.startswith("e") or word in ("1", "on", "true"):
        return "Enforcing"
    if word.startswith("p") or word in ("0", "off", "false"):
        return "Permissive"
    if word.startswith("d"):
        return "Disabled"
    raise StateFailed(f"{name} is not an accepted mode")


def _switch(value: Value) -> str | None:
    word = str(value).lower()
    return "on" if word in _ON else "off" if word in _OFF else None


def _enabled(value: Value) -> bool | None:
    word = str(value).lower()
    return True if word in (*_ON, "enabled") else False if word in (*_OFF, "disabled") else None


def _word(enabled: bool) -> str:
    return "enabled" if enabled else "disabled"


STATES: Mapping[str, StateFunction] = {
    "boolean": boolean,
    "fcontext_policy_absent": fcontext_policy_absent,
    "fcontext_policy_applied": fcontext_policy_applied,
    "fcontext_policy_present": fcontext_policy_present,
    "mode": mode,
    "module": module,
    "module_install": module_install,
    "module_remove": module_remove,
    "port_policy_absent": port_policy_absent,
    "port_policy_present": port_policy_present,
}
