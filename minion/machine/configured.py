"""Options that states read of the minion's configuration, as `config.option` finds them.

The compile knows which states read which (`highstate.compile.content`), so that a changed pillar runs them again.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Reader, Value


def configured(machine: Reader, option: str, default: Value) -> Value:
    """The option's value in the configuration, else in grains, else in pillar, else the default."""
    found: Mapping[str, Value]
    for found in (machine.opts, machine.grains, machine.pillar):
        if option in found:
            return found[option]
    return default
