"""Which beacons there are: each module is imported when a configuration names its beacon."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from minion.beacons.beacon import BeaconKind
from options.near_names import did_you_mean

_FAMILIES = {"btmp": "logins", "memusage": "memory", "swapusage": "memory", "wtmp": "logins"}
"""Beacons that share a module -> its name."""


def _modules() -> Mapping[str, str]:
    """Found without importing them, as the agent shall not import what is not configured."""
    files = (Path(__file__).parent / "kinds").glob("*.py")
    alone = {file.stem for file in files} - {"__init__", *_FAMILIES.values()}
    return {name: name for name in sorted(alone)} | _FAMILIES


MODULES = _modules()
"""Name -> module of `minion.beacons.kinds`, whose `BEACONS` has it."""

_OF_PROGRAMS = ("journald", "sh")
"""Those that start programs, and import what that takes."""

NOT_HERE: Mapping[str, str] = {
    "adb": "Android devices are no minions here",
    "aix_account": "AIX is not supported",
    "avahi_announce": "announcements are not made; a state can manage avahi's service files",
    "bonjour_announce": "announcements are not made",
    "glxinfo": "write a module of your tree (`_beacons`) that runs glxinfo",
    "imgadm": "SmartOS is not supported",
    "junos_rre_keys": "proxy minions are not supported",
    "napalm_beacon": "proxy minions are not supported",
    "napalm": "proxy minions are not supported",
    "proxy_example": "proxy minions are not supported",
    "salt_monitor": "use `schedule` with a function, or the beacon `status`",
    "salt_proxy": "proxy minions are not supported",
    "sensehat": "write a module of your tree (`_beacons`)",
    "smartos_imgadm": "SmartOS is not supported",
    "smartos_vmadm": "SmartOS is not supported",
    "telegram_bot_msg": "write a module of your tree (`_beacons`), or call a webhook",
    "twilio_txt_msg": "write a module of your tree (`_beacons`), or call a webhook",
    "vmadm": "SmartOS is not supported",
    "watchdog": "use `inotify`",
}
"""Beacons of Salt's that are not here, and what to do instead."""


def kind_of(name: str) -> BeaconKind | None:
    """A built-in beacon; None for any other name."""
    if name not in MODULES:
        return None
    kinds: Mapping[str, BeaconKind] = importlib.import_module(f"minion.beacons.kinds.{MODULES[name]}").BEACONS
    return kinds[name]


def module_of(name: str) -> str:
    """The module of a built-in beacon, as far as an agent may have it in memory; empty for any other."""
    return f"minion.beacons.kinds.{MODULES[name]}" if name in MODULES and name not in _OF_PROGRAMS else ""


def unknown(name: str) -> str:
    """What to say of a beacon that is neither built in nor of the tree."""
    if name in NOT_HERE:
        return f"beacon {name} is not here: {NOT_HERE[name]}"
    hint = (
        did_you_mean(name, MODULES)
        or "the built-in ones are in docs/beacons.md, others come from `_beacons` of the tree"
    )
    return f"there is no beacon {name}; {hint}"
