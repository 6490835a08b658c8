"""Attacks of `make attack` in the time of a test."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager

from tools.attack.attacks import BORDERS, run_attack
from tools.attack.scene import Scene

PATIENCE = 60.0


@contextmanager
def attacked(name: str, scene: Scene) -> Iterator[None]:
    """An attack goes on meanwhile, in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tools.attack.attacks", *(f"tools.attack.{border}" for border in BORDERS)])
    begun, stop = context.Event(), context.Event()
    attacker = context.Process(target=run_attack, args=(name, scene, stop, begun))
    attacker.start()
    try:
        assert begun.wait(PATIENCE)
        yield
    finally:
        stop.set()
        attacker.join(PATIENCE)
        attacker.kill()
        attacker.join()
