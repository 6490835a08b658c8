"""What the controller asks of the process that renders SLS of reactors, and what it hears: types alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from controller.compilation.compile_rpc import NO_CAPABILITIES, Capabilities
from controller.reactions.reactor_files import ReactorFile
from highstate.compile_options import CompileOptions
from highstate.types import Files, Problem
from reactors.rules.reaction import Parameters, ReactionCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorRequest:
    """Render the SLS that answer one event."""

    tree: Files
    files: tuple[ReactorFile, ...]
    tag: str
    data: Mapping[str, Any]
    language: CompileOptions
    grains: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[tuple[str, str], Parameters] = field(default_factory=dict)
    """(`runner` or `wheel`, function) -> its parameters."""
    capabilities: Capabilities = NO_CAPABILITIES


class RenderedReactions(msgspec.Struct, frozen=True, kw_only=True, tag="reactions"):
    """What came of it."""

    reactions: tuple[ReactionCall, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
