"""The state module `file`: Salt's names, and the functions that plan them."""

from __future__ import annotations

from collections.abc import Mapping

from minion.states.file_directory import directory, recurse
from minion.states.file_links import absent, symlink
from minion.states.file_managed import managed
from minion.states.plan import StateFunction

STATES: Mapping[str, StateFunction] = {
    "absent": absent,
    "directory": directory,
    "managed": managed,
    "recurse": recurse,
    "symlink": symlink,
}
