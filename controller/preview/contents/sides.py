"""Asks the compile worker of previews for texts of both sides.

Called by `preview` between two steps of the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller.compilation.compile_messages import CompiledMinion, CompileRequest, RenderQuestion
from controller.compilation.workers.budget import CompileBudget
from controller.preview.contents.rendered_texts import RenderedTexts
from controller.preview.live.live_facts import PreviewCompiles

_FEW = 5
"""Minions for which the top file is rendered: it may be another one for each."""


async def rendered_sides(
    compiles: PreviewCompiles,
    requests: tuple[CompileRequest, CompileRequest],
    budget: CompileBudget,
    texts: RenderedTexts,
) -> tuple[list[CompiledMinion], list[CompiledMinion]]:
    """What `texts` has to know of the base and of the head.

    Args:
        compiles: in processes for previews alone.
        requests: that the documents of both sides were, or would have been, compiled by.
        budget: of minions that may take too long.
        texts: asks.
    """
    before, after = texts.questions()
    base = await compiles.compile(rendering(requests[0], before), budget, ask=False) if before else []
    head = await compiles.compile(rendering(requests[1], after), budget, ask=False) if after else []
    return base, head


async def top_targets(
    compiles: PreviewCompiles, request: CompileRequest, budget: CompileBudget
) -> tuple[tuple[str, str], ...]:
    """Targets of the top file, each with its matcher, as it is rendered for a few minions of the request."""
    questions = top_questions([minion.id for minion in request.minions])
    answers = await compiles.compile(rendering(request, questions), budget, ask=False) if questions else []
    return tuple(dict.fromkeys(target for answer in answers for target in answer.top_targets))


def top_questions(minions: Sequence[str]) -> dict[str, RenderQuestion]:
    """What asks a few of the minions for the targets of the top file."""
    some = minions[:: max(1, len(minions) // _FEW)][:_FEW]
    return {minion: RenderQuestion(pillar={}, chunks={}, top=True) for minion in some}


def rendering(request: CompileRequest, questions: Mapping[str, RenderQuestion]) -> CompileRequest:
    """The request for what these questions need. Programs of the tree are left out: templates of files run none."""
    opts = {**request.language.opts, **({"allow_py_renderer": False} if request.ends_process else {})}
    return replace(
        request,
        minions=tuple(minion for minion in request.minions if minion.id in questions),
        language=replace(request.language, opts=opts),
        rendering=questions,
        ends_process=False,
    )
