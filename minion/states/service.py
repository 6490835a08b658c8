"""The service state: services running or dead, started at boot or not, restarted or reloaded on what they watch.

Called by the engine. `minion.providers.service.detection` knows which service manager there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from minion.arguments.types import Seconds, ToCome, WatchedFun, Word
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Completed, Machine, Plan, Reader
from minion.providers.service.detection import is_offline, mask_manager, service_manager
from minion.providers.service.services import ServiceManager, ServiceState, Verb

_LONGEST_DELAY = 3600
_OFFLINE = "Running in OFFLINE mode. Nothing to do"
_BRINGING = frozenset({"archive", "cmd", "git", "module", "pkg"})
"""States that may bring a service; a file does when it is a unit or an init script."""
_UNITS = ("/etc/systemd/", "/lib/systemd/", "/usr/lib/systemd/", "/usr/local/lib/systemd/", "/etc/init.d/")


class ServiceProcess(NamedTuple):
    """Arguments of running, dead and mod_watch: what the process of the service is, and how long it is waited for."""

    sig: str | None = None
    init_delay: Seconds | None = None
    no_block: bool = False


class Restart(NamedTuple):
    """Arguments of running: what is done when something that the service watches has changed."""

    reload: bool = False
    force: bool = False
    full_restart: bool = False


def running(
    machine: Reader,
    name: str,
    *,
    enable: Word | None = None,
    process: ServiceProcess,
    restart: Restart,
    unmask: bool = False,
    unmask_runtime: bool = False,
    enabled: Word | None = None,
) -> Plan:
    """The service runs, and is (`enable: True`) or is not (`False`) started at boot.

    `reload`, `force` and `full_restart` are for when something that it watches changes. Under systemd, `no_block` asks
    for the start and does not wait for it, and `unmask` first lets a masked service be started.
    """
    _refuse_enabled(name, enabled)
    wish = _wish(True, enable, process)
    if is_offline(machine):
        return Plan(comment=_OFFLINE)
    plan = _kept(machine, name, wish)
    return _with_unmask(machine, name, plan, runtime=unmask_runtime) if unmask else plan


def dead(
    machine: Reader,
    name: str,
    *,
    enable: Word | None = None,
    process: ServiceProcess,
    enabled: Word | None = None,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The service does not run, and is (`enable: True`) or is not (`False`) started at boot."""
    _refuse_enabled(name, enabled)
    wish = _wish(False, enable, process)
    if is_offline(machine):
        return Plan(comment=_OFFLINE)
    return _kept(machine, name, wish, to_come)


def enabled(machine: Reader, name: str) -> Plan:
    """The service is started at boot."""
    manager = service_manager(machine)
    found = manager.service(machine, name)
    if found is None:
        return _absent(manager, name, "enabled")
    return _switch_plan(manager, found, wanted=True)


def disabled(machine: Reader, name: str, *, to_come: ToCome = frozenset()) -> Plan:
    """The service is not started at boot."""
    manager = service_manager(machine)
    found = manager.service(machine, name)
    if found is None:
        return _absent_as_wanted(name, "disabled", to_come)
    return _switch_plan(manager, found, wanted=False)


def masked(machine: Reader, name: str, *, runtime: bool = False) -> Plan:
    """Nobody can start the service (until the next boot, when `runtime`)."""
    return _mask_plan(machine, name, wanted=True, runtime=runtime)


def unmasked(machine: Reader, name: str, *, runtime: bool = False) -> Plan:
    """The service is not masked."""
    return _mask_plan(machine, name, wanted=False, runtime=runtime)


def _mask_plan(machine: Reader, name: str, *, wanted: bool, runtime: bool) -> Plan:
    manager = mask_manager(machine)
    kind = "runtime masked" if runtime else "masked"
    word = kind if wanted else kind.replace("masked", "unmasked")
    if manager.masked(machine, name, runtime=runtime) == wanted:
        return Plan(comment=f"Service {name} {'is' if wanted else 'was'} already {word}")

    def act(machine: Machine) -> None:
        done = manager.mask(machine, name, masked=wanted, runtime=runtime)
        _require(done, f"Failed to {'mask' if wanted else 'unmask'} service {name}")

    return Plan(
        changes=(Change(key=kind, old=not wanted, new=wanted, act=act),),
        pending=f"Service {name} would be {word}",
        done=f"Service {name} was {word}",
    )


