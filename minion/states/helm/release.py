"""helm.release_present and helm.release_absent."""

from __future__ import annotations

from functools import partial

from minion.arguments.types import AnyValue, Texts, ToCome
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.providers.helm.program import HelmFlags, HelmProgram, values_text
from minion.providers.helm.releases import Upgrade, differences, found_release


def release_present(
    machine: Reader, name: str, *, chart: str, values: AnyValue = None, version: str | None = None,
    set: Texts = (), saltenv: str = "base", flags: HelmFlags, to_come: ToCome = frozenset(),  # noqa: A002  (Salt's name)
) -> Plan:  # fmt: skip
    """There is a release of this chart with these values; one that differs is upgraded.

    `values`: a mapping, a file of the minion or of `salt://`, or a list of them, later ones over earlier ones. What
    Helm would make of it (`--dry-run=server`) is compared with what it has made.
    """
    helm = HelmProgram(to_come)
    words = [chart, *(["--version", version] if version else []), *flags.words()]
    words += [word for one in set for word in ("--set", one)]
    upgrade = Upgrade(helm=helm, name=name, words=words, values=values_text(machine, values, saltenv))
    different = differences(found_release(machine, helm, name, flags), upgrade.foretold(machine))
    if not different:
        return Plan(comment=f"Helm release {name} is present")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        upgrade.carry_out(machine)

    first, *others = different
    changes = [Change(key=first, reported=different[first], act=act)]
    changes += [Change(key=key, reported=different[key], act=_with_the_first) for key in others]
    return Plan(
        changes=tuple(changes),
        pending="Helm release would have been installed or updated.",
        done=f"Helm release {name} is present",
    )


def _with_the_first(machine: Machine) -> None:
    """The first change is the whole upgrade."""


def release_absent(machine: Reader, name: str, *, flags: HelmFlags, to_come: ToCome = frozenset()) -> Plan:
    """There is no such release."""
    helm = HelmProgram(to_come)
    if found_release(machine, helm, name, flags) is None:
        return Plan(comment=f"Helm release {name} is absent.")
    return Plan(
        changes=(Change(key="absent", reported=name, act=partial(_uninstall, helm, name, flags)),),
        pending="Helm release would have been uninstalled.",
        done=f"Helm release {name} is absent.",
    )


def _uninstall(helm: HelmProgram, name: str, flags: HelmFlags, machine: Machine) -> None:
    machine.begin_elsewhere()
    helm.run(machine, ["uninstall", name, *flags.words()])
