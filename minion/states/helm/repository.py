"""helm.repo_managed and helm.repo_updated."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import List, Texts, ToCome
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.providers.helm.program import HelmFlags, HelmProgram
from minion.providers.helm.repositories import known_repositories, shown_url, wanted_repositories


def repo_managed(
    machine: Reader, name: str, *, present: List = [], absent: Texts = (), prune: bool = False,  # noqa: B006
    repo_update: bool = False, flags: HelmFlags, to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """Helm knows the repositories `present` and none of `absent`; with `prune` no others.

    One that has another URL is added anew. `repo_update`: what they offer is asked where one was added or removed.
    """
    wanted = wanted_repositories(present)
    helm = HelmProgram(to_come)
    known = known_repositories(machine, helm, flags)
    added = {each: url for each, url in wanted.items() if known.get(each) != url}
    removed = sorted(each for each in known if each not in wanted and (prune or each in absent))
    if not added and not removed:
        return Plan(comment="Helm repo is managed.")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        for each, url in added.items():
            helm.run(machine, ["repo", "add", each, url, *(["--force-update"] if each in known else []),
                               *flags.words()])  # fmt: skip
        for each in removed:
            helm.run(machine, ["repo", "remove", each, *flags.of_cluster().words()])
        if repo_update:
            helm.run(machine, ["repo", "update", *flags.of_cluster().words()])

    shown: dict[str, Any] = {
        "added": [{"name": each, "url": shown_url(url)} for each, url in added.items()],
        "removed": removed,
        "repo_update": repo_update,
    }
    first, *others = [key for key, value in shown.items() if value]
    changes = [Change(key=first, reported=shown[first], act=act)]
    changes += [Change(key=key, reported=shown[key], act=_with_the_first) for key in others]
    return Plan(
        changes=tuple(changes),
        pending="Helm repo would have been managed.",
        done="Repositories were added or removed.",
    )


def _with_the_first(machine: Machine) -> None:
    """The first change does all of it."""


def repo_updated(machine: Reader, name: str, *, flags: HelmFlags, to_come: ToCome = frozenset()) -> Plan:
    """Have Helm ask its repositories what they offer, each time."""
    helm = HelmProgram(to_come)
    known = sorted(known_repositories(machine, helm, flags))

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        helm.run(machine, ["repo", "update", *flags.words()])

    return Plan(
        changes=(Change(key="updated", reported=known, act=act),),
        pending="Helm repo would have been updated.",
        done="Helm repo is updated.",
        converges=False,
        each_time=True,
    )