def mod_watch(
    machine: Reader,
    name: str,
    *,
    sfun: WatchedFun,
    process: ServiceProcess,
    restart: Restart,
) -> Plan:
    """What a service does when something that it watches has changed: restart, reload, start, or stop."""
    if sfun not in ("running", "dead"):
        raise StateFailed(f"Unable to trigger watch for service.{sfun}")
    delay = _delay(process.init_delay)
    if is_offline(machine):
        return Plan(comment=_OFFLINE)
    manager = service_manager(machine)
    found = manager.service(machine, name)
    if found is None:
        if sfun == "dead":
            return Plan(comment=_not_available(name))
        return _absent(manager, name, "started")
    runs = _runs(machine, found, process.sig)
    if sfun == "dead" and not runs:
        return Plan(comment="Service is already stopped")
    verb = _watch_verb(sfun, runs=runs, restart=restart)
    word = {"stop": "stop", "force-reload": "forcefully reload"}.get(verb, verb)
    past = "stopped" if verb == "stop" else f"{word}ed"

    def act(machine: Machine) -> None:
        full = restart.full_restart and verb == "restart"
        if verb == "start" or full:
            # What is left of a service that does not answer would be in the way of a new one.
            manager.control(machine, name, "stop")
        done = manager.control(machine, name, "start" if full else verb, block=not process.no_block)
        _require(done, f"Failed to {word} the service")
        time.sleep(delay)

    return Plan(
        changes=(Change(key=name, reported=True, act=act),),
        pending=f"Service is set to be {past}",
        done=f"Service {past}",
        converges=False,
    )


def _watch_verb(sfun: str, *, runs: bool, restart: Restart) -> Verb:
    if sfun == "dead":
        return "stop"
    if not runs:
        return "start"
    if not restart.reload:
        return "restart"
    return "force-reload" if restart.force else "reload"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What `running` or `dead` asks for."""

    run: bool
    enable: bool | None
    sig: str | None
    delay: float
    block: bool


def _refuse_enabled(name: str, given: bool | None) -> None:
    if given is not None:
        raise StateFailed(f'Service {name} uses non-existent option "enabled".  Perhaps "enable" option was intended?')


def _wish(run: bool, enable: bool | None, process: ServiceProcess) -> _Wish:
    delay = _delay(process.init_delay)
    return _Wish(run=run, enable=enable, sig=process.sig, delay=delay, block=not process.no_block)


def _with_unmask(machine: Reader, name: str, plan: Plan, *, runtime: bool) -> Plan:
    """The plan, after the service was unmasked; each comment has Salt's line about it."""
    manager = service_manager(machine)
    if manager.service(machine, name) is None:
        return plan
    first = _mask_plan(machine, name, wanted=False, runtime=runtime)
    if not first.changes:
        return replace(
            plan,
            comment=f"{plan.comment}\n{first.comment}",
            pending=f"{plan.pending}\n{first.comment}",
            done=f"{plan.done}\n{first.comment}",
        )
    return replace(
        plan,
        changes=(*first.changes, *plan.changes),
        pending=f"{plan.pending or plan.comment}\n{first.pending}",
        done=f"{plan.done or plan.comment}\n{first.done}",
    )


def _kept(machine: Reader, name: str, wish: _Wish, to_come: ToCome = frozenset()) -> Plan:
    """The plan of `running` and of `dead`."""
    run, wanted = wish.run, wish.enable
    manager = service_manager(machine)
    found = manager.service(machine, name)
    if found is None:
        return _absent(manager, name, "started") if run else _absent_as_wanted(name, "stopped", to_come)
    if _runs(machine, found, wish.sig) == run:
        there = f"The service {name} is already {'running' if run else 'dead'}"
        plan = None if wanted is None else _switch_plan(manager, found, wanted=wanted)
        return plan if plan is not None and plan.changes else Plan(comment=there)
    done = f"Started service {name}" if run else f"Service {name} was killed"
    switch = wanted is not None and found.switchable and found.enabled != wanted
    if wanted is not None:
        word = "enabled" if wanted else "disabled"
        done = f"Service {name} {'has been' if switch else 'is already'} {word}, and is {'running' if run else 'dead'}"
    if wish.delay and run:
        done += f"\nDelayed return for {wish.delay:g} seconds"
    turn = _switch(manager, name, wanted=bool(wanted), state="running" if run else "dead") if switch else None
    changes = [Change(key=name, reported=run, act=_toggle(manager, found, wish, turn))]
    return Plan(
        changes=tuple(changes),
        pending=f"Service {name} is set to start" if run else f"Service {name} is set to be killed",
        done=done,
        converges=wish.block,
    )


