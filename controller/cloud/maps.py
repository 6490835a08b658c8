"""Maps: which machines there shall be, by profile; and what is to be done for that.

Reading renders Jinja in a sandbox and YAML, as Salt does; the plan is pure.
Behaviour: https://docs.saltproject.io/en/latest/topics/cloud/map.html
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

from controller.cloud.configuration import CloudConfiguration, MachineProfile
from controller.cloud.errors import CloudFailed
from highstate.render.yaml.loader import load_yaml

_OLD_NAMES = {f"map_{name}": name for name in ("grains", "master", "minion", "volumes", "requires")}


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPlan:
    """What a map asks for, against what is there."""

    create: Mapping[str, MachineProfile]
    """In the order in which they are made."""
    existing: Mapping[str, MachineProfile]
    destroy: tuple[tuple[str, str], ...] = ()
    """(provider, name) of machines of the accounts that the map does not name, with `--hard`."""
    levels: tuple[tuple[str, ...], ...] = ()
    """Names of `create`, those together that wait for no other of theirs."""


def read_map(path: Path, configuration: CloudConfiguration) -> dict[str, MachineProfile]:
    """Name -> what it is made by; CloudFailed."""
    found: dict[str, MachineProfile] = {}
    for profile, entries in _rendered(path).items():
        whole = configuration.profile(str(profile))
        for name, given in _entries(entries, str(profile)):
            if name in found:
                raise CloudFailed(f"{path} names {name!r} twice")
            said = {_OLD_NAMES.get(key, key): value for key, value in given.items()}
            provider = said.pop("provider", None)
            found[name] = (configuration.profile(str(profile), str(provider)) if provider else whole).with_given(said)
    return found


def plan_map(
    wanted: Mapping[str, MachineProfile], present: Collection[tuple[str, str]], *, hard: bool = False
) -> MapPlan:
    """What is to be done; CloudFailed where machines wait for each other.

    Args:
        wanted: name -> what it is made by.
        present: (provider, name) of all machines of the accounts.
        hard: machines that are not wanted are destroyed.
    """
    names = {name for _, name in present}
    create = {name: profile for name, profile in wanted.items() if name not in names}
    defined = {(profile.provider.alias, name) for name, profile in wanted.items()}
    levels = _levels(create, wanted)
    return MapPlan(
        create={name: create[name] for level in levels for name in level},
        existing={name: profile for name, profile in wanted.items() if name in names},
        destroy=tuple(sorted(set(present) - defined)) if hard else (),
        levels=levels,
    )


def _levels(create: Mapping[str, MachineProfile], wanted: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Machines in the order of `requires`."""
    waits = {}
    for name, profile in create.items():
        requires = [str(each) for each in _list(profile.options.get("requires"))]
        if missing := [each for each in requires if each not in wanted]:
            raise CloudFailed(f"{name!r} requires {missing[0]!r}, which the map does not name")
        waits[name] = [each for each in requires if each in create]
    order = TopologicalSorter(waits)
    try:
        order.prepare()
    except CycleError as error:
        raise CloudFailed(f"machines require each other: {' -> '.join(error.args[1])}") from error
    levels = []
    while order.is_active():
        ready = order.get_ready()
        levels.append(tuple(sorted(ready, key=list(create).index)))
        order.done(*ready)
    return tuple(levels)


def _rendered(path: Path) -> Mapping[str, Any]:
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    try:
        text = path.read_text(encoding="utf-8")
        found = load_yaml(SandboxedEnvironment(undefined=jinja2.StrictUndefined).from_string(text).render())
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise CloudFailed(f"the map {path} cannot be read: {said}") from error
    except (jinja2.TemplateError, yaml.YAMLError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        raise CloudFailed(f"the map {path}{line} cannot be rendered: {error}") from error
    if not isinstance(found, Mapping) or not found:
        raise CloudFailed(f"{path}: a map is a mapping of profiles to lists of names: `web: [web1, web2]`")
    return found


def _entries(entries: Any, profile: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(name, what the map says of it) of the forms that Salt knows."""
    for entry in [entries] if isinstance(entries, str | Mapping) else _list(entries):
        pairs = entry.items() if isinstance(entry, Mapping) else [(entry, None)]
        for name, given in pairs:
            if not isinstance(name, str) or not isinstance(given, Mapping | bool | None):
                raise CloudFailed(f"the map has an entry below {profile!r} that is no name with options: {name!r}")
            yield name, given if isinstance(given, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
