"""The state module `kernelpkg`: the newest kernel is installed, and is the one that runs.

Behaviour: doc/ref/states/all/salt.states.kernelpkg of Salt 3006.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import Ignored, NumberOrText, Value, WatchedFun
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.kernels import Kernels

_OfWatch = Annotated[Value, Ignored("it means something once what is watched has changed")]


def latest_installed(machine: Reader, name: str) -> Plan:
    """The newest kernel that the repositories have is installed; it runs after the next boot."""
    kernels = Kernels(machine)
    newest = kernels.latest_available()
    if not newest:
        raise StateFailed("there is no package of a kernel of this kind")
    if newest in kernels.installed():
        return Plan(comment=f"The latest kernel package is already installed: {newest}")
    first, *others = kernels.predicted()
    changes = [Change(key=first.name, old=first.old, new=first.new, act=kernels.install)]
    changes += [Change(key=one.name, old=one.old, new=one.new, act=_with_it) for one in others]
    return Plan(
        changes=tuple(changes),
        pending=f"The latest kernel package will be installed: {newest}",
        done="The latest kernel package has been installed, but not activated.",
    )


def _with_it(machine: Machine) -> None:
    """It is installed with the kernel."""


def latest_active(machine: Reader, name: str, *, at_time: NumberOrText | None = None) -> Plan:
    """The newest kernel that is installed runs: the machine is booted where another one does."""
    kernels = Kernels(machine)
    active, newest = kernels.active(), kernels.latest_installed()
    if not kernels.needs_reboot():
        return Plan(comment=f"The latest installed kernel package is active: {active}")
    said = f"The system will be booted to activate kernel: {newest}"
    boot = Change(key="kernel", old=active, new=newest, act=lambda machine: _boot(machine, at_time))
    return Plan(changes=(boot,), pending=said, done=said, converges=False)


def _boot(machine: Machine, at_time: str | None) -> None:
    done = machine.run(["shutdown", "-r", at_time or "now"])
    if done.returncode != 0:
        raise StateFailed(f"The machine cannot be booted: {done.stderr.strip() or done.returncode}")


def latest_wait(machine: Reader, name: str, *, at_time: _OfWatch = None) -> Plan:
    """Nothing, until what is watched has changed: the machine is booted then, as by `latest_active`."""
    return Plan()


def mod_watch(machine: Reader, name: str, *, sfun: WatchedFun = "", at_time: NumberOrText | None = None) -> Plan:
    """The machine is booted, where a newer kernel waits for it."""
    if sfun not in ("latest_active", "latest_wait"):
        return Plan(comment=f"kernelpkg.{sfun} does not work with the watch requisite.", result=False)
    return latest_active(machine, name, at_time=at_time)


STATES: Mapping[str, StateFunction] = {
    "latest_active": latest_active,
    "latest_installed": latest_installed,
    "latest_wait": latest_wait,
}
