"""Which options a reload changes in a controller that runs, and which wait for its next start.

Called by `controller.reload.config_reloads`. An option is named by what stands in the files: nothing is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.config.access import OPTIONS as ACCESS_OPTIONS
from controller.config.checks import load_whole
from controller.config.settings import BadControllerSettings, ControllerSettings, settings_of_options
from options.document import Fault, Option

RELOADED: frozenset[str] = frozenset(
    (
        *(each for each in ACCESS_OPTIONS if each != "auth.pam.service"),
        "auto_accept",
        "autosign_file",
        "autoreject_file",
        "autosign_grains_dir",
        "autosign_timeout",
        "permissive_pki_access",
        "events_token",
        "hook_secret",
        "keep_runs",
        "log_level",
        "prometheus_url",
        "rollout_commands",
        "run_timeout",
        "schedule",
        "x509_ca_server",
        "x509_signing_policies",
    )
)
"""Options that a reload changes. All others need a restart: they shape ports, the store, remotes, processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionChanges:
    """What is different in a configuration; names of options, sorted."""

    reloaded: tuple[str, ...]
    """That changed since the last reload, and can be taken now."""
    restart: tuple[str, ...]
    """That are other than when the controller started, and need a restart."""


def option_changes(started: ControllerSettings, current: ControllerSettings, new: ControllerSettings) -> OptionChanges:
    """The options by what becomes of them.

    Args:
        started: with which the controller was started.
        current: as of the last reload, or the start.
        new: as the files are now.
    """
    restart = {name for name in _different(started.given, new.given) if name not in RELOADED}
    if _has_reactor_file(new) and started.reactor != new.reactor:
        restart.add("reactor")
    return OptionChanges(
        reloaded=tuple(name for name in _different(current.given, new.given) if name in RELOADED),
        restart=tuple(sorted(restart)),
    )


def settings_in_force(started: ControllerSettings, new: ControllerSettings) -> ControllerSettings:
    """Options of `new` that a reload changes, all others as they were at the start. Raises BadControllerSettings."""
    kept = {name: option for name, option in started.given.items() if name not in RELOADED}
    taken = {name: option for name, option in new.given.items() if name in RELOADED}
    return settings_of_options({**kept, **taken}, started.config_dir)


def _different(old: Mapping[str, Option], new: Mapping[str, Option]) -> list[str]:
    return [
        name
        for name in sorted(old.keys() | new.keys())
        if name not in old or name not in new or not _same(old[name].value, new[name].value)
    ]


def _same(old: Any, new: Any) -> bool:
    """Also the order of mappings counts, as it does for reactors; and 1 is not True."""
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        return list(old) == list(new) and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new)


def _has_reactor_file(settings: ControllerSettings) -> bool:
    """Whether the reactors stand in a file of their own, which may change while the option does not."""
    return "reactor" in settings.given and isinstance(settings.given["reactor"].value, str)


def load_checked(config_dir: Path) -> ControllerSettings:
    """The configuration with all that is checked before a start. BadControllerSettings has every fault."""
    settings = load_whole(config_dir)
    if not settings.given:
        raise BadControllerSettings([Fault(str(config_dir / "controller"), "there is no configuration any more")])
    return settings
