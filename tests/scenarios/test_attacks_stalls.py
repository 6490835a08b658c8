"""Under attack the controller's event loop computes for no more than a second in a turn, and honest pushes go on.

These are attacks of `make attack` that one controller stands one after another; that measures more of each of them. A
part of them is tried here, all of them by `make soak`.
"""

from __future__ import annotations

import pytest
from attackers import PATIENCE, attacked
from effort import steps

from tools.attack.__main__ import MINIONS, scene_of_a_controller
from tools.attack.attacks import Attack, all_attacks

CHOSEN = {
    "strangers": (
        *("many-frames", "endless-frames", "half-handshakes", "key-requests", "garbage", "broken-message", "slow-http"),
    ),
    "minions": (
        *("regex-get-mine", "regex-mine-allow", "mine-questions", "unknown-runs", "deep-grains", "odd-numbers"),
        *("endless-message", "endless-small-frames", "unread-answers", "unread-documents", "repeated-hello"),
        *("changing-grains", "changing-mine", "costly-targets", "large-grain-targets", "many-events", "long-names"),
        *("many-triggers", "results-below-limit"),
    ),
    "branches": ("name-not-utf8", "endless-template", "slow-regex", "many-states"),
    "people": ("slow-requests", "unread-answers"),
}


@pytest.mark.parametrize("border", CHOSEN)
def test_no_turn_of_the_loop_is_long_under_attack(border: str) -> None:
    quiet = Attack("", lambda scene, running: None)
    found: dict[str, list[str]] = {}
    with scene_of_a_controller(quiet) as (rig, scene, push):
        for name in steps(CHOSEN[border], 2):
            before = len(rig.long_turns())
            with attacked(f"{border}.{name}", scene):
                for _ in range(2):
                    rig.wait_applied(push(), list(MINIONS), patience=PATIENCE)
            if turns := rig.long_turns()[before:]:
                found[name] = turns
        assert rig.status().keys() >= MINIONS.keys()
    assert found == {}


def test_every_chosen_attack_is_one_that_needs_no_controller_of_its_own() -> None:
    known = all_attacks()
    for border, names in CHOSEN.items():
        for name in names:
            attack = known[f"{border}.{name}"]
            assert (attack.pending_keys, attack.far_remotes, dict(attack.options), dict(attack.tree)) == (0, 0, {}, {})
