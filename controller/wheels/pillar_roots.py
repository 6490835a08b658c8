"""The wheel `pillar_roots`: files of the pillar tree, as the live revision has them. Nothing is written."""

from __future__ import annotations

from controller.runners.tree_wheels import wheel_of

FUNCTIONS = wheel_of(lambda trees: trees.pillar)
