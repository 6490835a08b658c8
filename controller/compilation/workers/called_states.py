"""States that a call asks for, compiled in place of a highstate: `state.sls`, a highstate `pillar=`, `state.show_*`.

Called by `compile_worker` in its process. What a `pillar=` changes is not put into the memo, where nobody would find it
again.
"""

from __future__ import annotations

from controller.compilation.compile_messages import CompileRequest, StatesQuestion
from highstate.compile import compile_minion, compile_sls
from highstate.compile.compiler import Compilation, match_top
from highstate.memo.memo import Memo
from highstate.ports import CompilePorts
from highstate.shown_states import WITHOUT_STATES
from highstate.types import Compiled, Minion


def compiled_states(
    request: CompileRequest, question: StatesQuestion, minion: Minion, memo: Memo | None, ports: CompilePorts
) -> Compiled:
    """What the question asks of this minion, compiled."""
    memo = None if question.pillar else memo
    files, pillar, language = request.files, request.pillar, request.language
    if question.fun in WITHOUT_STATES:
        compilation = Compilation(
            files=files, pillar_files=pillar, minion=minion, settings=language, memo=memo, ports=ports
        )
        return match_top(compilation, question.pillar)
    if question.mods is None:
        return compile_minion(files, pillar, minion, language, memo, ports, question.pillar)
    sls, saltenv = question.mods, question.saltenv
    return compile_sls(files, pillar, minion, language, sls, saltenv, memo, question.pillar, ports)
