"""network.managed: an interface is configured, and is up or down.

Behaviour: doc/ref/states/all/salt.states.network. An act of Salt's that is not foretold (ifup, ifdown, ifenslave) is
here a change like the others, and one that fails is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minion.arguments.types import Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.providers.network.detection import has_program, network_files
from minion.providers.network.files import InterfaceWish, NetworkFiles, WantedFiles, diff_of, require, write_all
from minion.providers.network.ifcfg import Ifcfg
from minion.providers.network.ifupdown import Ifupdown
from minion.providers.network.known_settings import check_names
from minion.providers.network.links import links, slaves_of
from minion.providers.network.values import checked_name, words
from minion.states.network.effect import restart

_WRONG_NAME = "'addr' is not a valid argument name, {}. Update your SLS file to get rid of this warning."


def managed(
    machine: Reader,
    name: str,
    *,
    type: str = "eth",  # noqa: A002  (Salt's name)
    enabled: bool = True,
    noifupdown: bool = False,
    provider: str = "",
    **settings: Value,
) -> Plan:
    """The interface is configured so; it is up, or with `enabled: False` down, unless `noifupdown` says otherwise."""
    files, warnings = network_files(machine), _named_rightly(settings)
    settings.pop("test", None)
    if provider:
        settings["provider"] = provider
    check_names(settings.keys())
    wish = InterfaceWish(name=checked_name(name), kind=type.lower(), enabled=enabled, settings=settings)
    changes, said = _written(machine, files, wish)
    if wish.kind == "source":
        return _plan(name, changes, said, warnings)
    if isinstance(files, Ifcfg) and "range" in name:
        if changes:
            changes.append(Change(key="", act=lambda machine: restart(machine, ("network",))))
            said = (said[0], "network restarted for change of ranged interfaces")
        return _plan(name, changes, said, warnings)
    if not noifupdown:
        changes += _switched(machine, files, wish, changed=bool(changes))
        if wish.kind == "bond" and isinstance(files, Ifupdown | Ifcfg):
            changes += _enslaved(machine, wish)
    return _plan(name, changes, said, warnings)


def _named_rightly(settings: dict[str, Value]) -> tuple[str, ...]:
    if "addr" not in settings:
        return ()
    address = settings.pop("addr")
    if "hwaddr" in settings:
        return (_WRONG_NAME.format("it has been ignored in favor of 'hwaddr'"),)
    settings["hwaddr"] = address
    return (_WRONG_NAME.format("its value has been assigned to 'hwaddr' instead"),)


_Said = tuple[str, str]
"""The comments of a test run and of a real one."""


def _written(machine: Reader, files: NetworkFiles, wish: InterfaceWish) -> tuple[list[Change], _Said]:
    """What has to be written, and what is said of it."""
    wanted = files.wanted_interface(machine, wish)
    _check_programs(machine, files, wish)
    changes, said = _compared(
        "interface", f"Interface {wish.name}", "Added network interface.", files.interface(machine, wish.name), wanted
    )
    if wish.kind == "bond" and isinstance(files, Ifupdown):
        of_bond = files.wanted_bond(wish.name, wish.settings)
        more, said_of_bond = _compared(
            "bond", f"Bond interface {wish.name}", f"Added bond {wish.name}.", files.bond(machine, wish.name), of_bond
        )
        changes += more
        said = said_of_bond if more else said
    return changes, said


def _check_programs(machine: Reader, files: NetworkFiles, wish: InterfaceWish) -> None:
    """StateFailed where the interface could not be brought up. Salt installs the package, under test=True, too."""
    needed = {"bridge": ("brctl", "bridge-utils"), "bond": ("ifenslave", "ifenslave"), "pppoe": ("pppd", "ppp")}
    program, package = needed.get(wish.kind, ("", ""))
    scripts = machine.stat(f"/etc/network/if-pre-up.d/{program}") is not None  # all that Debian's ifenslave has now
    if isinstance(files, Ifupdown) and program and not scripts and not has_program(machine, program):
        raise StateFailed(
            f"{program} is not there, which {wish.kind} interfaces need: install {package} by pkg.installed"
        )


def _compared(
    key: str, title: str, added: str, there: Sequence[str], wanted: WantedFiles
) -> tuple[list[Change], _Said]:
    if list(there) == list(wanted.shown):
        return [], ("", "")
    reported, pending, done = added, f"{title} is set to be added.", f"{title} added."
    if there:
        reported = diff_of(there, wanted.shown)
        pending, done = f"{title} is set to be updated:\n{reported}", f"{title} updated."
    write = Change(key=key, reported=reported, act=lambda machine: write_all(machine, wanted.files))
    return [write], (pending, done)


def _switched(machine: Reader, files: NetworkFiles, wish: InterfaceWish, *, changed: bool) -> list[Change]:
    """What brings the interface up, down, or down and up again."""
    if wish.kind in files.follow:
        return []
    name, kind, link = wish.name, wish.kind, links(machine).get(wish.name)
    is_up = link is not None and link.up
    if wish.enabled and is_up and changed:
        return [
            Change(
                key="status",
                reported=f"Interface {name} restart to validate",
                act=_telling(files, name, kind, "down", "up"),
            )
        ]
    if wish.enabled and not is_up:
        return [Change(key="status", reported=f"Interface {name} is up", act=_telling(files, name, kind, "up"))]
    if not wish.enabled and is_up:
        return [Change(key="status", reported=f"Interface {name} down", act=_telling(files, name, kind, "down"))]
    return []


def _telling(files: NetworkFiles, name: str, kind: str, *verbs: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        for verb in verbs:
            tell = files.up if verb == "up" else files.down
            done = tell(machine, name, kind)
            if verb == verbs[-1]:  # what cannot be taken down may still come up
                require(done, f"Interface {name} cannot be brought {verb}", f"that brings it {verb}")

    return act


def _enslaved(machine: Reader, wish: InterfaceWish) -> list[Change]:
    """What makes interfaces members of a bond that are none yet."""
    wanted, name = words(wish.settings.get("slaves") or ()), wish.name
    missing = sorted(set(wanted) - set(slaves_of(machine, name)) - {"none", "all"})
    if not wish.enabled or not missing:
        return []

    def act(machine: Machine) -> None:
        lacking = sorted(set(missing) - set(slaves_of(machine, name)))
        for slave in lacking:  # an interface that is up does not become a member
            for change in (["down"], ["master", name]):
                done = machine.run(["ip", "link", "set", "dev", slave, *change])
                require(done, f"{slave} does not become a slave of {name}", "ip")

    said = f"Added slaves '{' '.join(missing)}' to master '{name}'"
    return [Change(key="enslave", reported=said, act=act)]


def _plan(name: str, changes: Sequence[Change], said: _Said, warnings: tuple[str, ...]) -> Plan:
    idle = f"Interface {name} is up to date."
    status = next((str(one.reported) for one in changes if one.key in ("status", "enslave")), idle)
    return Plan(
        changes=tuple(changes), comment=idle, pending=said[0] or status, done=said[1] or idle, warnings=warnings
    )
