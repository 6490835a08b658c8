"""Azure DevOps: https://learn.microsoft.com/en-us/azure/devops/service-hooks/events"""

from __future__ import annotations

from collections.abc import Mapping

from controller.forges.forge import BasicPassword, Forge


def _delivery_of(payload: object) -> str:
    found = payload.get("id") if isinstance(payload, Mapping) and "resource" in payload else None
    return found if isinstance(found, str) else ""


FORGE = Forge(
    name="Azure DevOps",
    verifiers=(BasicPassword(),),
    delivery_of=_delivery_of,
    repository=("resource", "repository"),
)
