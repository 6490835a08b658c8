"""States that a call asks for, compiled in place of a highstate: `state.sls`, a highstate `pillar=`, `state.show_*`.

Called by `compile_worker` in its process. What a `pillar=` changes is not put into the memo, where nobody would find it
again.
"""

from __future__ import annotations

from controller.compilation.compile_messages import CompileRequest, StatesQuestion
from highstate.compile.compiler import Compilation, compile_named, compile_top, match_top
from highstate.memo.memo import Memo
from highstate.ports import CompilePorts
from highstate.shown_states import WITHOUT_STATES
from highstate.types import Compiled, Minion


def compiled_states(
    request: CompileRequest, question: StatesQuestion, minion: Minion, memo: Memo | None, ports: CompilePorts
) -> Compiled:
    """What the question asks of this minion, compiled."""
    compilation = Compilation(
        files=request.files,
        pillar_files=request.pillar,
        minion=minion,
        settings=request.language,
        memo=None if question.pillar else memo,
        ports=ports,
        states_alone=question.states_alone,
    )
    if question.fun in WITHOUT_STATES:
        return match_top(compilation, question.pillar)
    if question.mods is None:
        return compile_top(compilation, question.pillar)
    return compile_named(compilation, question.mods, question.saltenv, question.pillar)
