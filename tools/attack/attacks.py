"""What an attack is, and all of them by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.synchronize import Event
from typing import Any

from tools.attack.scene import Scene

Running = Callable[[], bool]
"""Whether the attack is to go on."""

PUSH_SECONDS = 2.0
"""How long a push may take until it is applied, if the attack does not say otherwise."""

API_SECONDS = 1.0
"""How long the API may take under an attack, if the attack does not say otherwise."""

BORDERS = ("strangers", "minions", "events", "branches", "people", "git_servers", "trees", "gateway")
"""Modules of this folder, each with `ATTACKS`: by where they come from."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: `run(scene, running)` attacks as long as `running()` holds, or ends by itself."""

    summary: str
    run: Callable[[Scene, Running], None]
    pending_keys: int = 0
    """Keys that wait for acceptance when it begins."""
    api_seconds: float = API_SECONDS
    """How long the API may take meanwhile."""
    push_seconds: float = PUSH_SECONDS
    """How long a push may take meanwhile."""
    far_remotes: int = 0
    """Remotes on the attack's own git server (`Scene.far_port`), beside the honest one; honest until it begins."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """More options of the controller."""
    gateway: bool = False
    """Whether it is one on a gateway, which is beside the controller then."""
    tree: Mapping[str, str] = field(default_factory=dict)
    """Files of the honest tree that are others."""


def run_attack(name: str, scene: Scene, stop: Event, begun: Event | None = None) -> None:
    """Attack until `stop` is set; the target of a process. `begun` is set when the attack begins."""
    if begun is not None:
        begun.set()
    all_attacks()[name].run(scene, lambda: not stop.is_set())


def all_attacks() -> Mapping[str, Attack]:
    """`border.name` -> attack."""
    return {
        f"{border}.{name}": attack
        for border in BORDERS
        for name, attack in import_module(f"tools.attack.{border}").ATTACKS.items()
    }
