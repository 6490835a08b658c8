"""What a preview of a stranger's change sees of the pillar and of machines. Called by `preview`.

A stranger reads the trees of the repository that the change is for; the pillar of other repositories and of local
folders is not the stranger's to read. Its templates are not rendered beside those of the change, which could read its
files; what they make is seen through dummies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.compilation.compile_messages import CompileRequest
from controller.preview.live.live_facts import may_ask_in_preview
from controller.reconcile.revision_sources import commits_of
from gitfs.source import MergedTrees, Source
from highstate.dummy_pillar import DummyPillar

NOT_RENDERED = (
    "What this change does to the pillar is not shown: strangers may not read all of the pillar, so that their own is "
    "not rendered beside it. The command /saltern preview of somebody with write access shows it."
)


def stranger_sides(
    sides: MergedTrees, source: Source, public: Sequence[str], key: bytes
) -> tuple[MergedTrees, DummyPillar]:
    """Both sides with the pillar that is rendered for a stranger, and what stands for its values.

    Args:
        sides: base and head.
        source: knows where the pillar comes from.
        public: `previews.public_pillar` of the base.
        key: of the dummies.
    """
    before, after = commits_of(sides.before.revision), commits_of(sides.after.revision)
    own = source.has_pillar_of_these_alone({name for name, commit in after.items() if before.get(name) != commit})
    if not own and sides.after.pillar.digest != sides.before.pillar.digest:
        head = replace(sides.after, pillar=sides.before.pillar)
        sides = replace(sides, after=head, problems=(*sides.problems, NOT_RENDERED))
    return sides, DummyPillar(key=key, public=tuple(public), own=own)


def for_stranger(request: CompileRequest, dummies: DummyPillar) -> CompileRequest:
    """The request with dummies, and of what machines have answered what any branch may ask them."""
    facts = {
        minion: {question: answer for question, answer in answers.items() if may_ask_in_preview(question.fun)}
        for minion, answers in request.facts.items()
    }
    return replace(request, dummies=dummies, facts=facts)
