"""The ports of a compile, made from the controller's options: keys, a vault, external pillars and tops.

They live in the controller, which answers the process that renders (`port_calls`); offline tools use them directly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controller.pillar_sources import CommandSource, FileTree, HttpSource
from controller.top_sources import ExtNodes
from highstate.ports import PillarSource, Ports
from highstate.render.yaml_loader import load_yaml
from highstate.types import Value


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


def _yaml(text: str) -> Value:
    try:
        return load_yaml(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
