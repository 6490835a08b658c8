"""Limits of what `saltern migrate` reads: a configuration and trees may be anybody's."""

from __future__ import annotations

from typing import Final

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
CACHE_FILE_BYTES: Final = 16 * 1024 * 1024
"""Of what a Salt master has cached of one minion."""
CACHED_MINIONS: Final = 100_000
"""Of a Salt master's cache."""
FACTS: Final = 10_000
"""Recorded answers."""
ANSWER_BYTES: Final = 64 * 1024 * 1024
"""Of the low chunks of one minion, as JSON."""
SALT_START_SECONDS: Final = 120.0
"""Until Salt has started; on a slow machine its modules take a while to load."""
SALT_MINIONS: Final = 200
"""That one process of Salt compiles before the next one takes over: its loaders give nothing back."""
DIFFERENCES: Final = 20_000
"""Of all minions together that are kept to be shown."""
DIFFERENCES_OF_MINION: Final = 200
"""Of one minion."""
