"""One template being rendered, and what flows from one step of its pipeline to the next."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from highstate.memo.tracked import Recorder
from highstate.render.context import RenderContext
from highstate.render.lines import LineMap
from highstate.render.source_map import TemplateText
from highstate.render.yaml.blocks import Blocks
from highstate.types import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderJob:
    """A template of the tree and whom it is rendered for."""

    path: str
    context: RenderContext
    recorder: Recorder
    oid: str
    source: str
    sls: bool
    """Whether it is an SLS (`jinja_sls_env`) or a file's template (`jinja_env`)."""
    shared: bool = False
    """Whether the data may be shared with other renders, because nobody changes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Text on its way through a pipeline; with `loaded`, the data that was read from it."""

    text: TemplateText
    data: Value = None
    loaded: bool = False
    blocks: Blocks | None = None
    """The entries of the text, where it was read one by one."""

    @property
    def lines(self) -> LineMap:
        """Where the keys of the data stand."""
        return LineMap(self.text.text, self.text.lines, self.blocks)


def plain_text(text: str) -> TemplateText:
    """Text whose lines are those of the template."""
    return TemplateText(text, range(1, text.count("\n") + 2))


def place_variables(path: str) -> dict[str, Value]:
    """The variables that say where a template lies (`tpldir`, `slspath`, ...), for its path in the tree."""
    folder = posixpath.dirname(path)
    return {
        "tplpath": path,
        "tplfile": path,
        "tpldir": folder or ".",
        "tpldot": folder.replace("/", "."),
        "slspath": folder,
        "slsdotpath": folder.replace("/", "."),
        "slscolonpath": folder.replace("/", ":"),
        "sls_path": folder.replace("/", "_"),
    }
