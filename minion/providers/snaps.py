"""Snaps, as snap(8) lists and changes them. Called by the states and the execution module `snap`.

Behaviour: saltext.snap, as far as the program goes; its requests to snapd's socket are not built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader, Value

_RISKS = ("stable", "candidate", "beta", "edge")
_MISSING = 127
_PLAIN = ("--unicode=never", "--color=never")
_ENGLISH = {"LC_ALL": "C.UTF-8"}


class Snap(NamedTuple):
    """A snap that is there."""

    name: str
    version: str
    revision: str
    channel: str
    publisher: str
    notes: tuple[str, ...]

    @property
    def enabled(self) -> bool:
        """Whether it can be used."""
        return "disabled" not in self.notes

    @property
    def held(self) -> bool:
        """Whether general refreshes leave it alone."""
        return "held" in self.notes

    def shown(self) -> dict[str, Any]:
        """As the execution module tells it."""
        return {**self._asdict(), "notes": list(self.notes), "enabled": self.enabled, "held": self.held}


def checked(name: str) -> str:
    """The name of a snap."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*(_[a-z0-9]+)?", name):
        raise StateFailed(f"{name!r} is no name of a snap")
    return name


def whole_channel(channel: str) -> str:
    """Track and risk: `edge` is `latest/edge`, `2.0` is `2.0/stable`."""
    parts = channel.split("/")
    if len(parts) > 3 or not all(parts) or channel.startswith("-"):
        raise StateFailed(f"Invalid channel name '{channel}', must follow <track>/<risk_level>[/<branch>]")
    if len(parts) == 1:
        return f"latest/{channel}" if channel in _RISKS else f"{channel}/stable"
    if parts[0] in _RISKS:
        return f"latest/{channel}"
    if parts[1] not in _RISKS:
        raise StateFailed(f"Invalid channel risk level '{parts[1]}', valid: {', '.join(_RISKS)}")
    return channel


def snaps(machine: Reader) -> dict[str, Snap]:
    """Name → the snap that is there."""
    done = machine.query(["snap", "list", *_PLAIN], env=_ENGLISH)
    if done.returncode == 0 and "No snaps are installed" in done.stderr + done.stdout:
        return {}
    return _rows(_said(done))


def upgrades(machine: Reader) -> dict[str, Snap]:
    """Name → the snap as a refresh would have it; the channel is the size there."""
    return _rows(_said(machine.query(["snap", "refresh", *_PLAIN, "--list"], env=_ENGLISH)))


def _rows(text: str) -> dict[str, Snap]:
    found = {}
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 6:
            notes = () if words[5] == "-" else tuple(words[5].split(","))
            found[words[0]] = Snap(words[0], words[1], words[2], words[3], words[4], notes)
    return found


def tell(machine: Machine, *words: str) -> str:
    """Have snap do something; what it says."""
    return _said(machine.run(["snap", *words], env=_ENGLISH))


def ask(machine: Reader, *words: str) -> str:
    """What snap says of something."""
    return _said(machine.query(["snap", *words], env=_ENGLISH))


class SnapChoice(NamedTuple):
    """Which snap is installed."""

    channel: str | None = None
    revision: str | None = None
    classic: bool = False


def install(machine: Machine, name: str, choice: SnapChoice, *, refresh: bool = False) -> None:
    """Install a snap, or have another revision or channel of one that is there."""
    words = ["refresh" if refresh else "install", *_PLAIN]
    if choice.channel:
        words += ["--channel", whole_channel(choice.channel)]
    if choice.revision is not None:
        words += ["--revision", choice.revision]
    tell(machine, *words, *(["--classic"] if choice.classic else []), checked(name))


def remove(machine: Machine, name: str, *, revision: str | None = None, purge: bool = False) -> None:
    """Remove a snap; with `purge` no snapshot of its data is kept."""
    of_one = ["--revision", revision] if revision is not None else []
    tell(machine, "remove", *(["--purge"] if purge else []), *of_one, checked(name))


def hold(machine: Machine, name: str, *, held: bool, duration: str | None = None) -> None:
    """Have general refreshes leave a snap alone, or not."""
    word = "--unhold" if not held else f"--hold={duration}" if duration else "--hold"
    tell(machine, "refresh", word, checked(name))


def options(machine: Reader, name: str) -> dict[str, Value]:
    """Options of a snap; those within others with dots."""
    done = machine.query(["snap", "get", "-d", checked(name)], env=_ENGLISH)
    if done.returncode != 0 and "has no configuration" in done.stderr:
        return {}
    return dict(_flat(json.loads(_said(done)), ""))


def _flat(data: Mapping[str, Value], above: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, value in data.items():
        found |= _flat(value, f"{above}{key}.") if isinstance(value, Mapping) and value else {f"{above}{key}": value}
    return found


def set_option(machine: Machine, name: str, option: str, value: Value) -> None:
    """Set an option; null takes it away."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", option):
        raise StateFailed(f"{option!r} is no option of a snap")
    if value is None:
        tell(machine, "unset", checked(name), option)
    else:
        tell(machine, "set", "-t", checked(name), f"{option}={json.dumps(value)}")


def _said(done: Completed) -> str:
    if done.returncode == _MISSING:
        raise StateFailed("snap is not there: install the package snapd")
    if done.returncode != 0:
        raise StateFailed(done.stderr.strip() or done.stdout.strip() or f"snap failed: {done.returncode}")
    return done.stdout
