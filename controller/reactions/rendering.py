"""The reactions to one event: files found, templates rendered, reactions read. In a process that may be ended.

Templates see `tag`, `data`, and the grains and options of the controller's machine, as those of Salt's reactor see its
master's; `pillar` is empty. What would have to be asked of a machine is an error that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from controller.reactions.controller_machine import controller_id
from controller.reactions.reactor_files import ReactorFiles
from highstate.compile_options import CompileOptions
from highstate.memo.memo import Memo
from highstate.ports import NO_PORTS, CompilePorts
from highstate.render.context import RenderContext
from highstate.types import Files, Minion, Value
from reactors.rules.reaction import Parameters, ParametersOf, Reactions
from reactors.rules.reactor_sls import reactions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorRenderer:
    """Renders SLS of reactors for the machine of the controller."""

    language: CompileOptions
    grains: Mapping[str, Value] = field(default_factory=dict)
    ports: CompilePorts = NO_PORTS
    memo: Memo | None = None

    def reactions(
        self, found: ReactorFiles, *, tag: str, data: Mapping[str, Value], parameters_of: ParametersOf
    ) -> Reactions:
        """The reactions to one event, those of files that were not found left out.

        Args:
            found: what is rendered.
            tag: of the event.
            data: of the event.
            parameters_of: the parameters of runner and wheel functions.
        """
        own = controller_id()
        language = self.language
        opts = {
            "jinja_env": language.jinja_env,
            "jinja_sls_env": language.jinja_sls_env,
            "nodegroups": language.nodegroups,
            **language.opts,
        }
        context = RenderContext(
            minion=Minion(id=own, grains={**self.grains, "id": own}),
            files=found.tree,
            opts=opts,
            memo=self.memo,
            ports=self.ports,
        )
        known = partial(_with_those_of_tree, found.tree, parameters_of)
        made = reactions_of(found.files, context, tag=tag, data=data, parameters_of=known)
        return Reactions(reactions=made.reactions, problems=(*found.problems, *made.problems), warnings=made.warnings)


def _with_those_of_tree(
    tree: Files, parameters_of: ParametersOf, kind: Literal["runner", "wheel"], fun: str
) -> Parameters | None:
    """The parameters of a function; those of a runner of the tree are known only where it runs."""
    found = parameters_of(kind, fun)
    if found is None and kind == "runner" and tree.oid(f"_runners/{fun.partition('.')[0]}.py", "base") is not None:
        return Parameters((), (), any_name=True)
    return found
