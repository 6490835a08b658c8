"""The ports of a compile, made from the controller's options: keys, a vault, external pillars and tops.

They live in the controller, which answers the process that renders (`port_calls`); offline tools use them directly.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from controller.adapters.external_pillars import (
    KEY_VAULT,
    PARAMETERS,
    SECRET_MANAGER,
    SECRETS_MANAGER,
    CommandSource,
    FileTree,
    HttpSource,
    NamedSecrets,
    VaultPillar,
)
from controller.adapters.tops import ExtNodes
from controller.config.sections import PortOptions
from highstate.ports import CompilePorts, PillarSource, TopSource
from highstate.render.yaml.loader import load_yaml
from highstate.types import Value

if TYPE_CHECKING:
    from controller.adapters.secrets.vault import Vault
    from extmods.plugins import Plugins


def ports_of(options: PortOptions) -> CompilePorts:
    """Ports for `gpg_keydir`, `vault` and every kind of `ext_pillar`. Equal options give the same ports."""
    return _made(_ByContent(options))[0]


def plugins_of(options: PortOptions) -> Plugins | None:
    """The administrator's modules of `extension_modules` and `module_dirs`, None without any folder."""
    return _made(_ByContent(options))[1]


def vault_of(options: PortOptions) -> Vault | None:
    """The server of the option `vault`, None without one."""
    return _made(_ByContent(options))[2]


class _ByContent:
    """Options as a key of a cache: mappings in them cannot be hashed."""

    def __init__(self, options: PortOptions) -> None:
        self.options = options
        self._text = json.dumps(asdict(options), sort_keys=True, default=str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByContent) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@cache
def _made(key: _ByContent) -> tuple[CompilePorts, Plugins | None, Vault | None]:
    given = key.options
    keyring = vault = None
    if given.gpg_keydir:
        from controller.adapters.secrets.keyring import Keyring

        keyring = Keyring(Path(given.gpg_keydir))
    if given.vault:
        from controller.adapters.secrets.vault import Vault

        vault = Vault(given.vault)
    sources: dict[str, PillarSource] = {
        "cmd_yaml": CommandSource(_yaml),
        "cmd_json": CommandSource(json.loads),
        "http_yaml": HttpSource(_yaml),
        "http_json": HttpSource(json.loads),
        "file_tree": FileTree(given.nodegroups),
        "aws_secrets_manager": NamedSecrets(SECRETS_MANAGER),
        "aws_ssm": NamedSecrets(PARAMETERS),
        "google_secret_manager": NamedSecrets(SECRET_MANAGER),
        "azure_key_vault": NamedSecrets(KEY_VAULT),
    }
    if vault is not None:
        sources["vault"] = VaultPillar(vault.read_own)
    tops: dict[str, TopSource] = {"ext_nodes": ExtNodes()}
    folders = [Path(folder) for folder in (given.extension_modules, *given.module_dirs) if folder]
    if not folders:
        return CompilePorts(decrypt=keyring, secrets=vault, pillar_sources=sources, top_sources=tops), None, vault
    from controller.adapters.admin_modules import admin_plugins, with_pillars, with_tops

    plugins = admin_plugins(folders, given.configuration or asdict(given))
    with_plugins = CompilePorts(
        decrypt=keyring,
        secrets=vault,
        pillar_sources=with_pillars(sources, plugins),
        top_sources=with_tops(tops, plugins),
    )
    return with_plugins, plugins, vault


def _yaml(text: str) -> Value:
    try:
        return load_yaml(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
