"""SLS of reactors -> reactions in the order in which they are done.

Each file is rendered with `tag` and `data` of the event; what one gives is joined with what those before it gave, where
an ID that comes again replaces the earlier one. A file that cannot be rendered leaves the others as they are; a
declaration that is badly formed drops all of them. Data of an event is a value for templates and never rendered itself.
Source: salt/utils/reactor.py `reactions`, salt/state.py `Compiler`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from highstate.compile.chunks import drafts_of
from highstate.compile.declare import read_states
from highstate.compile.high import High
from highstate.compile.order import ordered
from highstate.compile.positions import SourceFile, SourceLocation
from highstate.compile.verify import verify
from highstate.data_limits import unbounded
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.types import Pos, Problem, Stage, Value
from reactors.rules.reaction import ParametersOf, ReactionCall, Reactions
from reactors.rules.reaction_arguments import reaction_of

_NO_IDS = ("include", "extend", "exclude")
MOST_REACTIONS = 1000
"""Of one event."""


class ReactorSource(Protocol):
    """An SLS to render."""

    @property
    def sls(self) -> str:
        """As the reactor names it."""

    @property
    def path(self) -> str:
        """Of its file in the tree."""

    @property
    def saltenv(self) -> str:
        """Its environment."""


def reactions_of(
    sources: Sequence[ReactorSource],
    context: RenderContext,
    *,
    tag: str,
    data: Mapping[str, Value],
    parameters_of: ParametersOf,
) -> Reactions:
    """The reactions of one event.

    Args:
        sources: in their order.
        context: what templates see; its tree has the files.
        tag: of the event.
        data: of the event.
        parameters_of: the parameters of runner and wheel functions.
    """
    high = High()
    shown: dict[str, str] = {}
    for source in sources:
        shown[source.path] = source.sls
        _read(high, source.path, context.of_saltenv(source.saltenv), {"tag": tag, "data": dict(data)})
    unrendered, high.problems = high.problems, []
    verify(high)
    drafts = drafts_of(high)
    if len(drafts) > MOST_REACTIONS:
        high.problems.append(_problem(drafts[0].sls, f"{len(drafts)} reactions to one event; {MOST_REACTIONS} may be"))
    if high.problems:
        return Reactions(problems=(*unrendered, *high.problems))
    locations = {(draft.state, draft.id, draft.name): draft.location for draft in drafts}
    chunks, problems = ordered(drafts)
    reactions: list[ReactionCall] = []
    warnings: list[Problem] = []
    for chunk in chunks:
        location = locations[chunk.state, chunk.id, chunk.name]
        found = reaction_of(chunk, location, parameters_of, warnings)
        if isinstance(found, ReactionCall):
            reactions.append(replace(found, sls=shown.get(found.sls, found.sls)))
        else:
            problems.append(found)
    return Reactions(reactions=tuple(reactions), problems=(*unrendered, *problems), warnings=tuple(warnings))


def _read(high: High, path: str, context: RenderContext, event: Mapping[str, Value]) -> None:
    """Add what a file declares."""
    try:
        rendered = render_sls(path, context, sls=path, extra=event)
    except RenderFailed as error:
        high.problems.append(error.problem)
        return
    except RecursionError:
        high.problems.append(_problem(path, "the reactor SLS is nested too deeply to be read"))
        return
    if not rendered.data:
        return
    source = SourceFile(
        file=path,
        sls=path,
        saltenv=context.saltenv,
        lines=rendered.lines,
        text=rendered.text,
        files=context.files,
    )
    location = SourceLocation(source)
    if not isinstance(rendered.data, dict):
        kind = type(rendered.data).__name__
        high.problems.append(location.problem(f"the reactor SLS does not render to a dictionary but to a {kind}"))
        return
    if too_much := unbounded(rendered.data):
        high.problems.append(location.problem(f"what the reactor SLS renders to {too_much}"))
        return
    if unknown := [key for key in _NO_IDS if key in rendered.data]:
        text = f"an SLS of a reactor has no {unknown[0]}"
        high.problems.append(location.problem(text, unknown[0], hint="name all SLS in the option `reactor`"))
        return
    for id_ in rendered.data:  # `read_states` keeps the place where an ID was declared first
        high.locations.pop(id_, None)
    bodies = read_states(high, rendered.data, location, dotted_functions=True)
    for body in bodies.values():
        body["__sls__"] = path
    high.bodies.update(bodies)


def _problem(path: str, message: str) -> Problem:
    return Problem(message=message, pos=Pos(file=path, stage=Stage.RENDER))
