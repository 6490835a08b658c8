"""The ports of a compile: those made from the controller's options, once a process, and the facts of one minion.

Called by `compile_worker`, which talks to nobody: what a template asks of a machine and nobody has answered yet is
noted, and asked by the controller (`controller.live_facts`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controller.pillar_sources import CommandSource, FileTree, HttpSource
from controller.top_sources import ExtNodes
from highstate.ports import Fact, PillarSource, Ports, question
from highstate.render.yaml_loader import load_yaml
from highstate.types import Value
from minion.facts import may_ask
from wire.messages import FactAnswer, Question

MOST_ASKED = 8192
"""Characters of the arguments of one question."""


def ports_of(options: Mapping[str, Any]) -> Ports:
    """Ports for `gpg_keydir`, `vault` and every kind of `ext_pillar`. Equal options give the same ports."""
    return _made(json.dumps(options, sort_keys=True, default=str))


@cache
def _made(options: str) -> Ports:
    given: dict[str, Any] = json.loads(options)
    keyring = vault = None
    if given.get("gpg_keydir"):
        from controller.secrets.keyring import Keyring

        keyring = Keyring(Path(given["gpg_keydir"]))
    if given.get("vault"):
        from controller.secrets.vault import Vault, VaultSettings

        vault = Vault(VaultSettings.parse(given["vault"]))
    sources: dict[str, PillarSource] = {
        "cmd_yaml": CommandSource(_yaml),
        "cmd_json": CommandSource(json.loads),
        "http_yaml": HttpSource(_yaml),
        "http_json": HttpSource(json.loads),
        "file_tree": FileTree(given.get("nodegroups")),
    }
    return Ports(decrypt=keyring, secrets=vault, pillar_sources=sources, top_sources={"ext_nodes": ExtNodes()})


class MinionFacts:
    """`highstate.ports.Facts` of one minion: answers that were recorded; what is not recorded is noted."""

    def __init__(self, known: Mapping[Question, FactAnswer], allowed: Sequence[str]) -> None:
        self._known = known
        self._allowed = allowed
        self.used: dict[Question, None] = {}
        self.unanswered: dict[Question, None] = {}

    def answer(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Fact:
        """See `Facts`."""
        asked = Question(fun=fun, asked=question(args, kwargs))
        if not may_ask(fun, self._allowed):
            return Fact(error="is not among the functions that may be asked of it (`facts` in saltern.yaml)")
        if len(asked.asked) > MOST_ASKED:
            return Fact(error=f"is asked with more than {MOST_ASKED} bytes")
        found = self._known.get(asked)
        if found is None:
            self.unanswered[asked] = None
            return Fact(error="has no answer of it yet")
        self.used[asked] = None
        return Fact(value=found.value, error=found.error)


def _yaml(text: str) -> Value:
    try:
        return load_yaml(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
