"""How room is shared among those who fill it: whoever takes most gives way first.

Called by `reactors.bus` and `controller.store.events`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable


def fair_share(weights: Iterable[int], room: int) -> int:
    """The most that each may keep so that all have room: none gives anything away before a larger one has (max-min
    fairness; Bertsekas, Gallager: Data Networks, 6.5.2).

    Args:
        weights: what each takes now.
        room: what all together may take.
    """
    rising = sorted(weights)
    for number, weight in enumerate(rising):
        among = len(rising) - number
        if weight * among > room:
            return room // among
        room -= weight
    return rising[-1] if rising else 0
