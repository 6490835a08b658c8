"""The state module `file`: Salt's names, and the functions that plan them."""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import StateFunction
from minion.states.file.append import append, prepend
from minion.states.file.blockreplace import blockreplace
from minion.states.file.cached import cached, not_cached
from minion.states.file.copy import copy, hardlink, rename
from minion.states.file.directories.directory import directory
from minion.states.file.directories.recurse import recurse
from minion.states.file.keyvalue import keyvalue
from minion.states.file.line import line
from minion.states.file.links import absent, symlink
from minion.states.file.managed import managed
from minion.states.file.nodes import mknod
from minion.states.file.patch import patch
from minion.states.file.presence import accumulated, exists, missing, pruned, tidied, touch
from minion.states.file.replace import comment, replace, uncomment
from minion.states.file.serialize import decode, serialize

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