def _toggle(
    manager: ServiceManager, found: ServiceState, wish: _Wish, turn: Callable[[Machine], None] | None
) -> Callable[[Machine], None]:
    """Start or stop it; then `turn` has it started at boot or not, also where the start or the stop has failed."""
    verb: Verb = "start" if wish.run else "stop"

    def toggle(machine: Machine) -> None:
        failed = f"Service {found.name} failed to {'start' if wish.run else 'die'}"
        done = manager.control(machine, found.name, verb, block=wish.block)
        _require(done, failed)
        time.sleep(wish.delay)
        now = manager.service(machine, found.name)
        if wish.block and (now is None or _runs(machine, now, wish.sig) != wish.run):
            raise StateFailed(f"{failed}: the command to {verb} it succeeded{_said(done)}")

    def act(machine: Machine) -> None:
        try:
            toggle(machine)
        except StateFailed as failure:
            if turn is None:
                raise
            try:
                turn(machine)
            except StateFailed as second:
                raise StateFailed(f"{failure}\n{second}") from second
            word = "enabled" if wish.enable else "disabled"
            raise StateFailed(f"{failure}\nService {found.name} has been {word}", {found.name: True}) from failure
        if turn is not None:
            turn(machine)

    return act


def _switch_plan(manager: ServiceManager, found: ServiceState, *, wanted: bool) -> Plan:
    """Enabled or disabled, the service itself being as it shall be."""
    word = "enabled" if wanted else "disabled"
    if found.enabled == wanted or not found.switchable:
        warnings: tuple[str, ...] = ()
        if not found.switchable:
            warnings = (f"Service {found.name} can be neither enabled nor disabled: something else starts it",)
        comment = f"Service {found.name} is already {word}, and is in the desired state"
        return Plan(comment=comment, warnings=warnings)
    return Plan(
        changes=(Change(key=found.name, reported=True, act=_switch(manager, found.name, wanted=wanted, state="")),),
        pending=f"Service {found.name} set to be {word}",
        done=f"Service {found.name} has been {word}, and is in the desired state",
    )


def _switch(manager: ServiceManager, name: str, *, wanted: bool, state: str) -> Callable[[Machine], None]:
    verb = "start" if wanted else "not start"
    known = f"the service is {state}" if state else "the service was already as it should be"

    def act(machine: Machine) -> None:
        done = manager.enable(machine, name, enabled=wanted)
        _require(done, f"Failed when setting service {name} to {verb} at boot, but {known}")

    return act


def _absent(manager: ServiceManager, name: str, word: str) -> Plan:
    """A service that is not there may come with a package of the same run: under test that is no failure."""

    def act(machine: Machine) -> None:
        if manager.service(machine, name) is None:
            raise StateFailed(_not_available(name))

    return Plan(
        changes=(Change(key="", act=act),),
        pending=f"Service {name} not present; if created in this state run, it would have been {word}",
    )


def _absent_as_wanted(name: str, word: str, to_come: ToCome) -> Plan:
    """A service that is not there need not be stopped or disabled; one that an earlier state of a test run would bring
    would have to be. Salt says so of every service that is not there, for `dead`, and of none for `disabled`."""
    if any(state in _BRINGING or (state == "file" and one.startswith(_UNITS)) for state, one in to_come):
        return Plan(
            changes=(Change(key="", act=_nothing),),
            pending=f"Service {name} not present; if created in this state run, it would have been {word}",
        )
    return Plan(comment=_not_available(name))


def _nothing(machine: Machine) -> None:
    """Under test=True alone."""


def _not_available(name: str) -> str:
    return f"The named service {name} is not available"


def _runs(machine: Reader, found: ServiceState, sig: str | None) -> bool:
    """Whether it runs: as its manager says, or by a process whose command line holds `sig`."""
    if not sig:
        return found.running
    return machine.query(["pgrep", "--full", "--", sig]).returncode == 0


def _require(done: Completed, failed: str) -> None:
    if done.returncode != 0:
        raise StateFailed(f"{failed}: exit code {done.returncode}{_said(done)}")


def _said(done: Completed) -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-10:]
    return "\n" + "\n".join(lines) if lines else ""


def _delay(seconds: float | None) -> float:
    if seconds is not None and not 0 <= seconds <= _LONGEST_DELAY:
        raise StateFailed(f"init_delay is {seconds!r}: it is a number of seconds from 0 to {_LONGEST_DELAY}")
    return seconds or 0.0


STATES = {
    "dead": dead,
    "disabled": disabled,
    "enabled": enabled,
    "masked": masked,
    "running": running,
    "unmasked": unmasked,
}
