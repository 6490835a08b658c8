"""`master_tops: {ext_nodes: COMMAND}`: a program that classifies minions, by the administrator's order.

It is run with the minion's id behind its arguments, without a shell, and writes YAML: `classes` (a list, or a mapping
whose keys count) and `environment`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import yaml

from controller.adapters.external_pillars.command import output_of
from highstate.ports import SourceFailed
from highstate.render.yaml.loader import load_yaml
from highstate.types import Minion, Value


class ExtNodes:
    """Salt's source of that name (https://docs.saltproject.io/en/latest/ref/tops/all/salt.tops.ext_nodes.html)."""

    def __init__(self, timeout: float = 30.0) -> None:
        self._timeout = timeout

    def tops(self, minion: Minion, arguments: Value) -> Mapping[str, list[str]]:
        """See `highstate.ports.TopSource`."""
        if not isinstance(arguments, str) or not arguments.strip():
            raise SourceFailed("it takes a command as its only argument")
        output = output_of([*shlex.split(arguments), minion.id], self._timeout)
        try:
            data = load_yaml(output.decode())
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise SourceFailed(f"the output cannot be read: {error}") from error
        if data is None:
            return {}
        if not isinstance(data, Mapping):
            raise SourceFailed(f"the output is a {type(data).__name__}, not a mapping")
        classes = data.get("classes") or []
        if not isinstance(classes, list | dict):
            raise SourceFailed("`classes` is neither a list nor a mapping")
        return {str(data.get("environment") or "base"): list(classes)}
