"""The state module `file`: Salt's names, and the functions that plan them."""

from __future__ import annotations

from collections.abc import Mapping

from minion.states.file_append import append, prepend
from minion.states.file_blockreplace import blockreplace
from minion.states.file_cached import cached, not_cached
from minion.states.file_copy import copy, hardlink, rename
from minion.states.file_directory import directory, recurse
from minion.states.file_keyvalue import keyvalue
from minion.states.file_line import line
from minion.states.file_links import absent, symlink
from minion.states.file_managed import managed
from minion.states.file_nodes import mknod
from minion.states.file_patch import patch
from minion.states.file_presence import accumulated, exists, missing, pruned, tidied, touch
from minion.states.file_replace import comment, replace, uncomment
from minion.states.file_serialize import decode, serialize
from minion.states.plan import StateFunction

STATES: Mapping[str, StateFunction] = {
    "absent": absent,
    "accumulated": accumulated,
    "append": append,
    "blockreplace": blockreplace,
    "cached": cached,
    "comment": comment,
    "copy": copy,
    "decode": decode,
    "directory": directory,
    "exists": exists,
    "hardlink": hardlink,
    "keyvalue": keyvalue,
    "line": line,
    "managed": managed,
    "missing": missing,
    "mknod": mknod,
    "not_cached": not_cached,
    "patch": patch,
    "prepend": prepend,
    "pruned": pruned,
    "recurse": recurse,
    "rename": rename,
    "replace": replace,
    "serialize": serialize,
    "symlink": symlink,
    "tidied": tidied,
    "touch": touch,
    "uncomment": uncomment,
}
