"""Providers and profiles as Salt's files have them: `cloud`, `cloud.providers`, `cloud.profiles`, and their folders.

Read by the verb alone. A profile stands for a machine: what it says counts before what its provider says, and that
before what the file `cloud` says. Behaviour: https://docs.saltproject.io/en/latest/topics/cloud/config.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from controller.cloud.errors import CloudFailed
from highstate.render.yaml.loader import load_yaml
from highstate.traverse import merge
from options.near_names import did_you_mean

_MOST_EXTENDS = 16
_MOST_SECONDS = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudProvider:
    """An account of a cloud."""

    alias: str
    """Its name in `cloud.providers`."""
    driver: str
    options: Mapping[str, Any] = field(repr=False)
    """With its credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineProfile:
    """What a machine is made by."""

    name: str
    provider: CloudProvider
    options: Mapping[str, Any] = field(repr=False)
    """With those of the provider and of the file `cloud` where it says nothing."""

    def with_given(self, given: Mapping[str, Any]) -> MachineProfile:
        """It with what a map, or who asks, says of one machine."""
        return MachineProfile(name=self.name, provider=self.provider, options=merge(dict(self.options), dict(given)))

    def seconds(self, name: str, default: float) -> float:
        """An option that is a time; CloudFailed."""
        value = self.options.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_SECONDS:
            raise CloudFailed(f"{self.place}: `{name}` is a number of seconds up to {_MOST_SECONDS}, not {value!r}")
        return float(value)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An option that is a mapping; empty where there is none. CloudFailed."""
        value = self.options.get(name)
        if not isinstance(value or {}, Mapping):
            raise CloudFailed(f"{self.place}: `{name}` is a mapping, not a {type(value).__name__}")
        return value or {}

    @property
    def place(self) -> str:
        """It, for errors."""
        return f"the profile {self.name!r}" if self.name else f"the provider {self.provider.alias!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudConfiguration:
    """All of it.

    Args:
        folder: where it stands.
        options: of the file `cloud`.
        providers: by their names.
        profiles: as they are written.
    """

    folder: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    providers: Mapping[str, CloudProvider] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    def provider(self, name: str) -> CloudProvider:
        """The provider NAME or NAME:DRIVER; CloudFailed."""
        alias, _, driver = name.partition(":")
        found = self.providers.get(alias)
        if found is None or (driver and driver != found.driver):
            raise CloudFailed(f"there is no provider {name!r}{_known(alias, self.providers)}")
        return found

    def profile(self, name: str, other_provider: str = "") -> MachineProfile:
        """A profile with all that it extends, of its own provider or another one; CloudFailed."""
        if name not in self.profiles:
            raise CloudFailed(f"there is no profile {name!r}{_known(name, self.profiles)}")
        own = _extended(name, self.profiles, "profile")
        wanted = other_provider or own.get("provider")
        if not isinstance(wanted, str):
            names = ", ".join(sorted(self.providers)) or "which cloud.providers has to name first"
            raise CloudFailed(f"the profile {name!r} has no `provider`: one of {names}")
        provider = self.provider(wanted)
        return MachineProfile(name=name, provider=provider, options=self._whole(provider, own))

    def of_provider(self, name: str) -> MachineProfile:
        """What stands for a machine that is made without a profile."""
        provider = self.provider(name)
        return MachineProfile(name="", provider=provider, options=self._whole(provider, {}))

    def _whole(self, provider: CloudProvider, own: Mapping[str, Any]) -> dict[str, Any]:
        general = {name: value for name, value in self.options.items() if name not in ("providers", "profiles")}
        return merge(merge(general, dict(provider.options)), dict(own))


def load_cloud(folder: Path) -> CloudConfiguration:
    """The configuration in a folder; CloudFailed names the file in which something is wrong."""
    options = _mapping_of(folder / "cloud")
    providers: dict[str, Any] = dict(options.get("providers") or {})
    profiles: dict[str, Any] = dict(options.get("profiles") or {})
    for path in _files(folder, "cloud.providers", options.get("providers_config")):
        providers |= _mapping_of(path)
    for path in _files(folder, "cloud.profiles", options.get("profiles_config")):
        profiles |= _mapping_of(path)
    for kind, entries in (("provider", providers), ("profile", profiles)):
        for name, entry in entries.items():
            if not isinstance(entry, Mapping):
                raise CloudFailed(f"the {kind} {name!r} is a {type(entry).__name__}, not a mapping")
    return CloudConfiguration(
        folder=folder,
        options=options,
        providers={str(name): _provider(str(name), providers) for name in providers},
        profiles={str(name): entry for name, entry in profiles.items()},
    )


def overrides_of(text: bytes) -> Mapping[str, Any]:
    """What counts before a profile; CloudFailed."""
    try:
        found = load_yaml(text.decode())
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise CloudFailed("what is to count before the profile is no YAML") from error
    if not isinstance(found or {}, Mapping):
        raise CloudFailed("what is to count before the profile is no mapping")
    return found or {}


def _provider(alias: str, entries: Mapping[str, Any]) -> CloudProvider:
    options = _extended(alias, entries, "provider")
    driver = options.get("driver") or options.get("provider")  # Salt's older name of it
    if not isinstance(driver, str):
        raise CloudFailed(f"the provider {alias!r} has no `driver`, such as ec2 (docs/cloud.md)")
    return CloudProvider(alias=alias, driver=driver, options=options)


def _extended(name: str, entries: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """An entry over those that it extends, the nearest first."""
    found: dict[str, Any] = {}
    seen: list[str] = []
    wanted: Any = name
    while wanted:
        # A provider names another one as NAME:DRIVER.
        key = str(wanted).partition(":")[0]
        if key in seen or len(seen) >= _MOST_EXTENDS:
            raise CloudFailed(f"the {kind} {name!r} extends itself: {' -> '.join([*seen, key])}")
        entry = entries.get(key)
        if not isinstance(entry, Mapping):
            raise CloudFailed(f"the {kind} {seen[-1]!r} extends {key!r}, which is not there")
        seen.append(key)
        found = merge({each: value for each, value in entry.items() if each != "extends"}, found)
        wanted = entry.get("extends")
    return found


def _files(folder: Path, name: str, given: Any) -> Iterator[Path]:
    own = Path(str(given)) if given else folder / name
    if own.exists():
        yield own
    beside = own.with_name(f"{own.name}.d")
    if beside.is_dir():
        yield from sorted(beside.glob("*.conf"))


def _mapping_of(path: Path) -> dict[str, Any]:
    try:
        found = load_yaml(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise CloudFailed(f"{path} cannot be read: {said}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise CloudFailed(f"{path}{line}: this is no YAML: {getattr(error, 'problem', '')}") from error
    if not isinstance(found or {}, Mapping):
        raise CloudFailed(f"{path} holds no mapping")
    return dict(found or {})


def _known(name: str, entries: Mapping[str, Any]) -> str:
    if not entries:
        return ": there are none"
    return f"; {did_you_mean(name, entries) or 'there are ' + ', '.join(sorted(entries))}"
