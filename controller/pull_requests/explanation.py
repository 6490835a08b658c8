"""The answer to `/saltern explain MINION STATE`: all that a report says about one state of one minion. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from controller.report.escape import code_span, fenced
from controller.schema.reports import ChangeClass, PreviewReport, ResourceChange

_MOST_STATES = 5
_LONGEST = 400
"""Characters of one value."""
_LONGEST_DIFF = 8000
_MOST_FILES = 5


def explanation(report: PreviewReport, minion: str, state: str) -> str:
    """Markdown. `state`: a part of the title or of the key of a state."""
    found = next((each for each in report.classes if minion in each.minions), None)
    if found is None:
        return _nothing(report, minion)
    wanted = [each for each in found.resources if state in each.title or state in each.key]
    if not wanted:
        return f"The preview of {code_span(minion, _LONGEST)} changes no state {code_span(state, _LONGEST)}."
    parts = [_one(found, minion, each) for each in wanted[:_MOST_STATES]]
    if len(wanted) > _MOST_STATES:
        parts.append(f"{len(wanted) - _MOST_STATES} more states fit; name more of the one that you mean.")
    return "\n\n".join(parts)


def _nothing(report: PreviewReport, minion: str) -> str:
    broken = next((each for each in report.broken if minion in each.minions), None)
    if broken is not None:
        texts = "\n".join(f"- {code_span(text, _LONGEST)}" for text in broken.texts[:_MOST_STATES])
        return f"The head does not compile for {code_span(minion, _LONGEST)}:\n\n{texts}"
    if any(minion in each.minions for each in report.unknown):
        return f"Nothing is known of {code_span(minion, _LONGEST)}: its compile needs what a preview does not have."
    return f"The preview changes nothing on {code_span(minion, _LONGEST)}, or it is no minion of this controller."


def _one(of: ChangeClass, minion: str, state: ResourceChange) -> str:
    return "\n".join(_lines(of, minion, state))


def _lines(of: ChangeClass, minion: str, state: ResourceChange) -> Iterator[str]:
    yield f"**{code_span(state.title, _LONGEST)}** on {code_span(minion, _LONGEST)}: {state.action}"
    yield ""
    if state.origin:
        yield f"- stands in {code_span(state.origin, _LONGEST)}"
    if state.commit:
        yield f"- changed by {code_span(state.commit, _LONGEST)}"
    for field in state.fields:
        values = (code_span(str(value), _LONGEST) for value in (field.field, field.old, field.new))
        yield "- {}: {} → {}".format(*values)
    for word, titles in (("triggered by", state.triggered_by), ("triggers", state.triggers)):
        if titles:
            yield f"- {word} {', '.join(code_span(title, _LONGEST) for title in titles)}"
    if state.irreversible:
        yield f"- a revert does not take it back: {code_span(state.irreversible, _LONGEST)}"
    if state.certainty != "certain":
        yield f"- {state.certainty}: {code_span(state.why_uncertain, _LONGEST)}"
    for hole in of.holes:
        if minion in hole.examples:
            yield f"- {code_span(hole.name, _LONGEST)} is {code_span(hole.examples[minion], _LONGEST)}"
    for file in state.files[:_MOST_FILES]:
        yield f"\n{code_span(file.path, _LONGEST)} {code_span(file.note, _LONGEST) if file.note else ''}"
        if file.text:
            yield fenced(file.text[:_LONGEST_DIFF], "diff")
