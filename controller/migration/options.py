"""The items of a configuration's options, and the options that our loaders take of it. Called by `check`.

Of an option that is a list or a mapping of things apart (remotes, reactors, jobs, methods of login) each is an item of
its own: those that are not taken are left out of the converted file, and the others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.config.sections import is_profile
from controller.migration import trial
from controller.migration.items import Item, Judgement
from controller.migration.option_table import PLACES, is_known, judge_option
from controller.migration.salt_files import ConfigurationKind, is_set
from highstate.ports import SECRET_SOURCES
from minion.beacons.registry import MODULES, NOT_HERE
from minion.returners.registry import BUILT_IN as RETURNERS
from options.document import Option

_PARTS: Mapping[str, str] = {
    "gitfs_remotes": "git remote",
    "ext_pillar": "external pillar",
    "reactor": "reactor",
    "schedule": "job",
    "beacons": "beacon",
    "engines": "engine",
    "external_auth": "login",
    "publisher_acl": "access",
    "client_acl": "access",
    "peer": "access",
    "peer_run": "access",
    "nodegroups": "nodegroup",
    "master_tops": "external top",
    "mine_functions": "mine function",
    "event_return": "returner",
    "file_roots": "folder",
    "pillar_roots": "folder",
}
"""Options whose parts are things apart -> what one is called."""
_BUILT_IN: Mapping[str, tuple[str, frozenset[str]]] = {
    "ext_pillar": (
        "pillar",
        frozenset(("git", "cmd_yaml", "cmd_json", "http_yaml", "http_json", "file_tree")) | SECRET_SOURCES,
    ),
    "master_tops": ("tops", frozenset(("ext_nodes",))),
}
"""Options whose parts are modules -> the kind of module, and those that are built in."""
Brought = Callable[[str, str], bool]
"""Whether the tree brings a module: of a kind, by its name."""
_CONTEXT = ("extension_modules", "module_dirs", "engines_dirs", "gitfs_provider", "nodegroups", "file_roots")
"""Options that others are judged with."""


@dataclass(slots=True)
class ConvertedOptions:
    """What comes of the options of one configuration."""

    items: list[Item] = field(default_factory=list)
    taken: dict[str, Any] = field(default_factory=dict)
    """Options of the converted file."""
    left_out: list[str] = field(default_factory=list)
    """What was left out of it, each with the reason."""
    brought: Brought = lambda _kind, _name: False


def convert(kind: ConfigurationKind, options: Mapping[str, Option], brought: Brought) -> ConvertedOptions:
    """The items and the converted options of a configuration.

    Args:
        kind: whose it is.
        options: as they were read.
        brought: whether the tree brings a module.
    """
    found = ConvertedOptions(brought=brought)
    context = {name: options[name].value for name in _CONTEXT if name in options and not trial.faults(
        kind, {name: options[name].value})}  # fmt: skip
    for name, option in options.items():
        if name in ("include", "default_include") or not is_set(option):
            continue
        _convert(kind, name, option, context, found)
    return found


def _convert(
    kind: ConfigurationKind, name: str, option: Option, context: Mapping[str, Any], found: ConvertedOptions
) -> None:
    said = judge_option(kind, name, option.value)
    read = is_known(kind, name) or (kind == "master" and is_profile(option.value))
    if name in PLACES or not read:
        found.items.append(Item.of("option", name, option.place, said))
        found.left_out.append(f"{name}: {said.how or 'not needed, Saltern does this without it'}")
        return
    others = {key: value for key, value in context.items() if key != name}
    if name in _PARTS and isinstance(option.value, list | dict):
        _convert_parts(kind, name, option, said, others, found)
        return
    wrong = _faults(kind, name, {**others, name: option.value})
    if name == "return" and not wrong:
        wrong = _unknown_returners(option.value, found.brought)
    if wrong:
        said = Judgement("no counterpart", "; ".join(wrong), said.docs or "docs/configuration.md")
        found.left_out.append(f"{name}: {'; '.join(wrong)}")
    else:
        found.taken[name] = option.value
    found.items.append(Item.of("option", name, option.place, said))


def _convert_parts(
    kind: ConfigurationKind,
    name: str,
    option: Option,
    said: Judgement,
    others: Mapping[str, Any],
    found: ConvertedOptions,
) -> None:
    """Each part by itself; the option has the parts that are taken."""
    kept: list[tuple[Any, Any]] = []
    for key, label, value, place in _parts(option):
        if name == "schedule" and label.startswith("__"):
            continue  # Salt's own, like __mine_interval, which it writes into _schedule.conf
        wrong = _faults(kind, name, {**others, name: [value] if isinstance(option.value, list) else {key: value}})
        judged = said
        if wrong:
            judged = Judgement("no counterpart", "; ".join(wrong), said.docs or "docs/configuration.md")
        elif name in _BUILT_IN:
            judged = _judge_module(*_BUILT_IN[name], label.partition(":")[0], found.brought, said)
        elif name == "beacons":
            judged = _judge_beacon(key if isinstance(option.value, dict) else label)
        found.items.append(Item.of(_PARTS[name], label, place, judged))
        if judged.verdict == "no counterpart":
            found.left_out.append(f"{name}: {label}: {judged.how}")
        else:
            kept.append((key, value))
    if not kept:
        return
    whole = [value for _, value in kept] if isinstance(option.value, list) else dict(kept)
    wrong = _faults(kind, name, {**others, name: whole})
    if wrong:
        found.items.append(
            Item.of("option", name, option.place, Judgement("no counterpart", "; ".join(wrong), said.docs))
        )
        found.left_out.append(f"{name}: {'; '.join(wrong)}")
    else:
        found.taken[name] = whole


def _faults(kind: ConfigurationKind, name: str, options: Mapping[str, Any]) -> list[str]:
    """What our own loaders say of options, without the name of the one that is tried, which stands before it."""
    return [each.removeprefix(f"{name}: ") for each in trial.faults(kind, options)]


def _parts(option: Option) -> Iterator[tuple[Any, str, Any, str]]:
    """(key or index, how it is called, value, place) of each part."""
    if isinstance(option.value, dict):
        for key, value in option.value.items():
            yield key, str(key), value, option.at((str(key),))
        return
    for index, value in enumerate(option.value):
        label = str(next(iter(value), "")) if isinstance(value, dict) else str(value)
        if isinstance(value, dict) and label == "git" and isinstance(value["git"], list):
            label = "git: " + ", ".join(_git_pillar(each) for each in value["git"])
        yield index, label, value, option.at((index,))


def _git_pillar(remote: Any) -> str:
    """`master https://…` of a remote of git_pillar, with its options or without."""
    return str(next(iter(remote), "")) if isinstance(remote, dict) else str(remote)


def _judge_module(kind: str, built_in: frozenset[str], name: str, brought: Brought, said: Judgement) -> Judgement:
    if name in built_in or brought(kind, name):
        return said
    how = f"it is not built in: bring the module as _{kind}/{name}.py in the tree, or in extension_modules"
    return Judgement("no counterpart", how, "docs/configuration.md#your-own-python-in-the-tree")


def _unknown_returners(value: Any, brought: Brought) -> list[str]:
    """What is to be said of returners that are neither built in nor brought by the tree."""
    names = value.split(",") if isinstance(value, str) else value
    found = [str(name).strip() for name in names]
    return [
        f"there is no returner {name!r}; there are {', '.join(RETURNERS)}, and modules in _returners"
        for name in found
        if name and name not in RETURNERS and not brought("returners", name)
    ]


def _judge_beacon(name: str) -> Judgement:
    if name in MODULES:
        return Judgement("works")
    if name in NOT_HERE:
        return Judgement("no counterpart", NOT_HERE[name], "docs/beacons.md")
    return Judgement("different", "none of Salt's: it works where the tree brings it in _beacons", "docs/beacons.md")
