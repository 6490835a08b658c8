"""Limits of what `saltern migrate` reads: a configuration and trees may be anybody's."""

from __future__ import annotations

from typing import Final

CONFIG_FILE_BYTES: Final = 4 * 1024 * 1024
"""Of one file of the configuration; a larger one is not read."""
CONFIG_FILES: Final = 1000
"""Of a configuration, included ones counted."""
TREE_FILE_BYTES: Final = 2 * 1024 * 1024
"""Of one file of a tree; of a larger one nothing is looked at."""
TREE_FILES: Final = 100_000
"""Of all trees together that are looked at."""
TREE_BYTES: Final = 1024 * 1024 * 1024
"""Of all of these together."""
LINE_CHARACTERS: Final = 4000
"""Of one line; what is longer is cut off."""
NAMES: Final = 10_000
"""Different names of a kind that are kept."""
