"""Azure DevOps: https://learn.microsoft.com/en-us/azure/devops/service-hooks/events"""

from __future__ import annotations

from collections.abc import Mapping

from controller.forges.forge import BasicPassword, Forge, PullHint, hint_of, value_at


def _delivery_of(payload: object) -> str:
    found = payload.get("id") if isinstance(payload, Mapping) and "resource" in payload else None
    return found if isinstance(found, str) else ""


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    event, resource = value_at(payload, "eventType"), value_at(payload, "resource")
    if event == "ms.vss-code.git-pullrequest-comment-event":
        resource = value_at(resource, "pullRequest")
    elif not (isinstance(event, str) and event.startswith("git.pullrequest.")):
        return None
    project, name = value_at(resource, "repository", "project", "name"), value_at(resource, "repository", "name")
    both = f"{project}/{name}" if isinstance(project, str) and isinstance(name, str) else None
    return hint_of(both, value_at(resource, "pullRequestId"))


FORGE = Forge(
    name="Azure DevOps",
    verifiers=(BasicPassword(),),
    delivery_of=_delivery_of,
    repository=("resource", "repository"),
    pull_of=_pull_of,
)
