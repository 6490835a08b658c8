"""Compile: a tree, a pillar tree and a minion go in, its low chunks in running order come out.

    top -> matches -> assemble -> extend -> verify -> requisites -> exclude -> chunks -> order -> content

Each arrow is one module here (top and pillar are beside this package). The controller calls `compile_minion`, the
minion's `state.apply` and the CLI call `compile_sls`. Both are pure: no clock, no environment, no network, and no
exception for whatever a tree holds; all that is wrong with it is in `Compiled.errors`.
"""

from __future__ import annotations

from highstate.compile.compiler import compile_minion, compile_sls
from highstate.compile_options import CompileOptions

__all__ = ["CompileOptions", "compile_minion", "compile_sls"]
