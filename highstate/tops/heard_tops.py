"""Saltenvs whose top files count: a branch that is nobody's saltenv concerns no minion. Reads trees, and no more.

All saltenvs' top files are merged (Salt's strategy `merge`): base decides for every saltenv that it names, and another
one for itself where base does not. So a saltenv whose top file says what base's says adds nothing, and that is what a
new branch is. Its top file has to be base's, and must not depend on the saltenv in which it is rendered; whatever is
not sure of that counts. Called where it is asked whom new trees concern; what is asked of outsiders' trees are ids of
files alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from highstate.compile_options import CompileOptions
from highstate.types import Files

BASE = "base"
_STATES = "_states"
_MOST_BYTES = 256 * 1024
"""Of base's top file; a larger one is not looked at."""
_INCLUDE = re.compile(rb"include|^#!", re.MULTILINE)
_DEPENDS = re.compile(rb"import|extends|env|salt|opts|file|sls|tpl|context")
"""Words with which a template looks at more than grains and pillar."""


class HeardTops(NamedTuple):
    """The saltenvs whose top files count."""

    top_file: str
    saltenvs: tuple[str, ...]

    def skips(self, tree: str, kind: str, saltenv: str, path: str) -> bool:
        """Whether a minion's document cannot follow from this read."""
        return tree == "files" and kind == "file" and path == self.top_file and saltenv not in self.saltenvs


def heard_tops(files: Files, language: CompileOptions) -> HeardTops:
    """Those of the trees of states, in their order."""
    top_file, states = language.state_top, _own_states(files, BASE)
    adds_nothing = _silence(files, language)
    heard = [
        env
        for env in files.saltenvs()
        if env == BASE or not adds_nothing(env) or _own_states(files, env) not in ({}, states)
    ]
    return HeardTops(top_file, tuple(heard))


def _silence(files: Files, language: CompileOptions) -> Callable[[str], bool]:
    """What says whether the top file of a saltenv gives nothing to anybody."""
    only, top_file = language.saltenv or language.state_top_saltenv, language.state_top
    if only is not None:
        return lambda saltenv: saltenv != only
    if language.env_order or language.top_file_merging_strategy != "merge" or not _anywhere_the_same(files, top_file):
        return lambda _: False
    return lambda saltenv: files.oid(top_file, saltenv) in (None, files.oid(top_file, BASE))


def _own_states(files: Files, saltenv: str) -> dict[str, str | None]:
    """Modules of states, of which a compile warns where nobody has them."""
    return {path: files.oid(path, saltenv) for path in files.list(_STATES, saltenv)}


def _anywhere_the_same(files: Files, top_file: str) -> bool:
    """Whether base's top file gives the same wherever it is rendered."""
    try:
        text = files.read(top_file, BASE)
    except OSError:
        return False
    if len(text) > _MOST_BYTES or _INCLUDE.search(text):
        return False
    return b"{" not in text or not _DEPENDS.search(text)
