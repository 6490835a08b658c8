"""Render: a template of the tree and a minion become data (an SLS) or text (a file).

Called by compile, pillar, top and content. Jinja in Salt's sandbox, then YAML or JSON by Salt's rules; every read
of the minion's data and of the tree is recorded, and results are memoised by what they read. No I/O but `Files`.
"""

from __future__ import annotations

from highstate.render.context import RenderContext, Rendered, RenderedText, RenderFailed
from highstate.render.lines import LineMap
from highstate.render.pipeline import SHAPING, render_sls, render_template, shaping
from highstate.render.problems import excerpt, near

__all__ = [
    "SHAPING",
    "LineMap",
    "RenderContext",
    "RenderFailed",
    "Rendered",
    "RenderedText",
    "excerpt",
    "near",
    "render_sls",
    "render_template",
    "shaping",
]
