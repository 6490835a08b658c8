"""The options by which the controller is an authority that signs certificates of its minions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from minion.providers.x509.policies import with_short_names
from options.kinds import Prepare, Wanted

_NEEDED = ("minions", "signing_private_key", "signing_cert")
"""What each policy of the controller says: who is given certificates by it, and who signs them."""


def _policies(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError
    found: dict[str, dict[str, Any]] = {}
    for name, policy in value.items():
        parts = policy if isinstance(policy, list) else [policy]
        if not all(isinstance(one, Mapping) for one in parts):
            raise ValueError
        found[str(name)] = with_short_names({str(key): one for part in parts for key, one in part.items()})
    if not all(isinstance(policy.get(key), str) for policy in found.values() for key in _NEEDED):
        raise ValueError
    return found


SigningPolicies: TypeAlias = Annotated[
    Mapping[str, Mapping[str, Any]],
    Wanted("policies by name, each with `minions`, `signing_private_key` and `signing_cert`"),
    Prepare(_policies),
]
